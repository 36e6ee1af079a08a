//! One end of a protected link: its protocol, when it starts and stops, and its costs.

use wiremend_measure::{DelayHistogram, FrameCount, Protection};
use wiremend_proto::fec;
use wiremend_proto::link::{Counters, Endpoint, QueueHead, RecoveryDelays};
use wiremend_units::{Bytes, LaneId, Time};

use super::{FecEnd, LossMonitor, Prototype};
use crate::frame::{FrameId, PackedHeader};

pub(crate) struct LinkEnd {
    pub(super) protocol: LinkProtocol,
    pub(super) state: EndState,
}

/// State of a link end beside its protocol.
pub(super) struct EndState {
    /// The lane that it sends over.
    pub(super) lane: LaneId,
    /// Classes whose frames stay in order, one bit each.
    pub(super) ordered: u8,
    epoch: u32,
    pub(super) costs: Costs,
    /// Scheduled starts and stops; the next one is last.
    activations: Vec<Activation>,
    /// Monitor of incoming losses, while the other end is dormant.
    pub(super) loss_monitor: Option<Box<LossMonitor>>,
    started: Option<Time>,
    /// Whether the last change was a stop.
    is_over: bool,
    /// All frames that the link may have lost are acknowledged when all positions before this one are.
    pub(super) recovered_from: u64,
}

/// Costs of a link end, and fates of frames.
#[derive(Clone, Copy, Default)]
pub(super) struct Costs {
    pub(super) header_bytes: u64,
    pub(super) resent: FrameCount,
    pub(super) own: FrameCount,
    /// Frames with a header that were delivered.
    pub(super) delivered: u64,
    /// Frames that ended at this link end without being corrupted: duplicates and control frames.
    pub(super) discarded: u64,
}

#[expect(
    clippy::large_enum_variant,
    reason = "the large one is the usual one, and its address is needed early"
)]
pub(crate) enum LinkProtocol {
    Link(Endpoint<FrameId>),
    /// The published prototype of link-local retransmission.
    Prototype(Box<Prototype>),
    /// Forward error correction.
    Fec(Box<FecEnd>),
}

/// Statistics of the prototype that its registers do not have.
#[derive(Clone, Copy, Default)]
pub(crate) struct PrototypeStats {
    pub(crate) paused_ns: u64,
    pub(crate) tx_passes: u64,
    pub(crate) rx_passes: u64,
    pub(crate) delays: DelayHistogram,
}

/// Converts a histogram of recovery delays.
fn delays(recovery: &RecoveryDelays) -> DelayHistogram {
    let mut delays = DelayHistogram::default();
    for (edge, count) in recovery.buckets().filter(|(_, count)| *count > 0) {
        // A delay lies below the edge of its bucket.
        delays.add_many(edge.as_ns() - 1, count);
    }
    DelayHistogram { max_ns: recovery.max().as_ns(), ..delays }
}

/// A scheduled start or stop of a link end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Activation {
    pub(crate) at: Time,
    pub(crate) active: bool,
}

/// Counters of one end of a protected link: as sender over its port, and as receiver at its port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkEndCounters {
    /// The lane that it sends over.
    pub lane: LaneId,
    /// Time of the first start of protection.
    pub started: Option<Time>,
    /// Counters of the protocol; those of error correction in the terms of retransmission, as far as they
    /// apply.
    pub link: Counters,
    /// Counters of error correction.
    pub fec: Option<fec::Counters>,
    /// Costs and results, in the terms of a summary.
    pub sum: Protection,
    /// Frames that it discarded: duplicates and control frames of the link.
    pub discarded: u64,
    /// Frames restored from parities.
    pub restored: u64,
}

impl LinkEnd {
    /// Returns an end that sends over a lane; `activations` are in order of time.
    pub(crate) fn new(
        protocol: LinkProtocol,
        lane: LaneId,
        ordered: u8,
        mut activations: Vec<Activation>,
    ) -> Self {
        activations.reverse();
        let state = EndState {
            lane,
            ordered,
            epoch: 0,
            costs: Costs::default(),
            activations,
            loss_monitor: None,
            started: None,
            is_over: false,
            recovered_from: 0,
        };
        Self { protocol, state }
    }

    /// Adds a monitor of incoming losses.
    pub(crate) fn with_loss_monitor(self, loss_monitor: Option<LossMonitor>) -> Self {
        let state = EndState { loss_monitor: loss_monitor.map(Box::new), ..self.state };
        Self { state, ..self }
    }

    /// Schedules a start because the other end has seen enough losses. After its scheduled stop, the end
    /// stays dormant.
    pub(super) fn start_at(&mut self, at: Time) {
        let state = &mut self.state;
        if !state.is_over && state.activations.last().is_none_or(|next| at < next.at) {
            state.activations.push(Activation { at, active: true });
        }
    }

    /// Returns the lane that it sends over.
    #[inline]
    pub(crate) fn lane(&self) -> LaneId {
        self.state.lane
    }

    pub(crate) fn counters(&self) -> Counters {
        match &self.protocol {
            LinkProtocol::Link(end) => *end.counters(),
            LinkProtocol::Prototype(port) => port.counters(),
            LinkProtocol::Fec(fec) => fec.counters(),
        }
    }

    /// Returns the frames that the receiver has given up until now.
    pub(crate) fn lost(&mut self, now: Time) -> u64 {
        if let LinkProtocol::Prototype(port) = &mut self.protocol {
            port.on_time(now);
        }
        self.counters().lost
    }

    pub(crate) fn summary(&self) -> LinkEndCounters {
        let link = self.counters();
        let stats = match &self.protocol {
            LinkProtocol::Link(end) => {
                PrototypeStats { delays: delays(end.delays()), ..PrototypeStats::default() }
            }
            LinkProtocol::Fec(_) => PrototypeStats::default(),
            LinkProtocol::Prototype(port) => port.stats(),
        };
        let sum = Protection {
            protected: link.protected,
            header_bytes: self.state.costs.header_bytes,
            resent: self.state.costs.resent,
            control: self.state.costs.own,
            delivered: self.state.costs.delivered,
            notifications: link.notifications,
            missed: link.missed,
            recovered: link.recovered,
            lost: link.lost,
            duplicates: link.duplicates,
            unbuffered: link.unbuffered,
            refused: link.refused,
            overflowed: link.overflowed,
            pauses: link.pauses,
            paused_ns: stats.paused_ns,
            tx_recirculations: stats.tx_passes,
            rx_recirculations: stats.rx_passes,
            recovery_delays: stats.delays,
            tx_buffer_bytes_max: link.tx_bytes_max,
            rx_buffer_bytes_max: link.rx_bytes_max,
        };
        let (fec, restored) = match &self.protocol {
            LinkProtocol::Fec(fec) => (Some(*fec.end.counters()), fec.restored),
            _ => (None, 0),
        };
        LinkEndCounters {
            lane: self.state.lane,
            started: self.state.started,
            link,
            fec,
            sum,
            discarded: self.state.costs.discarded,
            restored,
        }
    }

    /// Handles a dummy or an ACK that arrives at an end of link-local retransmission.
    #[inline]
    pub(super) fn on_control(&mut self, now: Time, header: PackedHeader) {
        let LinkProtocol::Link(end) = &mut self.protocol else { return };
        self.state.costs.discarded += 1;
        end.on_control(now, header.as_control());
    }

    /// Returns when the next timer or scheduled change is due; `Time::MAX` if there is none.
    #[inline]
    pub(crate) fn next_due(&self, now: Time) -> Time {
        let own = match &self.protocol {
            LinkProtocol::Link(end) => end.earliest_timeout(),
            LinkProtocol::Prototype(port) => port.next_due(now).unwrap_or(Time::MAX),
            LinkProtocol::Fec(fec) => fec.end.next_timeout().unwrap_or(Time::MAX),
        };
        own.min(self.state.activations.last().map_or(Time::MAX, |activation| activation.at))
    }

    pub(crate) fn on_time(&mut self, now: Time) {
        while let Some(activation) = self.state.activations.pop_if(|activation| activation.at <= now) {
            self.apply(now, activation);
        }
        match &mut self.protocol {
            LinkProtocol::Link(end) if end.earliest_timeout() <= now => {
                end.on_timeout(now);
            }
            LinkProtocol::Link(_) => {}
            LinkProtocol::Prototype(port) => port.on_time(now),
            LinkProtocol::Fec(fec) => fec.end.on_timeout(now),
        }
    }

    fn apply(&mut self, now: Time, activation: Activation) {
        if activation.active {
            self.state.started.get_or_insert(now);
        }
        self.state.is_over = !activation.active;
        match &mut self.protocol {
            LinkProtocol::Link(end) if activation.active => {
                self.state.epoch += 1;
                end.activate(now, self.state.epoch);
            }
            LinkProtocol::Link(end) => end.deactivate(now),
            LinkProtocol::Prototype(port) => port.set_active(activation.active),
            LinkProtocol::Fec(fec) if activation.active => {
                self.state.epoch += 1;
                fec.end.activate(first_number(self.state.epoch));
            }
            LinkProtocol::Fec(fec) => fec.end.deactivate(),
        }
    }
}

impl EndState {
    /// Describes a frame that is next.
    #[inline]
    pub(super) fn queue_head(&self, class: u8, len: u16) -> QueueHead {
        QueueHead { len: Bytes::new(u64::from(len)), ordered: self.ordered & (1 << class) != 0 }
    }

    /// Returns whether the end was ever started.
    pub(super) fn has_started(&self) -> bool {
        self.epoch > 0
    }
}

/// Returns the first sequence number of an epoch. Numbers of successive epochs are far apart.
fn first_number(epoch: u32) -> u16 {
    (epoch as u16).wrapping_mul(20_011)
}

/// Returns the counters by name, for the digest.
pub(crate) fn named(end: &LinkEndCounters) -> impl Iterator<Item = (&'static str, u64)> + use<> {
    end.link.named().into_iter().chain(end.fec.iter().flat_map(fec::Counters::named).collect::<Vec<_>>())
}
