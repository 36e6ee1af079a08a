//! Injects the faults of a fault list into one direction of a wire, and records corrupted frames.

use wiremend_impair::{Direction, FrameFacts, LinkFacts, LinkFault, LinkKind, Replay, TransmissionCounter};
use wiremend_wire::link::{LinkCodec, LinkHeader};

/// Corrupts and records frames of one direction by their link headers. Wires without a fault list have none.
#[derive(Clone, Debug)]
pub struct FaultInjector {
    /// Wire format of the link header.
    pub codec: LinkCodec,
    /// The direction, as in fault lists.
    pub direction: Direction,
    /// The frames to corrupt.
    pub replay: Replay,
    /// Records the corrupted frames, if requested.
    pub record: Option<FaultRecorder>,
}

/// The frames corrupted since the last [`FaultRecorder::take`].
#[derive(Clone, Debug, Default)]
pub struct FaultRecorder {
    tally: TransmissionCounter,
    corrupted: Vec<LinkFault>,
}

impl FaultRecorder {
    /// Takes the recorded frames, in order.
    pub fn take(&mut self) -> impl Iterator<Item = LinkFault> + '_ {
        self.corrupted.drain(..)
    }
}

impl FaultInjector {
    /// Parses the link header of an untagged frame, if it has one.
    pub(super) fn read(&self, frame: &[u8]) -> Option<LinkFacts> {
        let header = self.codec.parse(frame).ok()?.header;
        let kind = match header {
            LinkHeader::Data { .. } => LinkKind::Data,
            LinkHeader::Dummy { .. } => LinkKind::Dummy,
            LinkHeader::Ack(_) => LinkKind::Ack,
            LinkHeader::Missing(_) => LinkKind::Missing,
            LinkHeader::Hello(_) => LinkKind::Hello,
            // Unprotected frames have no number.
            LinkHeader::Unprotected { .. } => return None,
        };
        Some(LinkFacts { kind, seq: header.number() })
    }

    /// Returns whether the frame is corrupted: by the fault list, or by another impairment (`corrupted`).
    pub(super) fn corrupts(&mut self, facts: &FrameFacts, corrupted: bool) -> bool {
        let corrupted = self.replay.corrupts(facts) | corrupted;
        if let (Some(record), Some(frame)) = (&mut self.record, facts.link) {
            let copy = record.tally.on_frame(frame);
            if corrupted {
                record.corrupted.push(LinkFault { direction: self.direction, frame, copy });
            }
        }
        corrupted
    }
}

#[cfg(test)]
mod tests {
    use wiremend_wire::link::{Ack, Hole, Missing};
    use wiremend_wire::{MacAddr, Trailer};

    use super::*;

    fn frames(codec: LinkCodec) -> Vec<Vec<u8>> {
        let ack = Ack { epoch: 3, next: 7, pause: false };
        let mut holes = [Hole::default(); Missing::HOLES_MAX];
        holes[0] = Hole { first: 9, len: 2 };
        let own = [
            LinkHeader::Dummy { epoch: 3, next: 8, ack: None },
            LinkHeader::Ack(ack),
            LinkHeader::Missing(Missing { ack, upto: 12, holes, hole_count: 1 }),
        ];
        let mut frames: Vec<_> = own
            .iter()
            .map(|header| {
                let mut frame = vec![0; codec.control_len(Trailer::None)];
                codec.emit_control(header, MacAddr([2, 0, 0, 0, 0, 1]), Trailer::None, &mut frame);
                frame
            })
            .collect();
        let data = LinkHeader::Data { epoch: 3, seq: 5, ordered: true, retransmitted: false, ack: Some(ack) };
        let mut buffer = vec![0; 100];
        let start = codec.encapsulate(&data, &mut buffer, 20).unwrap();
        frames.push(buffer[start..].to_vec());
        frames
    }

    #[test]
    fn listed_frames_are_corrupted_and_recorded() {
        let codec = LinkCodec::default();
        let list: wiremend_impair::FaultList = "backward missing 9 2\nforward ack 7 1".parse().unwrap();
        let mut faults = FaultInjector {
            codec,
            direction: Direction::Backward,
            replay: list.replay(Direction::Backward),
            record: Some(FaultRecorder::default()),
        };
        for round in 0..2 {
            for frame in frames(codec) {
                let facts = FrameFacts { link: faults.read(&frame), ..FrameFacts::bare(64) };
                assert!(facts.link.is_some());
                // Another impairment corrupts the first dummy.
                let otherwise = round == 0 && facts.link.is_some_and(|link| link.kind == LinkKind::Dummy);
                faults.corrupts(&facts, otherwise);
            }
        }
        let mut other = frames(codec).remove(0);
        other[12] ^= 1;
        assert_eq!(faults.read(&other), None, "another protocol");
        let record: Vec<_> = faults.record.as_mut().unwrap().take().map(|fault| fault.to_string()).collect();
        assert_eq!(record, ["backward dummy 8 1", "backward missing 9 2"]);
        assert_eq!(faults.record.as_mut().unwrap().take().count(), 0);
        let names = frames(codec).iter().map(|frame| faults.read(frame).unwrap().seq).collect::<Vec<_>>();
        assert_eq!(names, [8, 7, 9, 5]);
    }
}
