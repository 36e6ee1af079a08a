//! One end of a protected link: the protocol that it speaks, when it starts and stops, and what it costs.

use wiremend_measure::{Delays, Frames, Protection};
use wiremend_proto::fec;
use wiremend_proto::link::{Counters, Endpoint, RecoveryDelays};
use wiremend_units::{LaneId, Time};

use super::{Coder, Gauge, Prototype};
use crate::frame::FrameId;

/// One end of a protected link.
pub(crate) struct Guard {
    pub(super) protocol: Protocol,
    pub(super) state: EndState,
}

/// What is known of an end beside its protocol.
pub(super) struct EndState {
    /// The lane that it sends over.
    pub(super) lane: LaneId,
    /// Frames of these classes keep their order, a bit each.
    pub(super) ordered: u8,
    /// Starts so far.
    epoch: u32,
    pub(super) costs: Costs,
    /// What the scenario says about its start and its end, the next one last.
    orders: Vec<Order>,
    /// What it does about the loss of what comes in, while the other end is dormant.
    pub(super) gauge: Option<Box<Gauge>>,
    /// When it was first told to start.
    started: Option<Time>,
    /// Whether it was told to stop.
    is_over: bool,
}

/// What an end has cost, and what became of frames.
#[derive(Clone, Copy, Default)]
pub(super) struct Costs {
    pub(super) header_bytes: u64,
    pub(super) resent: Frames,
    pub(super) own: Frames,
    /// Frames with a header that went on their way.
    pub(super) handed_on: u64,
    /// Frames that went no further than the two ends of the link, and were not corrupted.
    pub(super) taken: u64,
}

/// What an end speaks.
pub(crate) enum Protocol {
    /// Link-local retransmission.
    Link(Box<Endpoint<FrameId>>),
    /// Its published prototype.
    Prototype(Box<Prototype>),
    /// Forward error correction.
    Fec(Box<Coder>),
}

/// What the host sees of the prototype beside its registers.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seen {
    pub(crate) paused_ns: u64,
    pub(crate) tx_passes: u64,
    pub(crate) rx_passes: u64,
    pub(crate) delays: Delays,
}

/// What an end of a link has of them, in steps.
fn delays(of: &RecoveryDelays) -> Delays {
    let mut delays = Delays::default();
    for (edge, count) in of.buckets().filter(|(_, count)| *count > 0) {
        // A delay lies below the edge of its bucket.
        delays.add_many(edge.as_ns() - 1, count);
    }
    Delays { max_ns: of.max().as_ns(), ..delays }
}

/// A moment at which an end is told to start or stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub(crate) at: Time,
    pub(crate) active: bool,
}

/// What one end of a protected link did: as sender of what leaves by its port, and as receiver of what comes in by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndCounters {
    /// The lane that it sends over.
    pub lane: LaneId,
    /// When it was first told to protect what it sends.
    pub started: Option<Time>,
    /// What the protocol counts; that of error correction in the terms of retransmission, as far as they fit.
    pub link: Counters,
    /// What error correction counts.
    pub fec: Option<fec::Counters>,
    /// What it cost and came to, in the terms of a summary.
    pub sum: Protection,
    /// Frames that it took away: copies that came twice, and frames of the link's own.
    pub taken: u64,
    /// Frames that it made anew from parities.
    pub restored: u64,
}

impl Guard {
    /// An end that sends over a lane and obeys `orders`, which come in the order of time.
    pub(crate) fn new(protocol: Protocol, lane: LaneId, ordered: u8, mut orders: Vec<Order>) -> Self {
        orders.reverse();
        let state = EndState {
            lane,
            ordered,
            epoch: 0,
            costs: Costs::default(),
            orders,
            gauge: None,
            started: None,
            is_over: false,
        };
        Self { protocol, state }
    }

    /// The same, which also measures the loss of what comes in.
    pub(crate) fn measuring(self, gauge: Option<Gauge>) -> Self {
        let state = EndState { gauge: gauge.map(Box::new), ..self.state };
        Self { state, ..self }
    }

    /// The other end has seen enough losses. What is told to start after its end stays dormant.
    pub(super) fn start_at(&mut self, at: Time) {
        let state = &mut self.state;
        if !state.is_over && state.orders.last().is_none_or(|next| at < next.at) {
            state.orders.push(Order { at, active: true });
        }
    }

    /// The lane that it sends over.
    #[inline]
    pub(crate) fn lane(&self) -> LaneId {
        self.state.lane
    }

    pub(crate) fn counters(&self) -> Counters {
        match &self.protocol {
            Protocol::Link(end) => *end.counters(),
            Protocol::Prototype(port) => port.counters(),
            Protocol::Fec(coder) => coder.counters(),
        }
    }

    /// Frames that a receiver has given up until now.
    pub(crate) fn lost(&mut self, now: Time) -> u64 {
        if let Protocol::Prototype(port) = &mut self.protocol {
            port.on_time(now);
        }
        self.counters().lost
    }

    pub(crate) fn summary(&self) -> EndCounters {
        let link = self.counters();
        let seen = match &self.protocol {
            Protocol::Link(end) => Seen { delays: delays(end.delays()), ..Seen::default() },
            Protocol::Fec(_) => Seen::default(),
            Protocol::Prototype(port) => port.seen(),
        };
        let sum = Protection {
            protected: link.protected,
            header_bytes: self.state.costs.header_bytes,
            resent: self.state.costs.resent,
            own: self.state.costs.own,
            handed_on: self.state.costs.handed_on,
            notifications: link.notifications,
            missed: link.missed,
            recovered: link.recovered,
            lost: link.lost,
            duplicates: link.duplicates,
            unkept: link.unkept,
            refused: link.refused,
            overflowed: link.overflowed,
            pauses: link.pauses,
            paused_ns: seen.paused_ns,
            tx_passes: seen.tx_passes,
            rx_passes: seen.rx_passes,
            delays: seen.delays,
            tx_buffer_bytes_max: link.tx_bytes_max,
            rx_buffer_bytes_max: link.rx_bytes_max,
        };
        let (fec, restored) = match &self.protocol {
            Protocol::Fec(coder) => (Some(*coder.end.counters()), coder.restored),
            _ => (None, 0),
        };
        EndCounters {
            lane: self.state.lane,
            started: self.state.started,
            link,
            fec,
            sum,
            taken: self.state.costs.taken,
            restored,
        }
    }

    /// When it wants to act, if nothing happens before.
    pub(crate) fn next_due(&self, now: Time) -> Option<Time> {
        let order = self.state.orders.last().map(|order| order.at);
        let own = match &self.protocol {
            Protocol::Link(end) => end.next_timeout(),
            Protocol::Prototype(port) => port.next_due(now),
            Protocol::Fec(coder) => coder.end.next_timeout(),
        };
        [order, own].into_iter().flatten().min()
    }

    pub(crate) fn on_time(&mut self, now: Time) {
        while let Some(order) = self.state.orders.pop_if(|order| order.at <= now) {
            self.obey(now, order);
        }
        match &mut self.protocol {
            Protocol::Link(end) if end.next_timeout().is_some_and(|due| due <= now) => end.on_timeout(now),
            Protocol::Link(_) => {}
            Protocol::Prototype(port) => port.on_time(now),
            Protocol::Fec(coder) => coder.end.on_timeout(now),
        }
    }

    fn obey(&mut self, now: Time, order: Order) {
        if order.active {
            self.state.started.get_or_insert(now);
        }
        self.state.is_over = !order.active;
        match &mut self.protocol {
            Protocol::Link(end) if order.active => {
                self.state.epoch += 1;
                end.activate(now, self.state.epoch);
            }
            Protocol::Link(end) => end.deactivate(now),
            Protocol::Prototype(port) => port.set_active(order.active),
            Protocol::Fec(coder) if order.active => {
                self.state.epoch += 1;
                coder.end.activate(first_number(self.state.epoch));
            }
            Protocol::Fec(coder) => coder.end.deactivate(),
        }
    }
}

impl EndState {
    /// Whether the end was ever told to start.
    pub(super) fn has_started(&self) -> bool {
        self.epoch > 0
    }
}

/// Numbers of one start of error correction are far from those of another.
fn first_number(epoch: u32) -> u16 {
    (epoch as u16).wrapping_mul(20_011)
}

/// Counts of an end by name, for the digest and for reports.
pub(crate) fn named(end: &EndCounters) -> impl Iterator<Item = (&'static str, u64)> + use<> {
    end.link.named().into_iter().chain(end.fec.iter().flat_map(fec::Counters::named).collect::<Vec<_>>())
}
