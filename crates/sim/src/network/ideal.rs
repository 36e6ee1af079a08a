//! Ideal times of a message in an empty network. Slowdown is measured against them.
//!
//! The model is store-and-forward along a path of links with possibly different rates: a packet starts on a
//! link when it has arrived completely and the packet before it has left. In the middle of a long message
//! each packet adds the same time, so only the first few packets and the last are computed one by one.

use wiremend_proto::engine::Op;
use wiremend_proto::tcp;
use wiremend_proto::tcp::multipath::Dss;
use wiremend_units::{Bytes, HostId, LaneId, Span};
use wiremend_wire::Opcode;

use crate::frame::GAP_BYTES;
use crate::network::{FlowKey, Network, TransportProtocol};

/// A message, or with `round_trip` a request and a reply of one size.
#[derive(Clone, Copy)]
pub(crate) struct IdealFlow {
    pub(crate) protocol: TransportProtocol,
    pub(crate) src: HostId,
    pub(crate) dst: HostId,
    pub(crate) entropy: u16,
    pub(crate) bytes: u32,
    pub(crate) round_trip: bool,
}

/// The last computed time, and what it depends on if all links are equal: protocol, number of lanes, bytes, and
/// whether it is that of a round trip.
#[derive(Default)]
pub(crate) struct LastIdealTime(Option<((TransportProtocol, u32, u32, bool), Span)>);

impl LastIdealTime {
    /// Returns the time from the post to the completion.
    pub(crate) fn of(&mut self, net: &Network, flow: IdealFlow) -> Span {
        let IdealFlow { protocol, src, dst, entropy, bytes, round_trip } = flow;
        let key = net.equal_path_len(src, dst).map(|len| (protocol, len, bytes, round_trip));
        if let Some((known, time)) = self.0
            && key == Some(known)
        {
            return time;
        }
        let [there, back] =
            [(src, dst), (dst, src)].map(|(src, dst)| net.path(FlowKey { src, dst, entropy }));
        let time = if round_trip {
            delivery(net, protocol, &there, bytes) + delivery(net, protocol, &back, bytes)
        } else {
            completion(net, protocol, &there, &back, bytes)
        };
        self.0 = key.map(|key| (key, time));
        time
    }
}

/// Returns the time from the post to the requester's completion, along `there` and back.
pub(crate) fn completion(
    net: &Network,
    protocol: TransportProtocol,
    there: &[LaneId],
    back: &[LaneId],
    bytes: u32,
) -> Span {
    if let Some(shape) = segment_shape(net, protocol) {
        let mut timeline = PathTimeline::new(net, back);
        timeline.push_at(tcp::frame_len(shape.ack_options), stream_arrival(net, there, bytes, shape));
        return timeline.arrival() + stack_latency(net);
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
            single_packet(net, there, Opcode::ReadRequest) + message_arrival(net, back, bytes, shapes).last
        }
        _ => ack_arrival(
            net,
            back,
            bytes.div_ceil(mtu),
            &message_arrival(net, there, bytes, opcodes(net.transport.op)),
        ),
    }
}

/// Returns the time from the post to the arrival of the last byte, for SEND, WRITE and TCP.
pub(crate) fn delivery(net: &Network, protocol: TransportProtocol, path: &[LaneId], bytes: u32) -> Span {
    if let Some(shape) = segment_shape(net, protocol) {
        return stream_arrival(net, path, bytes, shape);
    }
    message_arrival(net, path, bytes, opcodes(net.transport.op)).last
}

/// Sizes of TCP segments.
#[derive(Clone, Copy)]
struct SegmentShape {
    mss: u16,
    options: u16,
    ack_options: u16,
}

fn segment_shape(net: &Network, protocol: TransportProtocol) -> Option<SegmentShape> {
    match protocol {
        TransportProtocol::Rdma => None,
        TransportProtocol::Tcp => {
            Some(SegmentShape { mss: net.transport.tcp().mss, options: 0, ack_options: 0 })
        }
        TransportProtocol::Multipath(_) => Some(SegmentShape {
            mss: net.transport.multipath().mss,
            options: Dss::DATA_BYTES,
            ack_options: Dss::ACK_BYTES,
        }),
    }
}

/// Returns the arrival time of the last byte of a TCP stream whose windows never limit it. With several
/// subflows, the path of the first subflow counts.
fn stream_arrival(net: &Network, path: &[LaneId], bytes: u32, shape: SegmentShape) -> Span {
    let mss = u32::from(shape.mss);
    let frame_len = |payload: u32| tcp::frame_len(payload as u16 + shape.options);
    let bytes = bytes.max(1);
    let full = (bytes - 1) / mss;
    let mut timeline = PathTimeline::new(net, path);
    timeline.push_many(frame_len(mss), full);
    timeline.push(frame_len(bytes - full * mss));
    timeline.arrival() + stack_latency(net)
}

fn stack_latency(net: &Network) -> Span {
    net.transport.tcp.as_ref().map_or(Span::ZERO, |tcp| tcp.stack_latency)
}

fn opcodes(op: Op) -> [Opcode; 4] {
    match op {
        Op::Send => [Opcode::SendFirst, Opcode::SendMiddle, Opcode::SendLast, Opcode::SendOnly],
        _ => [Opcode::WriteFirst, Opcode::WriteMiddle, Opcode::WriteLast, Opcode::WriteOnly],
    }
}

/// Returns the arrival time of the last packet's ACK. A short last packet follows the packet before it so
/// closely that its ACK may queue behind the ACK before it.
fn ack_arrival(net: &Network, back: &[LaneId], packets: u32, delivered: &MessageArrival) -> Span {
    let mut timeline = PathTimeline::new(net, back);
    let ack = net.transport.sized(Opcode::Acknowledge, 0);
    if let Some(before) = delivered.before_last
        && (packets - 1).is_multiple_of(net.transport.config.ack_every)
    {
        timeline.push_at(ack, before);
    }
    timeline.push_at(ack, delivered.last);
    timeline.arrival()
}

/// Arrival times of the last two packets of a message.
struct MessageArrival {
    before_last: Option<Span>,
    last: Span,
}

fn single_packet(net: &Network, path: &[LaneId], opcode: Opcode) -> Span {
    let mut timeline = PathTimeline::new(net, path);
    timeline.push(net.transport.sized(opcode, 0));
    timeline.arrival()
}

fn message_arrival(
    net: &Network,
    path: &[LaneId],
    bytes: u32,
    [first, middle, last, only]: [Opcode; 4],
) -> MessageArrival {
    let mtu = u32::from(net.transport.config.mtu);
    let mut timeline = PathTimeline::new(net, path);
    if bytes <= mtu {
        timeline.push(net.transport.sized(only, bytes as u16));
        return MessageArrival { before_last: None, last: timeline.arrival() };
    }
    let packets = bytes.div_ceil(mtu);
    timeline.push(net.transport.sized(first, mtu as u16));
    timeline.push_many(net.transport.sized(middle, mtu as u16), packets - 2);
    let before_last = Some(timeline.arrival());
    timeline.push(net.transport.sized(last, (bytes - (packets - 1) * mtu) as u16));
    MessageArrival { before_last, last: timeline.arrival() }
}

/// The time at which the last packet has left each link of a path.
struct PathTimeline<'a> {
    net: &'a Network,
    path: &'a [LaneId],
    departed: Vec<Span>,
}

impl<'a> PathTimeline<'a> {
    fn new(net: &'a Network, path: &'a [LaneId]) -> Self {
        Self { net, path, departed: vec![Span::ZERO; path.len()] }
    }

    fn push(&mut self, len: u16) {
        self.push_at(len, Span::ZERO);
    }

    /// Sends a packet that is ready at `start`.
    fn push_at(&mut self, len: u16, start: Span) {
        let bytes = Bytes::new(u64::from(len) + GAP_BYTES);
        let mut here = start;
        for (lane, departed) in self.path.iter().zip(&mut self.departed) {
            let lane = self.net.lanes[lane.index()];
            *departed = here.max(*departed) + lane.rate.serialize(bytes);
            here = *departed + lane.delay;
        }
    }

    fn push_many(&mut self, len: u16, count: u32) {
        let mut step = Vec::new();
        for done in 0..count {
            let before = self.departed.clone();
            self.push(len);
            let now: Vec<_> =
                self.departed.iter().zip(before).map(|(after, before)| *after - before).collect();
            if now == step && self.is_steady(&step, len) {
                let rest = u64::from(count - done - 1);
                self.departed.iter_mut().zip(step).for_each(|(departed, step)| *departed += step * rest);
                return;
            }
            step = now;
        }
    }

    /// Returns whether each link advances at the pace of the slowest link up to it.
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
        self.departed[self.departed.len() - 1] + self.net.lanes[last.index()].delay
    }
}
