//! The messages of a capture: how long each took, and what it lost.

use std::fs::File;
use std::path::Path;

use wiremend_report::lab::Lost;
use wiremend_units::{Psn, QpNum};
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
    /// Waits of two timers without a frame between them.
    pub(super) double_waits: u32,
}

/// One and a half times the timeout.
const DOUBLE_WAIT_NS: u64 = 100_000_000;

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

/// The message that a queue pair has in flight.
struct Open {
    /// Destination of the requests.
    pair: QpNum,
    psn: Psn,
    start_ns: u64,
    last_ns: u64,
    lost: Vec<LostFrame>,
    double_waits: u32,
}

/// Reads a capture in which lost frames have comments. The last message of a queue pair has no end and is left out.
pub(super) fn read(path: &Path) -> Result<Vec<Message>, Error> {
    let (mut messages, mut open) = (Vec::new(), Vec::new());
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
    pairs: &mut Vec<Open>,
    time_ns: u64,
    received: &ReceivedFrame<'_>,
    is_lost: bool,
) -> Option<Message> {
    let (pair, psn, opcode) = (received.frame.bth.dest_qp, received.frame.bth.psn, received.frame.bth.opcode);
    let is_whole = received.frame.extension.reth().is_some_and(|reth| reth.dma_len == BYTES);
    let of_pair = pairs.iter().position(|open| open.pair == pair);
    let mut ended = None;
    if is_whole && matches!(opcode, Opcode::WriteFirst | Opcode::ReadRequest) {
        let new = Open { pair, psn, start_ns: time_ns, last_ns: time_ns, lost: Vec::new(), double_waits: 0 };
        match of_pair.map(|at| &mut pairs[at]) {
            None => pairs.push(new),
            Some(open) if (PACKETS..PACKETS + DUMMIES_MAX).contains(&psn.distance(open.psn)) => {
                open.await_frame(time_ns);
                ended = Some(std::mem::replace(open, new).end(time_ns));
            }
            Some(_) => {}
        }
    }
    // Answers name the other queue pair, but have the sequence numbers of the message.
    let is_part = |open: &&mut Open| (-PACKETS..PACKETS + DUMMIES_MAX).contains(&psn.distance(open.psn));
    if let Some(open) = pairs.iter_mut().find(is_part) {
        open.await_frame(time_ns);
        if is_lost {
            open.lost.push(lost_frame(received, psn.distance(open.psn)));
        }
    }
    ended
}

impl Open {
    fn await_frame(&mut self, time_ns: u64) {
        self.double_waits += u32::from(time_ns.saturating_sub(self.last_ns) > DOUBLE_WAIT_NS);
        self.last_ns = time_ns;
    }

    fn end(self, time_ns: u64) -> Message {
        let took_ms = time_ns.saturating_sub(self.start_ns) as f64 / 1e6;
        Message { took_ms, lost: classify(&self.lost), double_waits: self.double_waits }
    }
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
