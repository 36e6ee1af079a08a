//! Switches that cut packets to their headers when too much waits before them (NDP, DCP).
//!
//! What is judged is the class's queue at the port, by the time that it will take, as with marks. Header-only packets wait in a class
//! and a memory of their own ([`Egress::set_apart`]), so that they overtake what made them. That
//! they are not lost is a matter of that class's weight: see `build::trim_switch`.

use wiremend_measure::Trims;
use wiremend_proto::{Packet, dcp};
use wiremend_units::{LaneId, Span, Time, mix, stream_seed};

use crate::frame::{Body, Frame, FrameId, Raw};
use crate::link::Lanes;
use crate::network::purpose;
use crate::port::Egress;

/// The rule, and what each port has made of it.
pub(crate) struct Trimming {
    rule: Rule,
    /// By lane.
    ports: Vec<Port>,
}

/// What a switch does with which packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// The class of header-only packets.
    pub(crate) class: u8,
    pub(crate) acks: Acks,
    /// Connections know header-only packets.
    pub(crate) connections: bool,
    /// Data packets that are cut by chance alone, in parts of 2³².
    pub(crate) share_parts: u64,
}

/// What becomes of acknowledgements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Acks {
    /// Dropped above the threshold.
    Drop,
    /// Treated like frames of a switch that does not trim.
    Keep,
    /// In the class of header-only packets.
    Control,
}

struct Port {
    threshold: Span,
    /// Draws so far move it on.
    random: u64,
    counts: Trims,
}

/// What a switch that trims takes a frame for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    Data,
    HeaderOnly,
    Ack,
    Other,
}

impl Trimming {
    /// `thresholds`: by lane, the time that what waits there may take.
    pub(crate) fn new(rule: Rule, seed: u64, thresholds: impl Iterator<Item = Span>) -> Self {
        let port = |(lane, threshold)| Port {
            threshold,
            random: stream_seed(seed, purpose::TRIMS, lane as u64),
            counts: Trims::default(),
        };
        Self { rule, ports: thresholds.enumerate().map(port).collect() }
    }

    pub(crate) fn counts(&self, lane: LaneId) -> Trims {
        self.ports[lane.index()].counts
    }

    /// A frame comes to a port: it may lose its payload and change its class. Whether it may wait there; else it is gone.
    pub(crate) fn on_frame(
        &mut self,
        lanes: &mut Lanes,
        egress: &mut Egress,
        now: Time,
        lane: LaneId,
        id: FrameId,
    ) -> bool {
        let (rule, port) = (self.rule, &mut self.ports[lane.index()]);
        let frame = lanes.frame_mut(id);
        let sort = rule.sort(frame);
        let is_long = egress.backlog_of(frame.class()) > port.threshold;
        match sort {
            Sort::Data
                if is_long
                    || !egress.has_room(now, frame.class(), frame.len)
                    || port.draws(rule.share_parts) =>
            {
                frame.trim(rule.class);
                port.counts.trimmed += 1;
            }
            Sort::HeaderOnly => frame.set_class(rule.class),
            Sort::Ack if rule.acks == Acks::Control => frame.set_class(rule.class),
            Sort::Ack if rule.acks == Acks::Drop && is_long => {
                port.counts.acks_dropped += 1;
                lanes.drop_frame(now, lane, id);
                return false;
            }
            Sort::Other if is_long => {
                port.counts.others_dropped += 1;
                lanes.drop_frame(now, lane, id);
                return false;
            }
            Sort::Data | Sort::Ack | Sort::Other => {}
        }
        if frame.is_trimmed() && !egress.has_room(now, frame.class(), frame.len) {
            port.counts.headers_dropped += 1;
            lanes.drop_frame(now, lane, id);
            return false;
        }
        true
    }
}

impl Port {
    /// Whether chance wants a packet to be cut.
    fn draws(&mut self, share_parts: u64) -> bool {
        if share_parts == 0 {
            return false;
        }
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.random) >> 32 < share_parts
    }
}

impl Rule {
    fn sort(self, frame: &Frame) -> Sort {
        match &frame.body {
            _ if frame.is_trimmed() => Sort::HeaderOnly,
            Body::Raw(Raw::Trimmable) | Body::Packet(Packet::Dcp(dcp::Packet::Data(_))) => Sort::Data,
            Body::Packet(Packet::Dcp(_)) => Sort::Ack,
            // A notification of congestion.
            Body::Packet(Packet::Rc(_)) if self.connections => Sort::Ack,
            Body::Packet(_) | Body::Raw(_) | Body::Link | Body::Corrupted => Sort::Other,
        }
    }
}
