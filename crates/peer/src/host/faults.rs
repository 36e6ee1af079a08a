//! What an endpoint does to frames on purpose: it drops, doubles and delays them.

use wiremend_wire::RoceFrame;

use crate::drops::{Direction, DropRule, Drops};

/// Which frames; each list follows the same grammar.
#[derive(Clone, Debug, Default)]
pub struct FaultRules {
    /// Frames to drop.
    pub drops: Vec<DropRule>,
    /// Frames to deliver or send twice.
    pub doubles: Vec<DropRule>,
    /// Frames that the next one overtakes.
    pub delays: Vec<DropRule>,
    /// Seed of random faults.
    pub seed: u64,
}

/// What happens to a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    Passes,
    Doubled,
    Delayed,
    Dropped,
}

/// A frame that waits for the next one, with the identifier of its VLAN.
pub(super) type Late = (Vec<u8>, Option<u16>);

/// The rules, what they have dropped, and a frame of each direction that waits for the next one.
pub(super) struct Faults {
    pub(super) drops: Drops,
    doubles: Drops,
    delays: Drops,
    late: [Option<Late>; 2],
}

impl Faults {
    pub(super) fn new(rules: &FaultRules) -> Self {
        let FaultRules { drops, doubles, delays, seed } = rules;
        Self {
            drops: Drops::new(drops, *seed),
            // Each list draws independently.
            doubles: Drops::new(doubles, !seed),
            delays: Drops::new(delays, seed.rotate_left(32)),
            late: [None, None],
        }
    }

    /// Decides about a frame.
    pub(super) fn draw(&mut self, direction: Direction, bytes: &[u8]) -> Fate {
        if self.drops.is_empty() && self.doubles.is_empty() && self.delays.is_empty() {
            return Fate::Passes;
        }
        let Ok(frame) = RoceFrame::parse(bytes) else { return Fate::Passes };
        let [is_dropped, is_doubled, is_delayed] = [&mut self.drops, &mut self.doubles, &mut self.delays]
            .map(|rules| rules.drops(direction, &frame));
        match (is_dropped, is_doubled, is_delayed) {
            (true, ..) => Fate::Dropped,
            (_, true, _) => Fate::Doubled,
            // One frame waits at a time.
            (_, _, true) if self.late[direction as usize].is_none() => Fate::Delayed,
            _ => Fate::Passes,
        }
    }

    /// Keeps a frame until the next one has passed.
    pub(super) fn keep(&mut self, direction: Direction, bytes: &[u8], tag: Option<u16>) {
        self.late[direction as usize] = Some((bytes.to_vec(), tag));
    }

    /// The frame that waits.
    pub(super) fn take_late(&mut self, direction: Direction) -> Option<Late> {
        self.late[direction as usize].take()
    }
}
