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
            // Before a frame that has no number of its own.
            Signal::Loose { .. } => return None,
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

#[cfg(test)]
mod tests {
    use wiremend_wire::link::{Ack, Hole, Missing};
    use wiremend_wire::{MacAddr, Trailer};

    use super::*;

    /// As a cable would show them: its own frames and one that carries somebody else's.
    fn frames(dialect: Dialect) -> Vec<Vec<u8>> {
        let ack = Ack { epoch: 3, next: 7, pause: false };
        let mut holes = [Hole::default(); Missing::HOLES_MAX];
        holes[0] = Hole { first: 9, len: 2 };
        let own = [
            Signal::Dummy { epoch: 3, next: 8, ack: None },
            Signal::Ack(ack),
            Signal::Missing(Missing { ack, upto: 12, holes, hole_count: 1 }),
        ];
        let mut frames: Vec<_> = own
            .iter()
            .map(|signal| {
                let mut frame = vec![0; dialect.own_len(Trailer::None)];
                dialect.emit_own(signal, MacAddr([2, 0, 0, 0, 0, 1]), Trailer::None, &mut frame);
                frame
            })
            .collect();
        let data = Signal::Data { epoch: 3, seq: 5, ordered: true, again: false, ack: Some(ack) };
        let mut buffer = vec![0; 100];
        let start = dialect.encapsulate(&data, &mut buffer, 20).unwrap();
        frames.push(buffer[start..].to_vec());
        frames
    }

    #[test]
    fn frames_are_called_by_their_headers_hit_by_lists_and_written_down() {
        let dialect = Dialect::default();
        let list: wiremend_impair::FaultList = "back missing 9 2\nforth ack 7 1".parse().unwrap();
        let mut faults = Faults {
            dialect,
            way: Way::Back,
            replay: list.replay(Way::Back),
            record: Some(Record::default()),
        };
        for round in 0..2 {
            for frame in frames(dialect) {
                let facts = FrameFacts { link: faults.read(&frame), ..FrameFacts::bare(64) };
                assert!(facts.link.is_some());
                // The first dummy is hit by something else.
                let anyway = round == 0 && facts.link.is_some_and(|link| link.kind == LinkKind::Dummy);
                faults.corrupts(&facts, anyway);
            }
        }
        let mut other = frames(dialect).remove(0);
        other[12] ^= 1;
        assert_eq!(faults.read(&other), None, "another protocol");
        let record: Vec<_> = faults.record.as_mut().unwrap().take().map(|fault| fault.to_string()).collect();
        assert_eq!(record, ["back dummy 8 1", "back missing 9 2"]);
        assert_eq!(faults.record.as_mut().unwrap().take().count(), 0);
        let names = frames(dialect).iter().map(|frame| faults.read(frame).unwrap().seq).collect::<Vec<_>>();
        assert_eq!(names, [8, 7, 9, 5]);
    }
}
