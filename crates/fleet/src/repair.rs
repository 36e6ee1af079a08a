//! How long a link is gone, and whether it comes back well.

use crate::draws::{Draws, Purpose};
use crate::moment::Moment;

/// How links are repaired.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Repair {
    /// What most take.
    pub quick: Moment,
    /// What the others take.
    pub slow: Moment,
    /// The part that is quick.
    pub quick_share: f64,
    /// The part that changes nothing: the link comes back as it went.
    pub fails: f64,
    /// How many are under repair at once; the others wait, taken out.
    pub technicians: Option<u32>,
}

/// As CorrOpt saw it (Zhuo et al., SIGCOMM 2017): 80 % in two days, the others in four, and none in vain.
impl Default for Repair {
    fn default() -> Self {
        Self {
            quick: Moment::from_days(2),
            slow: Moment::from_days(4),
            quick_share: 0.8,
            fails: 0.0,
            technicians: None,
        }
    }
}

impl Repair {
    /// How long the repair takes that an event leads to, and whether it helps. The draw is the event's own: whatever else a
    /// policy does, the same link is as hard to repair.
    pub(crate) fn draw(&self, seed: u64, event: u32, attempt: u32) -> (Moment, bool) {
        let mut draws = Draws::new(seed, Purpose::Repair, u64::from(event) << 32 | u64::from(attempt));
        let takes = if draws.unit() < self.quick_share { self.quick } else { self.slow };
        (takes, draws.unit() >= self.fails)
    }
}
