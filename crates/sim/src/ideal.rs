//! How long a message takes when nothing else moves: the yardstick of slowdown.
//!
//! Store-and-forward along a path of links that may differ in rate: a packet starts on a link when it has
//! arrived whole and its predecessor has left. In the middle of a long message every packet adds the same, so only
//! the first few and the last are followed one by one.

use wiremend_proto::rc;
use wiremend_units::{Bytes, LaneId, Span};
use wiremend_wire::Opcode;

use crate::frame::{GAP_BYTES, len_with};
use crate::network::Network;

/// From post to the requester's completion, along `there` and back.
pub(crate) fn alone(net: &Network, there: &[LaneId], back: &[LaneId], bytes: u32) -> Span {
    let mtu = u32::from(net.transport.config.mtu);
    match net.transport.op {
        rc::Op::Read => {
            let shapes = [Opcode::ReadResponseFirst, Opcode::ReadResponseMiddle, Opcode::ReadResponseLast, Opcode::ReadResponseOnly];
            one(net, there, Opcode::ReadRequest) + message(net, back, bytes, mtu, shapes)
        }
        _ => one_way(net, there, bytes) + one(net, back, Opcode::Acknowledge),
    }
}

/// From post to the last byte at the other end, for SEND and WRITE.
pub(crate) fn one_way(net: &Network, path: &[LaneId], bytes: u32) -> Span {
    let mtu = u32::from(net.transport.config.mtu);
    let shapes = match net.transport.op {
        rc::Op::Send => [Opcode::SendFirst, Opcode::SendMiddle, Opcode::SendLast, Opcode::SendOnly],
        rc::Op::Write | rc::Op::Read => [Opcode::WriteFirst, Opcode::WriteMiddle, Opcode::WriteLast, Opcode::WriteOnly],
    };
    message(net, path, bytes, mtu, shapes)
}

fn one(net: &Network, path: &[LaneId], opcode: Opcode) -> Span {
    let mut pipe = Pipe::new(net, path);
    pipe.push(len_with(opcode, 0));
    pipe.arrival()
}

fn message(net: &Network, path: &[LaneId], bytes: u32, mtu: u32, [first, middle, last, only]: [Opcode; 4]) -> Span {
    let mut pipe = Pipe::new(net, path);
    if bytes <= mtu {
        pipe.push(len_with(only, bytes as u16));
        return pipe.arrival();
    }
    let packets = bytes.div_ceil(mtu);
    pipe.push(len_with(first, mtu as u16));
    pipe.push_many(len_with(middle, mtu as u16), packets - 2);
    pipe.push(len_with(last, (bytes - (packets - 1) * mtu) as u16));
    pipe.arrival()
}

/// When the last packet has left each link of a path.
struct Pipe<'a> {
    net: &'a Network,
    path: &'a [LaneId],
    left: Vec<Span>,
}

impl<'a> Pipe<'a> {
    fn new(net: &'a Network, path: &'a [LaneId]) -> Self {
        Self { net, path, left: vec![Span::ZERO; path.len()] }
    }

    fn push(&mut self, len: u16) {
        let bytes = Bytes::new(u64::from(len) + GAP_BYTES);
        let mut here = Span::ZERO;
        for (lane, left) in self.path.iter().zip(&mut self.left) {
            let lane = self.net.lanes[lane.index()];
            *left = here.max(*left) + lane.rate.serialize(bytes);
            here = *left + lane.delay;
        }
    }

    fn push_many(&mut self, len: u16, count: u32) {
        let mut step = Vec::new();
        for done in 0..count {
            let before = self.left.clone();
            self.push(len);
            let now: Vec<_> = self.left.iter().zip(before).map(|(after, before)| *after - before).collect();
            if now == step && self.is_steady(&step, len) {
                let rest = u64::from(count - done - 1);
                self.left.iter_mut().zip(step).for_each(|(left, step)| *left += step * rest);
                return;
            }
            step = now;
        }
    }

    /// Each link advances at the pace of the slowest link up to it.
    fn is_steady(&self, step: &[Span], len: u16) -> bool {
        let bytes = Bytes::new(u64::from(len) + GAP_BYTES);
        let mut slowest = Span::ZERO;
        self.path.iter().zip(step).all(|(lane, step)| {
            slowest = slowest.max(self.net.lanes[lane.index()].rate.serialize(bytes));
            *step == slowest
        })
    }

    fn arrival(&self) -> Span {
        let last = self.path.last().expect("a path has a link");
        self.left[self.left.len() - 1] + self.net.lanes[last.index()].delay
    }
}
