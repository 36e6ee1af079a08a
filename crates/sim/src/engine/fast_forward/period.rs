//! A candidate for the period of a pattern: the time after which the frames on all lanes repeat.

use wiremend_units::{LaneId, Span, Time};

use crate::engine::Partition;

/// Finds the period of the frames that are on lanes.
#[derive(Default)]
pub(super) struct PeriodFinder {
    /// The frames of a lane: time of arrival, and what distinguishes the frame from others.
    frames: Vec<(Time, u64)>,
}

/// A longer period is not looked for, in periods of the first lane.
const MULTIPLE_MAX: u64 = 16;

impl PeriodFinder {
    /// Returns the shortest time after which the frames on each lane repeat, as far as there are enough of them.
    pub(super) fn find<'a>(&mut self, partitions: impl Iterator<Item = &'a Partition>) -> Option<Span> {
        let mut common: Option<u64> = None;
        let mut first = 0;
        for partition in partitions {
            for number in 0..partition.lanes.ports.len() {
                let Some(period) = self.period_of(partition, LaneId(number as u32))? else { continue };
                let Some(so_far) = common else {
                    (common, first) = (Some(period), period);
                    continue;
                };
                let multiple = so_far / gcd(so_far, period) * period;
                if multiple > first * MULTIPLE_MAX {
                    return None;
                }
                common = Some(multiple);
            }
        }
        common.map(Span::from_ps)
    }

    /// Returns the period of a lane: `None` if its frames do not repeat, `Some(None)` if there are too few to know.
    #[expect(clippy::option_option, reason = "two different answers")]
    fn period_of(&mut self, partition: &Partition, lane: LaneId) -> Option<Option<u64>> {
        self.frames.clear();
        for (at, id) in partition.lanes.on_lane(lane) {
            let frame = partition.lanes.frames.get(id);
            let facts = u64::from(frame.src.0) << 40 ^ u64::from(frame.dst.0) << 16 ^ u64::from(frame.len);
            self.frames.push((at, facts));
        }
        if self.frames.len() < 3 {
            return Some(None);
        }
        let lag = (1..=self.frames.len() / 2).find(|lag| self.repeats(*lag))?;
        Some(Some(self.frames[lag].0.since(self.frames[0].0).as_ps()))
    }

    fn repeats(&self, lag: usize) -> bool {
        let period = self.frames[lag].0.since(self.frames[0].0);
        self.frames.iter().zip(&self.frames[lag..]).all(|(a, b)| a.1 == b.1 && b.0.since(a.0) == period)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
