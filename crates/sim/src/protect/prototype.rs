//! A port of the published prototype: its registers, its queues, and its two buffers, which turn in a
//! [`Loopback`](super::loopback::Loopback) or lie in [memory](super::memory).

use std::collections::VecDeque;

use wiremend_proto::link::Counters;
use wiremend_proto::link::paper::{Config, Judgement, Receiver, Sender, Signal, TICK, Tick, Verdict};
use wiremend_units::{Span, Time};
use wiremend_wire::Quanta;

use super::depth::Depth;
use super::guard::Seen;
use super::loopback::{Side, Turning, cells};
use super::memory::Home;
use super::missing::Missing;
use crate::frame::{FrameId, Header};

/// One end of a link that the prototype protects.
pub(crate) struct Prototype {
    sender: Sender,
    receiver: Receiver,
    /// Whether frames keep their order; without it, nobody notes what is given up.
    ordered: bool,
    missing: Missing,
    /// Since when its normal queue waits, and for how long it did before.
    paused_since: Option<Time>,
    paused: Span,
    /// Whether it protects what it sends.
    active: bool,
    /// Where its buffers are.
    pub(super) home: Home,
    /// The highest of its three queues: what is sent again, notifications, pauses.
    urgent: VecDeque<(Header, Option<FrameId>)>,
    /// Ticks that have passed.
    ticks: u64,
    tx: Buffer,
    rx: Buffer,
    rx_cells: u32,
}

/// One buffer's queue at the loopback port.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    depth: Depth,
    room_bytes: u64,
    /// How often a frame left it.
    passes: u64,
    /// Frames that found no room.
    refused: u64,
}

/// Bytes that each of a port's buffers may hold in the queue of the loopback port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) tx_bytes: u64,
    pub(crate) rx_bytes: u64,
}

/// What leaves next.
pub(crate) enum Next {
    /// The head of the normal queue, behind a header or not.
    Head(Option<Header>),
    /// The head of the normal queue; a copy of it turns.
    Fresh(Signal),
    /// A frame that was made for it.
    Copy(Header, FrameId),
    /// A frame of the link's own.
    Own(Header),
}

impl Prototype {
    pub(crate) fn new(config: Config, home: Home, room: Room) -> Self {
        Self {
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            ordered: config.ordered,
            missing: Missing::new(&config),
            paused_since: None,
            paused: Span::ZERO,
            active: false,
            home,
            urgent: VecDeque::new(),
            ticks: 0,
            tx: Buffer::new(room.tx_bytes),
            rx: Buffer::new(room.rx_bytes),
            rx_cells: 0,
        }
    }

    /// Nothing tells the other end: both are told at once.
    pub(crate) fn set_active(&mut self, active: bool) {
        self.active = active;
    }

    pub(crate) fn next(&mut self, now: Time, has_head: bool) -> Option<Next> {
        if let Some((header, frame)) = self.urgent.pop_front() {
            return Some(frame.map_or(Next::Own(header), |frame| Next::Copy(header, frame)));
        }
        if has_head && !self.sender.is_paused(now) {
            let ack = self.receiver.on_egress();
            return Some(if self.active {
                Next::Fresh(self.sender.on_egress(ack))
            } else {
                Next::Head(ack.map(|ack| Header::Prototype(Signal::Piggyback(ack))))
            });
        }
        let dummy = self.sender.on_egress_dummy();
        let courier = || self.receiver.on_egress().map(Signal::Ack);
        dummy.or_else(courier).map(|signal| Next::Own(Header::Prototype(signal)))
    }

    /// A frame with a header has arrived. What becomes of the one it carries, if it carries one.
    pub(crate) fn on_header(&mut self, now: Time, header: &Header) -> Option<Verdict> {
        self.on_time(now);
        match header {
            Header::Pause(quanta) => {
                self.note_pause(now, *quanta);
                self.sender.on_pause(now, *quanta);
                None
            }
            Header::Prototype(signal) => {
                self.sender.on_signal(signal);
                let arrival = self.receiver.on_arrival(signal);
                self.missing.on_arrival(now, signal, arrival.notification.as_ref());
                self.urgent.extend(arrival.notification.map(|signal| (Header::Prototype(signal), None)));
                let carries = matches!(signal, Signal::Piggyback(_)).then_some(Verdict::Forward);
                arrival.verdict.or(carries)
            }
            Header::Link(_) | Header::Fec(_) | Header::Pfc(_) | Header::Probe(_) | Header::Bare => {
                unreachable!("both ends of a link speak the same")
            }
        }
    }

    fn note_pause(&mut self, now: Time, quanta: Quanta) {
        if quanta != Quanta::RESUME {
            self.paused_since.get_or_insert(now);
        } else if let Some(since) = self.paused_since.take() {
            self.paused += now - since;
        }
    }

    /// A frame wants to join the queue of the loopback port, or to be kept in memory: whether there is room.
    pub(crate) fn admit(&mut self, turning: &Turning) -> bool {
        if turning.side == Side::Tx {
            return self.tx.admit(turning.len);
        }
        let has_room = self.rx.admit(turning.len);
        self.rx_cells += if has_room { cells(turning.len) } else { 0 };
        has_room
    }

    /// A frame of its buffers leaves the queue of the loopback port.
    pub(crate) fn on_dequeue(&mut self, now: Time, turning: &Turning) {
        self.on_time(now);
        if turning.side == Side::Tx {
            self.tx.pass(turning.len);
        } else {
            // What leaves is among what it sees.
            self.receiver.on_dequeue(self.rx_cells);
            self.rx.pass(turning.len);
            self.rx_cells -= cells(turning.len);
        }
    }

    /// A frame that lay in memory is gone.
    pub(crate) fn on_gone(&mut self, turning: &Turning) {
        if turning.side == Side::Tx {
            self.tx.depth.take(turning.len);
        } else {
            self.rx.depth.take(turning.len);
            self.rx_cells -= cells(turning.len);
        }
    }

    /// What lies in memory has changed: a pause or its end leaves at once if it is due.
    pub(crate) fn judge_depth(&mut self) {
        self.receiver.on_dequeue(self.rx_cells);
        self.urgent.extend(self.receiver.take_pause().map(|quanta| (Header::Pause(quanta), None)));
    }

    pub(crate) fn judge_copy(&mut self, turning: &Turning) -> Judgement {
        self.sender.judge_copy(turning.number)
    }

    /// A frame that was sent before leaves again.
    pub(crate) fn resend(&mut self, turning: &Turning, frame: FrameId) {
        let signal = Signal::Data { number: turning.number, again: true, blocking: self.ordered, ack: None };
        self.urgent.push_back((Header::Prototype(signal), Some(frame)));
    }

    /// Only frames that keep their order turn at the receiver.
    pub(crate) fn judge(&mut self, now: Time, turning: &Turning) -> Verdict {
        self.on_time(now);
        self.receiver.judge(turning.number, true)
    }

    /// When it wants to act, if nothing happens before.
    pub(crate) fn next_due(&self, now: Time) -> Option<Time> {
        let tick = self
            .receiver
            .ticks_to_event()
            .map(|ticks| Time::from_ps((self.ticks + ticks).saturating_mul(TICK.as_ps())));
        let resumed = self.sender.paused_until().filter(|until| *until > now);
        [tick, resumed].into_iter().flatten().min()
    }

    /// Takes note of the ticks that have passed.
    pub(crate) fn on_time(&mut self, now: Time) {
        self.missing.on_time(now);
        let ticks = now.as_ps() / TICK.as_ps();
        while self.ticks < ticks {
            let passed = ticks - self.ticks;
            let step = self.receiver.ticks_to_event().map_or(passed, |event| event.min(passed));
            let Tick { pause, .. } = self.receiver.on_ticks(step);
            self.urgent.extend(pause.map(|quanta| (Header::Pause(quanta), None)));
            self.ticks += step;
        }
    }

    /// What its registers do not hold.
    pub(crate) fn seen(&self) -> Seen {
        Seen {
            paused_ns: self.paused.as_ps() / 1_000,
            tx_passes: self.tx.passes,
            rx_passes: self.rx.passes,
            delays: self.missing.delays,
        }
    }

    /// In the terms of the hardened protocol, as far as they fit.
    pub(crate) fn counters(&self) -> Counters {
        let (sent, received) = (self.sender.counters(), self.receiver.counters());
        // Without order its timer runs idle.
        let (lost, recovered) = if self.ordered {
            (received.timeouts, received.missed.saturating_sub(received.timeouts))
        } else {
            (self.missing.lost, self.missing.recovered)
        };
        Counters {
            protected: sent.protected,
            resent: sent.resent,
            dummies: sent.dummies,
            unkept: self.tx.refused,
            refused: sent.unrequested,
            tx_bytes: self.tx.depth.bytes,
            tx_bytes_max: self.tx.depth.bytes_max,
            missed: received.missed,
            lost,
            recovered,
            duplicates: received.dropped,
            overflowed: self.rx.refused,
            notifications: received.notifications,
            acks: received.acks,
            pauses: received.pauses,
            rx_bytes: self.rx.depth.bytes,
            rx_bytes_max: self.rx.depth.bytes_max,
            ..Counters::default()
        }
    }
}

impl Buffer {
    fn new(room_bytes: u64) -> Self {
        Self { depth: Depth::default(), room_bytes, passes: 0, refused: 0 }
    }

    fn admit(&mut self, len: u16) -> bool {
        if self.depth.bytes + u64::from(len) > self.room_bytes {
            self.refused += 1;
            return false;
        }
        self.depth.add(len);
        self.depth.note();
        true
    }

    fn pass(&mut self, len: u16) {
        self.depth.take(len);
        self.passes += 1;
    }
}
