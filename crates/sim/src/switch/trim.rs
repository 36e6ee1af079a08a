//! Switches that cut packets to their headers when a queue is long (NDP, DCP).
//!
//! The criterion is the transmission time of the class's queue at the port, as with ECN marks. Header-only
//! packets have their own class and memory ([`Egress::with_separate_class`]), so that they overtake the data
//! packets. The weight of that class prevents their loss: see `build::trim_switch`.

use wiremend_measure::Trims;
use wiremend_proto::{Packet, dcp};
use wiremend_units::{LaneId, Span, Time, mix, stream_seed};

use crate::frame::{Body, Frame, FrameId, TrimState};
use crate::link::Lanes;
use crate::memory::prefetch;
use crate::network::purpose;
use crate::port::Egress;

/// The rule, and the state of each port.
pub(crate) struct Trimming {
    rule: TrimRule,
    /// By lane.
    ports: Vec<TrimPort>,
}

/// Which packets a switch trims, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrimRule {
    pub(crate) class: u8,
    pub(crate) acks: AckHandling,
    /// Whether connections accept header-only packets.
    pub(crate) connections: bool,
    /// Share of data packets that are trimmed at random, in parts of 2³².
    pub(crate) share_parts: u64,
}

/// How switches handle acknowledgements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AckHandling {
    /// They are dropped above the threshold.
    Drop,
    /// They are queued as in a switch that does not trim.
    Keep,
    /// They get the class of header-only packets.
    Control,
}

struct TrimPort {
    threshold: Span,
    random: u64,
    counts: Trims,
}

/// The kind of a frame for a switch that trims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TrimKind {
    Data,
    HeaderOnly,
    Ack,
    Other,
}

impl Trimming {
    /// `thresholds`: by lane, the longest transmission time of the queue.
    pub(crate) fn new(rule: TrimRule, seed: u64, thresholds: impl Iterator<Item = Span>) -> Self {
        let port = |(lane, threshold)| TrimPort {
            threshold,
            random: stream_seed(seed, purpose::TRIMS, lane as u64),
            counts: Trims::default(),
        };
        Self { rule, ports: thresholds.enumerate().map(port).collect() }
    }

    pub(crate) fn counts(&self, lane: LaneId) -> Trims {
        self.ports[lane.index()].counts
    }

    /// Returns whether a port without queued frames trims none.
    pub(super) fn never_trims_when_idle(&self) -> bool {
        self.rule.share_parts == 0
    }

    /// Sets the class of a frame that is not trimmed.
    #[inline]
    pub(super) fn on_pass(&self, frame: &mut Frame) {
        self.rule.set_class(frame);
    }

    /// Prefetches what decides whether frames are trimmed at a port.
    #[inline]
    pub(crate) fn prefetch(&self, lane: LaneId) {
        prefetch(&self.ports[lane.index()]);
    }

    /// Trims a frame on arrival at a port, or changes its class. Returns whether it may be queued; otherwise
    /// it was dropped.
    pub(crate) fn on_frame(
        &mut self,
        lanes: &mut Lanes,
        egress: &mut Egress,
        now: Time,
        lane: LaneId,
        id: FrameId,
    ) -> bool {
        let port = &self.ports[lane.index()];
        let frame = lanes.frame_mut(id);
        self.rule.set_class(frame);
        let is_long = egress.backlog_of(frame.class()) > port.threshold;
        let may_stay = !is_long && self.rule.share_parts == 0;
        may_stay && egress.has_room(now, frame.class(), frame.len) || self.trim(lanes, egress, now, lane, id)
    }

    #[inline(never)]
    fn trim(&mut self, lanes: &mut Lanes, egress: &mut Egress, now: Time, lane: LaneId, id: FrameId) -> bool {
        let (rule, port) = (self.rule, &mut self.ports[lane.index()]);
        let frame = lanes.frame_mut(id);
        let is_long = egress.backlog_of(frame.class()) > port.threshold;
        let kind = rule.kind(frame);
        match kind {
            TrimKind::Data
                if is_long
                    || !egress.has_room(now, frame.class(), frame.len)
                    || port.draws_trim(rule.share_parts) =>
            {
                frame.trim(rule.class);
                port.counts.trimmed += 1;
            }
            TrimKind::Ack if rule.acks == AckHandling::Drop && is_long => {
                port.counts.acks_dropped += 1;
                lanes.drop_frame(now, lane, id);
                return false;
            }
            TrimKind::Other if is_long => {
                port.counts.others_dropped += 1;
                lanes.drop_frame(now, lane, id);
                return false;
            }
            TrimKind::Data | TrimKind::HeaderOnly | TrimKind::Ack | TrimKind::Other => {}
        }
        if frame.is_trimmed() && !egress.has_room(now, frame.class(), frame.len) {
            port.counts.headers_dropped += 1;
            lanes.drop_frame(now, lane, id);
            return false;
        }
        true
    }
}

impl TrimPort {
    /// Draws whether a packet is trimmed at random.
    fn draws_trim(&mut self, share_parts: u64) -> bool {
        if share_parts == 0 {
            return false;
        }
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.random) >> 32 < share_parts
    }
}

impl TrimRule {
    /// Gives header-only packets their class, and acknowledgements if they have the same.
    #[inline]
    fn set_class(self, frame: &mut Frame) {
        let is_ack = self.acks == AckHandling::Control && self.kind(frame) == TrimKind::Ack;
        // Headers and data alternate, so this does not branch.
        let class = if frame.is_trimmed() | is_ack { self.class } else { frame.class() };
        frame.set_class(class);
    }

    fn kind(self, frame: &Frame) -> TrimKind {
        match &frame.body {
            _ if frame.is_trimmed() => TrimKind::HeaderOnly,
            Body::Raw(TrimState::Trimmable) | Body::Packet(Packet::Dcp(dcp::Packet::Data(_))) => {
                TrimKind::Data
            }
            Body::Packet(Packet::Dcp(_)) => TrimKind::Ack,
            // A CNP.
            Body::Packet(Packet::Rc(_)) if self.connections => TrimKind::Ack,
            Body::Packet(_) | Body::Raw(_) | Body::Link | Body::Lost(_) => TrimKind::Other,
        }
    }
}
