//! The messages of a capture: how long each took, and what it lost.

use std::fs::File;
use std::path::Path;

use wiremend_report::lab::Lost;
use wiremend_units::Psn;
use wiremend_wire::pcap::Reader;
use wiremend_wire::{Opcode, ReceivedFrame, RoceFrame, Syndrome};

use crate::error::Error;

/// Packets of each message, and its bytes: the path MTU is 1024.
pub(super) const PACKETS: i32 = 4;
pub(super) const BYTES: u32 = 4096;
/// Dummies take sequence numbers between messages.
pub(super) const DUMMIES_MAX: i32 = 32;

/// A message of a queue pair that has one in flight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Message {
    /// From its first packet to that of the next message.
    pub(super) took_ms: f64,
    pub(super) lost: Lost,
}

/// A lost frame, with the number of its packet in the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LostFrame {
    Data(i32),
    ReadRequest,
    Response(i32),
    Ack(i32),
    Nak,
    Dummy,
}

/// The message in flight.
struct Open {
    psn: Psn,
    start_ns: u64,
    lost: Vec<LostFrame>,
}

/// Reads a capture in which lost frames have comments. The last message has no end and is left out.
pub(super) fn read(path: &Path) -> Result<Vec<Message>, Error> {
    let (mut messages, mut open) = (Vec::new(), None);
    read_frames(path, |time_ns, received, is_lost| {
        messages.extend(on_frame(&mut open, time_ns, received, is_lost));
    })?;
    Ok(messages)
}

/// Calls `on_frame` with the time of each RoCE frame, the frame, and whether it was lost.
pub(super) fn read_frames(
    path: &Path,
    mut on_frame: impl FnMut(u64, &ReceivedFrame<'_>, bool),
) -> Result<(), Error> {
    let bad =
        |why: String| Error::Environment(format!("cannot read the capture `{}`: {why}", path.display()));
    let file = File::open(path).map_err(|error| bad(error.to_string()))?;
    let mut reader = Reader::new(file).map_err(|error| bad(error.to_string()))?;
    while let Some(packet) = reader.next_packet().map_err(|error| bad(error.to_string()))? {
        if let Ok(received) = RoceFrame::parse(packet.bytes) {
            on_frame(packet.time_ns, &received, packet.comment.is_some());
        }
    }
    Ok(())
}

/// Takes the next frame. Returns the message that has ended by it.
fn on_frame(
    open: &mut Option<Open>,
    time_ns: u64,
    received: &ReceivedFrame<'_>,
    is_lost: bool,
) -> Option<Message> {
    let (psn, opcode) = (received.frame.bth.psn, received.frame.bth.opcode);
    let whole = received.frame.extension.reth().is_some_and(|reth| reth.dma_len == BYTES);
    let is_next =
        open.as_ref().is_none_or(|open| (PACKETS..PACKETS + DUMMIES_MAX).contains(&psn.distance(open.psn)));
    let mut ended = None;
    if whole && is_next && matches!(opcode, Opcode::WriteFirst | Opcode::ReadRequest) {
        let next = Open { psn, start_ns: time_ns, lost: Vec::new() };
        ended = open.replace(next).map(|before| Message {
            took_ms: time_ns.saturating_sub(before.start_ns) as f64 / 1e6,
            lost: classify(&before.lost),
        });
    }
    if let Some(open) = open.as_mut().filter(|_| is_lost) {
        open.lost.push(lost_frame(received, psn.distance(open.psn)));
    }
    ended
}

fn lost_frame(received: &ReceivedFrame<'_>, number: i32) -> LostFrame {
    let extension = &received.frame.extension;
    match received.frame.bth.opcode {
        Opcode::Acknowledge => match extension.aeth().map(|aeth| aeth.syndrome) {
            Some(Syndrome::Ack { .. }) => LostFrame::Ack(number),
            _ => LostFrame::Nak,
        },
        Opcode::ReadRequest if extension.reth().is_some_and(|reth| reth.dma_len > 0) => {
            LostFrame::ReadRequest
        }
        opcode if opcode.is_read_response() => LostFrame::Response(number),
        _ if received.payload_len > 0 => LostFrame::Data(number),
        _ => LostFrame::Dummy,
    }
}

fn classify(lost: &[LostFrame]) -> Lost {
    const LAST: i32 = PACKETS - 1;
    match *lost {
        [] => Lost::Nothing,
        [LostFrame::Data(LAST)] => Lost::TailPacket,
        [LostFrame::Ack(LAST)] => Lost::TailAck,
        [LostFrame::Data(_)] => Lost::Middle,
        [LostFrame::Data(first), LostFrame::Data(again)] if first == again && first < LAST => {
            Lost::Retransmission
        }
        [LostFrame::Data(number), LostFrame::Nak] if number < LAST => Lost::Nak,
        [LostFrame::ReadRequest] => Lost::ReadRequest,
        [LostFrame::Response(LAST)] => Lost::LastResponse,
        [LostFrame::Response(_)] => Lost::MiddleResponse,
        _ => Lost::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_told_apart() {
        use LostFrame::{Ack, Data, Dummy, Nak, ReadRequest, Response};
        for (frames, lost) in [
            (&[][..], Lost::Nothing),
            (&[Data(3)], Lost::TailPacket),
            (&[Ack(3)], Lost::TailAck),
            (&[Data(0)], Lost::Middle),
            (&[Data(1), Data(1)], Lost::Retransmission),
            (&[Data(1), Data(2)], Lost::Other),
            (&[Data(3), Data(3)], Lost::Other),
            (&[Data(2), Nak], Lost::Nak),
            (&[ReadRequest], Lost::ReadRequest),
            (&[Response(3)], Lost::LastResponse),
            (&[Response(0)], Lost::MiddleResponse),
            (&[Dummy], Lost::Other),
            (&[Ack(4)], Lost::Other),
        ] {
            assert_eq!(classify(frames), lost, "{frames:?}");
        }
    }
}
