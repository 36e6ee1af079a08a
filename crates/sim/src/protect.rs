//! Ports under protection: an end of [`proto::link`](wiremend_proto::link) between a switch's queues and its wire.
//!
//! A protected port is a scheduled one whose wire is not its own: whenever it is free, the link's end says who is next
//! on it. What arrives with a header goes to the end of the port it came in by, and from there to the switch. A
//! dormant end adds neither header nor frame.

use wiremend_measure::{Frames, Protection};
use wiremend_proto::link::{Counters, Disposal, Endpoint, Signal, Transmit, Waiting};
use wiremend_units::{Bytes, LaneId, Time};

use crate::frame::Frame;
use crate::store::FrameId;
use crate::wires::Wires;

/// One end of a protected link.
pub(crate) struct Guard {
    end: Endpoint<FrameId>,
    /// Frames of these classes keep their order, a bit each.
    ordered: u8,
    /// What the scenario says about its start and its end, the next one last.
    orders: Vec<Order>,
    /// Starts so far.
    epoch: u32,
    header_bytes: u64,
    resent: Frames,
    own: Frames,
    /// Frames that went no further than the two ends of the link, and were not corrupted.
    taken: u64,
}

/// What one end of a protected link did: as sender of what leaves by its port, and as receiver of what comes in by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndCounters {
    /// The lane that it sends over.
    pub lane: LaneId,
    /// What the protocol counts.
    pub link: Counters,
    /// What it cost and came to, in the terms of a summary.
    pub sum: Protection,
    /// Frames that it took away: copies that came twice, and frames of the link's own.
    pub taken: u64,
}

/// A moment at which an end is told to start or stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub(crate) at: Time,
    pub(crate) active: bool,
}

/// The headers of frames on protected links.
#[derive(Default)]
pub(crate) struct Signals {
    places: Vec<Signal>,
    free: Vec<u32>,
}

/// The place of a frame's link header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignalId(u32);

impl SignalId {
    /// The frame has none.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

impl Signals {
    pub(crate) fn insert(&mut self, signal: Signal) -> SignalId {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = signal;
            return SignalId(place);
        }
        self.places.push(signal);
        SignalId(self.places.len() as u32 - 1)
    }

    pub(crate) fn get(&self, id: SignalId) -> Option<&Signal> {
        self.places.get(id.0 as usize)
    }

    pub(crate) fn remove(&mut self, id: SignalId) -> Signal {
        self.free.push(id.0);
        self.places[id.0 as usize]
    }
}

impl Guard {
    /// An end that obeys `orders`, which come in the order of time.
    pub(crate) fn new(end: Endpoint<FrameId>, ordered: u8, mut orders: Vec<Order>) -> Self {
        orders.reverse();
        Self {
            end,
            ordered,
            orders,
            epoch: 0,
            header_bytes: 0,
            resent: Frames::default(),
            own: Frames::default(),
            taken: 0,
        }
    }

    pub(crate) fn counters(&self) -> &Counters {
        self.end.counters()
    }

    pub(crate) fn summary(&self, lane: LaneId) -> EndCounters {
        let link = *self.end.counters();
        let sum = Protection {
            protected: link.protected,
            header_bytes: self.header_bytes,
            resent: self.resent,
            own: self.own,
            missed: link.missed,
            recovered: link.recovered,
            lost: link.lost,
            duplicates: link.duplicates,
            unkept: link.unkept,
            refused: link.refused,
            overflowed: link.overflowed,
            pauses: link.pauses,
            tx_buffer_bytes_max: link.tx_bytes_max,
            rx_buffer_bytes_max: link.rx_bytes_max,
        };
        EndCounters { lane, link, sum, taken: self.taken }
    }

    /// When it wants to act, if nothing happens before.
    fn next_due(&self) -> Option<Time> {
        let order = self.orders.last().map(|order| order.at);
        [order, self.end.next_timeout()].into_iter().flatten().min()
    }

    fn on_time(&mut self, now: Time) {
        while let Some(order) = self.orders.pop_if(|order| order.at <= now) {
            if order.active {
                self.epoch += 1;
                self.end.activate(now, self.epoch);
            } else {
                self.end.deactivate(now);
            }
        }
        if self.end.next_timeout().is_some_and(|due| due <= now) {
            self.end.on_timeout(now);
        }
    }
}

impl Wires {
    /// Puts an end before the wire of `lane`, whose port is a scheduled one.
    pub(crate) fn protect(&mut self, lane: LaneId, guard: Guard) {
        debug_assert!(self.egresses[lane.index()].is_some(), "a protected port is scheduled");
        if let Some(due) = guard.next_due() {
            self.queue.arm_by(self.sources.tx(lane), due);
        }
        self.guards[lane.index()] = Some(Box::new(guard));
    }

    pub(crate) fn guard(&self, lane: LaneId) -> Option<&Guard> {
        self.guards[lane.index()].as_deref()
    }

    /// The port has fallen free, a time has come, or frames wait that did not.
    #[cold]
    pub(crate) fn on_guard_time(&mut self, now: Time, lane: LaneId) {
        let guard = self.guards[lane.index()].as_mut().expect("a protected port");
        guard.on_time(now);
        self.pump(now, lane);
    }

    /// A frame with a link header has come over `lane`. What is to be forwarded for it is in `delivered`.
    #[cold]
    pub(crate) fn on_signal(&mut self, now: Time, lane: LaneId, id: FrameId) {
        let signal = self.undress(id);
        let back = lane.reverse();
        let Some(guard) = self.guards[back.index()].as_mut() else {
            unreachable!("both ends of a protected link are guarded")
        };
        if signal.is_data() {
            guard.end.on_signal(now, &signal, Some(id));
        } else {
            self.frames.remove(id);
            guard.taken += 1;
            guard.end.on_signal(now, &signal, None);
        }
        self.pump(now, back);
    }

    /// Puts on the wire what is next, if it is free, and sees to being called again.
    pub(crate) fn pump(&mut self, now: Time, lane: LaneId) {
        if self.ports[lane.index()].busy_until <= now {
            self.send_guarded(now, lane);
        }
        self.dispose(lane);
        let busy_until = self.ports[lane.index()].busy_until;
        let guard = self.guards[lane.index()].as_ref().expect("a protected port");
        let egress = self.egresses[lane.index()].as_ref().expect("a protected port is scheduled");
        let free = if busy_until > now { Some(busy_until) } else { None };
        let opens = egress.next_start(now).filter(|start| *start > now);
        if let Some(due) = [free, opens, guard.next_due()].into_iter().flatten().min() {
            self.queue.arm_by(self.sources.tx(lane), due.max(now));
        }
    }

    fn send_guarded(&mut self, now: Time, lane: LaneId) {
        let guard = self.guards[lane.index()].as_mut().expect("a protected port");
        let egress = self.egresses[lane.index()].as_mut().expect("a protected port is scheduled");
        let waiting = egress.peek(now).map(|(class, len)| Waiting {
            len: Bytes::new(u64::from(len)),
            ordered: guard.ordered & (1 << class) != 0,
        });
        let mut head = || egress.next(now).expect("the head of the queue is there");
        let (id, signal) = match guard.end.poll_transmit(now, waiting) {
            None => return,
            Some(Transmit::Plain) => (head(), None),
            Some(Transmit::Fresh(signal)) => {
                let id = head();
                let kept = self.frames.insert(*self.frames.get(id));
                self.kept += 1;
                guard.end.on_sent(now, kept);
                (id, Some(signal))
            }
            Some(Transmit::Again(signal, kept)) => {
                let frame = *self.frames.get(kept);
                guard.resent.add(u64::from(frame.len));
                (self.frames.insert(frame), Some(signal))
            }
            Some(Transmit::Own(signal)) => {
                let frame = Frame::own();
                guard.own.add(u64::from(frame.len));
                (self.frames.insert(frame), Some(signal))
            }
        };
        if let Some(signal) = signal {
            guard.header_bytes += u64::from(signal.added_len());
            self.dress(id, signal);
        }
        self.transmit(now, lane, id);
    }

    /// Does with handles what the end of a link has decided.
    fn dispose(&mut self, lane: LaneId) {
        let guard = self.guards[lane.index()].as_mut().expect("a protected port");
        while let Some(disposal) = guard.end.poll() {
            match disposal {
                Disposal::Deliver(id) => self.delivered.push((lane.reverse(), id)),
                Disposal::Discard(id) => {
                    self.frames.remove(id);
                    guard.taken += 1;
                }
                Disposal::Release(id) => {
                    self.frames.remove(id);
                    self.kept -= 1;
                }
            }
        }
    }

    fn dress(&mut self, id: FrameId, signal: Signal) {
        let frame = self.frames.get_mut(id);
        frame.len += signal.added_len() as u16;
        frame.signal = self.signals.insert(signal);
    }

    fn undress(&mut self, id: FrameId) -> Signal {
        let frame = self.frames.get_mut(id);
        let signal = self.signals.remove(std::mem::replace(&mut frame.signal, SignalId::NONE));
        frame.len -= signal.added_len() as u16;
        signal
    }
}

/// Counts by name, for the digest and for reports.
pub(crate) fn named(counters: &Counters) -> [(&'static str, u64); 16] {
    [
        ("link.protected", counters.protected),
        ("link.resent", counters.resent),
        ("link.dummies", counters.dummies),
        ("link.unkept", counters.unkept),
        ("link.refused", counters.refused),
        ("link.tx_bytes_max", counters.tx_bytes_max),
        ("link.missed", counters.missed),
        ("link.recovered", counters.recovered),
        ("link.lost", counters.lost),
        ("link.duplicates", counters.duplicates),
        ("link.overflowed", counters.overflowed),
        ("link.notifications", counters.notifications),
        ("link.renotifications", counters.renotifications),
        ("link.acks", counters.acks),
        ("link.pauses", counters.pauses),
        ("link.rx_bytes_max", counters.rx_bytes_max),
    ]
}
