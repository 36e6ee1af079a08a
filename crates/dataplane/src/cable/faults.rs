//! Faults of a direction by the link headers of its frames: those that are to be hit, and those that were.

use wiremend_impair::{FrameFacts, LinkFacts, LinkFault, LinkKind, Replay, Tally, Way};
use wiremend_wire::link::{Dialect, Signal};

/// Reads the link headers of a direction. A cable without lists of faults has none and looks into no frame.
#[derive(Clone, Debug)]
pub struct Faults {
    /// By which link headers are known.
    pub dialect: Dialect,
    /// The direction, as lists call it.
    pub way: Way,
    /// What is to be hit.
    pub replay: Replay,
    /// What was hit is written down.
    pub record: Option<Record>,
}

/// What was hit, since it was last taken.
#[derive(Clone, Debug, Default)]
pub struct Record {
    tally: Tally,
    hit: Vec<LinkFault>,
}

impl Record {
    /// Takes what was hit, in order.
    pub fn take(&mut self) -> impl Iterator<Item = LinkFault> + '_ {
        self.hit.drain(..)
    }
}

impl Faults {
    /// What the header of an untagged frame says, if it has one.
    pub(super) fn read(&self, frame: &[u8]) -> Option<LinkFacts> {
        let signal = self.dialect.parse(frame).ok()?.signal;
        let kind = match signal {
            Signal::Data { .. } => LinkKind::Data,
            Signal::Dummy { .. } => LinkKind::Dummy,
            Signal::Ack(_) => LinkKind::Ack,
            Signal::Missing(_) => LinkKind::Missing,
            Signal::Hello(_) => LinkKind::Hello,
        };
        Some(LinkFacts { kind, seq: signal.number() })
    }

    /// Whether the list names this transmission, of which `hit` says whether it is hit anyway.
    pub(super) fn corrupts(&mut self, facts: &FrameFacts, hit: bool) -> bool {
        let hit = self.replay.corrupts(facts) | hit;
        if let (Some(record), Some(frame)) = (&mut self.record, facts.link) {
            let copy = record.tally.on_frame(frame);
            if hit {
                record.hit.push(LinkFault { way: self.way, frame, copy });
            }
        }
        hit
    }
}
