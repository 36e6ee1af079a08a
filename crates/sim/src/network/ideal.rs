//! How long a message takes when nothing else moves: the yardstick of slowdown.
//!
//! Store-and-forward along a path of links that may differ in rate: a packet starts on a link when it has
//! arrived whole and its predecessor has left. In the middle of a long message every packet adds the same, so only
//! the first few and the last are followed one by one.

use wiremend_proto::engine::Op;
use wiremend_proto::tcp::multipath::Signal;
use wiremend_proto::{rc, tcp};
use wiremend_units::{Bytes, LaneId, Span};
use wiremend_wire::Opcode;

use crate::frame::GAP_BYTES;
use crate::network::{Network, Protocol};

/// From post to the requester's completion, along `there` and back.
pub(crate) fn alone(
    net: &Network,
    protocol: Protocol,
    there: &[LaneId],
    back: &[LaneId],
    bytes: u32,
) -> Span {
    if let Some(shape) = shape_of(net, protocol) {
        let mut pipe = Pipe::new(net, back);
        pipe.push_at(tcp::frame_len(shape.ack_options), stream(net, there, bytes, shape));
        return pipe.arrival() + stack_latency(net);
    }
    let mtu = u32::from(net.transport.config.mtu);
    match net.transport.op {
        Op::Read => {
            let shapes = [
                Opcode::ReadResponseFirst,
                Opcode::ReadResponseMiddle,
                Opcode::ReadResponseLast,
                Opcode::ReadResponseOnly,
            ];
            one(net, there, Opcode::ReadRequest) + message(net, back, bytes, shapes).last
        }
        _ => acknowledged(
            net,
            back,
            bytes.div_ceil(mtu),
            &message(net, there, bytes, shapes_of(net.transport.op)),
        ),
    }
}

/// From post to the last byte at the other end, for SEND and WRITE.
pub(crate) fn one_way(net: &Network, protocol: Protocol, path: &[LaneId], bytes: u32) -> Span {
    if let Some(shape) = shape_of(net, protocol) {
        return stream(net, path, bytes, shape);
    }
    message(net, path, bytes, shapes_of(net.transport.op)).last
}

/// What segments of a stream look like.
#[derive(Clone, Copy)]
struct SegmentShape {
    mss: u16,
    options: u16,
    ack_options: u16,
}

fn shape_of(net: &Network, protocol: Protocol) -> Option<SegmentShape> {
    match protocol {
        Protocol::Rdma => None,
        Protocol::Tcp => Some(SegmentShape { mss: net.transport.tcp().mss, options: 0, ack_options: 0 }),
        Protocol::Multipath(_) => Some(SegmentShape {
            mss: net.transport.multipath().mss,
            options: Signal::DATA_BYTES,
            ack_options: Signal::ACK_BYTES,
        }),
    }
}

/// When the last byte of a stream is at the other end, if windows never keep it back. Of subflows it is the first one's path that counts.
fn stream(net: &Network, path: &[LaneId], bytes: u32, shape: SegmentShape) -> Span {
    let mss = u32::from(shape.mss);
    let frame_len = |payload: u32| tcp::frame_len(payload as u16 + shape.options);
    let bytes = bytes.max(1);
    let full = (bytes - 1) / mss;
    let mut pipe = Pipe::new(net, path);
    pipe.push_many(frame_len(mss), full);
    pipe.push(frame_len(bytes - full * mss));
    pipe.arrival() + stack_latency(net)
}

fn stack_latency(net: &Network) -> Span {
    net.transport.tcp.as_ref().map_or(Span::ZERO, |tcp| tcp.stack_latency)
}

fn shapes_of(op: Op) -> [Opcode; 4] {
    match op {
        Op::Send => [Opcode::SendFirst, Opcode::SendMiddle, Opcode::SendLast, Opcode::SendOnly],
        Op::Write | Op::Read => {
            [Opcode::WriteFirst, Opcode::WriteMiddle, Opcode::WriteLast, Opcode::WriteOnly]
        }
    }
}

/// When the last packet's acknowledgement is back. A short last packet follows its predecessor so closely that its
/// acknowledgement may queue behind the predecessor's.
fn acknowledged(net: &Network, back: &[LaneId], packets: u32, delivered: &Delivered) -> Span {
    let mut pipe = Pipe::new(net, back);
    let ack = rc::frame_len(Opcode::Acknowledge, 0);
    if let Some(before) = delivered.before_last
        && (packets - 1).is_multiple_of(net.transport.config.ack_every)
    {
        pipe.push_at(ack, before);
    }
    pipe.push_at(ack, delivered.last);
    pipe.arrival()
}

/// When packets of a message are at the other end.
struct Delivered {
    before_last: Option<Span>,
    last: Span,
}

fn one(net: &Network, path: &[LaneId], opcode: Opcode) -> Span {
    let mut pipe = Pipe::new(net, path);
    pipe.push(rc::frame_len(opcode, 0));
    pipe.arrival()
}

fn message(
    net: &Network,
    path: &[LaneId],
    bytes: u32,
    [first, middle, last, only]: [Opcode; 4],
) -> Delivered {
    let mtu = u32::from(net.transport.config.mtu);
    let mut pipe = Pipe::new(net, path);
    if bytes <= mtu {
        pipe.push(rc::frame_len(only, bytes as u16));
        return Delivered { before_last: None, last: pipe.arrival() };
    }
    let packets = bytes.div_ceil(mtu);
    pipe.push(rc::frame_len(first, mtu as u16));
    pipe.push_many(rc::frame_len(middle, mtu as u16), packets - 2);
    let before_last = Some(pipe.arrival());
    pipe.push(rc::frame_len(last, (bytes - (packets - 1) * mtu) as u16));
    Delivered { before_last, last: pipe.arrival() }
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
        self.push_at(len, Span::ZERO);
    }

    /// A packet that is there from `start` on.
    fn push_at(&mut self, len: u16, start: Span) {
        let bytes = Bytes::new(u64::from(len) + GAP_BYTES);
        let mut here = start;
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
