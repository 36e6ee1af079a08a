//! A port of the published prototype: its registers, its queues, and its two buffers, which turn in a
//! [`Loopback`](super::loopback::Loopback) or lie in [memory](super::memory).

use std::collections::VecDeque;

use wiremend_proto::link::Counters;
use wiremend_proto::link::paper::{Config, Judgement, Number, Receiver, Sender, Signal, TICK, Tick, Verdict};
use wiremend_units::{Span, Time};
use wiremend_wire::Quanta;

use super::depth::Depth;
use super::end::{EndContext, Incoming};
use super::guard::Seen;
use super::loopback::{Side, Turning, cells};
use super::memory::Home;
use super::missing::Missing;
use crate::frame::{Frame, FrameId, Header};

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
    /// The head of the normal queue; a copy of it is kept under its number.
    Fresh(Signal, Number),
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

    fn next(&mut self, now: Time, has_head: bool) -> Option<Next> {
        if let Some((header, frame)) = self.urgent.pop_front() {
            return Some(frame.map_or(Next::Own(header), |frame| Next::Copy(header, frame)));
        }
        if has_head && !self.sender.is_paused(now) {
            let ack = self.receiver.on_egress();
            if !self.active {
                return Some(Next::Head(ack.map(|ack| Header::Prototype(Signal::Piggyback(ack)))));
            }
            let signal = self.sender.on_egress(ack);
            return Some(match number_of(&signal) {
                Some(number) => Next::Fresh(signal, number),
                None => Next::Head(Some(Header::Prototype(signal))),
            });
        }
        let dummy = self.sender.on_egress_dummy();
        let courier = || self.receiver.on_egress().map(Signal::Ack);
        dummy.or_else(courier).map(|signal| Next::Own(Header::Prototype(signal)))
    }

    /// A pause frame has arrived.
    pub(super) fn on_pause(&mut self, now: Time, quanta: Quanta) {
        self.on_time(now);
        self.note_pause(now, quanta);
        self.sender.on_pause(now, quanta);
    }

    /// A frame with a header has arrived, with one that goes on or without.
    pub(super) fn on_signal(&mut self, cx: &mut EndContext<'_>, signal: &Signal, frame: Option<Incoming>) {
        self.on_time(cx.now);
        self.sender.on_signal(signal);
        let arrival = self.receiver.on_arrival(signal);
        self.missing.on_arrival(cx.now, signal, arrival.notification.as_ref());
        self.urgent.extend(arrival.notification.map(|signal| (Header::Prototype(signal), None)));
        let carries = matches!(signal, Signal::Piggyback(_)).then_some(Verdict::Forward);
        let (Some(verdict), Some((id, _))) = (arrival.verdict.or(carries), frame) else { return };
        match (verdict, number_of(signal)) {
            (Verdict::Drop, _) => {
                cx.take_away(id);
            }
            (Verdict::Hold, Some(number)) => {
                let len = cx.lanes.frames.get(id).len;
                self.keep(cx, Turning { port: cx.port, side: Side::Rx, number, frame: id, len });
            }
            // What has no number keeps no order.
            (Verdict::Forward | Verdict::Hold, _) => cx.hand_on(id),
        }
    }

    /// The frame that leaves next.
    pub(super) fn next_frame(&mut self, cx: &mut EndContext<'_>) -> Option<FrameId> {
        let has_head = cx.egress.peek(cx.now).is_some();
        Some(match self.next(cx.now, has_head)? {
            Next::Head(header) => {
                let id = cx.take_head()?;
                header.map_or(id, |header| cx.attach(id, header))
            }
            Next::Fresh(signal, number) => {
                let id = cx.take_head()?;
                self.mirror(cx, id, number);
                cx.attach(id, Header::Prototype(signal))
            }
            Next::Copy(header, id) => {
                // It has been a copy that is kept until now.
                cx.lanes.kept -= 1;
                let frame = cx.lanes.frame_mut(id);
                *frame = frame.sent_again();
                cx.state.costs.resent.add(u64::from(frame.len));
                cx.attach(id, header)
            }
            Next::Own(header) => {
                let id = cx.make_own(Frame::own());
                cx.attach(id, header)
            }
        })
    }

    /// A copy of a frame that leaves goes to the loopback port, or stays in memory.
    fn mirror(&mut self, cx: &mut EndContext<'_>, id: FrameId, number: Number) {
        let copy = cx.lanes.keep_copy(id);
        let len = cx.lanes.frames.get(id).len;
        let turning = Turning { port: cx.port, side: Side::Tx, number, frame: copy, len };
        if let Home::Loopback(switch) = self.home {
            cx.mirror(switch, turning);
        } else {
            self.keep(cx, turning);
        }
    }

    /// A frame joins the queue of the loopback port, or stays in memory, if there is room.
    pub(super) fn keep(&mut self, cx: &mut EndContext<'_>, turning: Turning) {
        if self.admit(&turning) {
            match &mut self.home {
                Home::Loopback(switch) => cx.enqueue(*switch, turning),
                Home::Memory(memory) => memory.insert(turning),
            }
        } else if turning.side == Side::Tx {
            cx.lanes.release_copy(turning.frame);
        } else {
            cx.take_away(turning.frame);
        }
    }

    /// A frame has come round through the loopback port. Whether something is to leave for it.
    pub(super) fn on_turned(&mut self, cx: &mut EndContext<'_>, turning: Turning) -> bool {
        if turning.side == Side::Rx {
            match self.judge(cx.now, &turning) {
                Verdict::Forward => cx.hand_on(turning.frame),
                Verdict::Hold => self.keep(cx, turning),
                Verdict::Drop => {
                    cx.take_away(turning.frame);
                }
            }
            return false;
        }
        match self.judge_copy(&turning) {
            Judgement::Again => self.keep(cx, turning),
            Judgement::Drop => {
                cx.lanes.release_copy(turning.frame);
            }
            Judgement::Resend { copies } => {
                self.resend(cx, &turning, copies);
                return true;
            }
        }
        false
    }

    /// Something has arrived, or a time has come: what was kept in memory for it goes.
    pub(super) fn settle(&mut self, cx: &mut EndContext<'_>) {
        if matches!(self.home, Home::Loopback(_)) {
            return;
        }
        while let Some(turning) = self.home.first(Side::Rx) {
            match self.judge(cx.now, &turning) {
                Verdict::Hold => break,
                Verdict::Forward => cx.hand_on(turning.frame),
                Verdict::Drop => {
                    cx.take_away(turning.frame);
                }
            }
            self.forget_first(&turning);
        }
        while let Some(turning) = self.home.first(Side::Tx) {
            match self.judge_copy(&turning) {
                Judgement::Again => break,
                Judgement::Drop => {
                    cx.lanes.release_copy(turning.frame);
                }
                Judgement::Resend { copies } => self.resend(cx, &turning, copies),
            }
            self.forget_first(&turning);
        }
        self.judge_depth();
    }

    fn forget_first(&mut self, turning: &Turning) {
        self.on_gone(turning);
        self.home.remove_first(turning.side);
    }

    /// So many copies of a frame leave before all else.
    fn resend(&mut self, cx: &mut EndContext<'_>, turning: &Turning, copies: u8) {
        for _ in 1..copies {
            let copy = cx.lanes.keep_copy(turning.frame);
            self.push_again(turning, copy);
        }
        self.push_again(turning, turning.frame);
    }

    fn note_pause(&mut self, now: Time, quanta: Quanta) {
        if quanta != Quanta::RESUME {
            self.paused_since.get_or_insert(now);
        } else if let Some(since) = self.paused_since.take() {
            self.paused += now - since;
        }
    }

    /// A frame wants to join the queue of the loopback port, or to be kept in memory: whether there is room.
    fn admit(&mut self, turning: &Turning) -> bool {
        if turning.side == Side::Tx {
            return self.tx.admit(turning.len);
        }
        let has_room = self.rx.admit(turning.len);
        self.rx_cells += if has_room { cells(turning.len) } else { 0 };
        has_room
    }

    /// A frame of its buffers leaves the queue of the loopback port. Whether something may have to leave by the port for it.
    pub(super) fn on_dequeue(&mut self, now: Time, turning: &Turning) -> bool {
        self.on_time(now);
        if turning.side == Side::Tx {
            self.tx.pass(turning.len);
            false
        } else {
            // What leaves is among what it sees.
            self.receiver.on_dequeue(self.rx_cells);
            self.rx.pass(turning.len);
            self.rx_cells -= cells(turning.len);
            true
        }
    }

    /// A frame that lay in memory is gone.
    fn on_gone(&mut self, turning: &Turning) {
        if turning.side == Side::Tx {
            self.tx.depth.take(turning.len);
        } else {
            self.rx.depth.take(turning.len);
            self.rx_cells -= cells(turning.len);
        }
    }

    /// What lies in memory has changed: a pause or its end leaves at once if it is due.
    fn judge_depth(&mut self) {
        self.receiver.on_dequeue(self.rx_cells);
        self.urgent.extend(self.receiver.take_pause().map(|quanta| (Header::Pause(quanta), None)));
    }

    fn judge_copy(&mut self, turning: &Turning) -> Judgement {
        self.sender.judge_copy(turning.number)
    }

    /// A frame that was sent before leaves again.
    fn push_again(&mut self, turning: &Turning, frame: FrameId) {
        let signal = Signal::Data { number: turning.number, again: true, blocking: self.ordered, ack: None };
        self.urgent.push_back((Header::Prototype(signal), Some(frame)));
    }

    /// Only frames that keep their order turn at the receiver.
    fn judge(&mut self, now: Time, turning: &Turning) -> Verdict {
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

/// The number of the frame behind a header.
fn number_of(signal: &Signal) -> Option<Number> {
    match signal {
        Signal::Data { number, .. } => Some(*number),
        _ => None,
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
