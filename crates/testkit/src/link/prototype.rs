//! An end of a link that the published prototype protects: its registers between two loops, as a switch has them.

use std::collections::VecDeque;

use wiremend_proto::link::paper::{
    CELL_BYTES, Config, Judgement, Number, Receiver, Sender, Signal, TICK, Tick, Verdict,
};
use wiremend_proto::link::{Counters, Disposal, Waiting};
use wiremend_units::{Bytes, Rate, Span, Time};
use wiremend_wire::Quanta;

use super::end::{FrameNo, Kind, Leaving, LinkEnd, LinkSignal};

/// One end, with its three strict queues and both buffers.
///
/// The loop of frames that were sent is examined a turn after something was heard of the other end; the loop of frames that came too
/// early whenever that could change anything. What a busy loop adds to that is a matter of the simulator.
#[derive(Clone, Debug)]
pub struct PrototypeEnd {
    config: PrototypeConfig,
    sender: Sender,
    receiver: Receiver,
    active: bool,
    /// Notifications, pauses, and what is sent again.
    urgent: VecDeque<(PrototypeSignal, Option<FrameNo>)>,
    /// Ticks that have passed.
    ticks: u64,
    tx_loop: Loop,
    rx_loop: Loop,
    /// When the TX loop is examined next.
    turned_at: Option<Time>,
    overflowed: u64,
    out: VecDeque<Disposal<FrameNo>>,
}

/// What is installed, and how much room the switch has for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrototypeConfig {
    /// The published numbers.
    pub registers: Config,
    /// Room for copies of what was sent.
    pub tx_bytes_max: Bytes,
    /// Room for what came too early.
    pub rx_bytes_max: Bytes,
}

/// What the prototype puts on a wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrototypeSignal {
    /// A header of its own.
    Link(Signal),
    /// Priority flow control for the class of the normal queue.
    Pause(Quanta),
}

/// Frames that go round.
#[derive(Clone, Default, Debug)]
struct Loop {
    frames: VecDeque<Turning>,
    bytes: u64,
    bytes_max: u64,
}

#[derive(Clone, Copy, Debug)]
struct Turning {
    no: FrameNo,
    signal: Signal,
    number: Number,
    len: Bytes,
}

/// A copy comes round after so long.
const TURN: Span = Span::from_ns(400);

impl LinkSignal for PrototypeSignal {
    fn kind(&self) -> Kind {
        match self {
            Self::Link(Signal::Data { again: false, .. }) => Kind::Data,
            Self::Link(Signal::Data { again: true, .. }) => Kind::Copy,
            Self::Link(Signal::Dummy { .. }) => Kind::Dummy,
            Self::Link(Signal::Ack(_)) => Kind::Ack,
            Self::Link(Signal::Piggyback(_)) => Kind::Plain,
            Self::Link(Signal::Notification { .. }) => Kind::Notification,
            Self::Pause(_) => Kind::Pause,
        }
    }

    fn pauses(&self) -> Option<bool> {
        match self {
            Self::Pause(quanta) => Some(*quanta != Quanta::RESUME),
            Self::Link(_) => None,
        }
    }
}

impl LinkEnd for PrototypeEnd {
    type Config = PrototypeConfig;
    type Signal = PrototypeSignal;

    fn new(config: &PrototypeConfig) -> Self {
        Self {
            config: *config,
            sender: Sender::new(config.registers),
            receiver: Receiver::new(config.registers),
            active: false,
            urgent: VecDeque::new(),
            ticks: 0,
            tx_loop: Loop::default(),
            rx_loop: Loop::default(),
            turned_at: None,
            overflowed: 0,
            out: VecDeque::new(),
        }
    }

    fn rate(config: &PrototypeConfig) -> Rate {
        config.registers.rate
    }

    fn room(config: &PrototypeConfig) -> (Bytes, Bytes) {
        (config.tx_bytes_max, config.rx_bytes_max)
    }

    /// It numbers from now on, whatever the other end knows of it.
    fn activate(&mut self, _now: Time, _epoch: u32) {
        self.active = true;
    }

    /// It numbers no more; what turns goes on turning.
    fn deactivate(&mut self, _now: Time) {
        self.active = false;
    }

    fn transmit(&mut self, now: Time, head: Option<(FrameNo, Waiting)>) -> Option<Leaving<PrototypeSignal>> {
        if let Some((signal, frame)) = self.urgent.pop_front() {
            return Some(frame.map_or(Leaving::Own(signal), |no| Leaving::Again(signal, no)));
        }
        if let Some((no, waiting)) = head.filter(|_| !self.sender.is_paused(now)) {
            return Some(self.leave(no, waiting));
        }
        let own = self.sender.on_egress_dummy().or_else(|| self.receiver.on_egress().map(Signal::Ack));
        own.map(|signal| Leaving::Own(PrototypeSignal::Link(signal)))
    }

    fn on_arrival(&mut self, now: Time, signal: Option<&PrototypeSignal>, frame: Option<(FrameNo, Bytes)>) {
        self.on_ticks(now);
        match signal {
            Some(PrototypeSignal::Pause(quanta)) => self.sender.on_pause(now, *quanta),
            Some(PrototypeSignal::Link(signal)) => self.on_signal(now, signal, frame),
            None => self.out.extend(frame.map(|(no, _)| Disposal::Deliver(no))),
        }
        self.turn_rx();
    }

    fn poll(&mut self) -> Option<Disposal<FrameNo>> {
        self.out.pop_front()
    }

    fn next_timeout(&self, now: Time) -> Option<Time> {
        let due = |ticks: u64| Time::from_ps((self.ticks + ticks) * TICK.as_ps());
        let tick = self.receiver.ticks_to_event().map(due);
        let resumed = self.sender.paused_until().filter(|until| *until > now);
        [tick, resumed, self.turned_at].into_iter().flatten().min()
    }

    fn on_timeout(&mut self, now: Time) {
        self.on_ticks(now);
        if self.turned_at.is_some_and(|at| at <= now) {
            self.turned_at = None;
            self.turn_tx();
        }
        self.turn_rx();
    }

    /// In the terms of the hardened protocol, as far as the prototype has a register for them: it has none for copies that found no room.
    fn counters(&self) -> Counters {
        let (sent, received) = (self.sender.counters(), self.receiver.counters());
        Counters {
            protected: sent.protected,
            resent: sent.resent,
            dummies: sent.dummies,
            refused: sent.unrequested,
            tx_bytes: self.tx_loop.bytes,
            tx_bytes_max: self.tx_loop.bytes_max,
            missed: received.missed,
            recovered: received.missed.saturating_sub(received.timeouts),
            lost: received.timeouts,
            duplicates: received.dropped,
            overflowed: self.overflowed,
            notifications: received.notifications,
            acks: received.acks,
            pauses: received.pauses,
            rx_bytes: self.rx_loop.bytes,
            rx_bytes_max: self.rx_loop.bytes_max,
            ..Counters::default()
        }
    }
}

impl PrototypeEnd {
    /// The head of the normal queue leaves, and its copy joins the TX loop if it finds room.
    fn leave(&mut self, no: FrameNo, waiting: Waiting) -> Leaving<PrototypeSignal> {
        let ack = self.receiver.on_egress();
        if !self.active {
            return Leaving::Plain(ack.map(|ack| PrototypeSignal::Link(Signal::Piggyback(ack))));
        }
        self.sender.set_ordered(waiting.ordered);
        let number = self.sender.next_number();
        let signal = self.sender.on_egress(ack);
        let turning = Turning { no, signal, number, len: waiting.len };
        if !self.tx_loop.admit(turning, self.config.tx_bytes_max) {
            self.out.push_back(Disposal::Release(no));
        }
        Leaving::Fresh(PrototypeSignal::Link(signal))
    }

    fn on_signal(&mut self, now: Time, signal: &Signal, frame: Option<(FrameNo, Bytes)>) {
        self.sender.on_signal(signal);
        self.turned_at.get_or_insert(now + TURN);
        let arrival = self.receiver.on_arrival(signal);
        self.urgent.extend(arrival.notification.map(|signal| (PrototypeSignal::Link(signal), None)));
        let Some((no, len)) = frame else { return };
        match (*signal, arrival.verdict) {
            (Signal::Data { number, .. }, Some(verdict)) => {
                self.dispose(Turning { no, signal: *signal, number, len }, verdict);
            }
            _ => self.out.push_back(Disposal::Deliver(no)),
        }
    }

    fn on_ticks(&mut self, now: Time) {
        let ticks = now.as_ps() / TICK.as_ps();
        while self.ticks < ticks {
            let passed = ticks - self.ticks;
            let step = self.receiver.ticks_to_event().map_or(passed, |event| event.min(passed));
            let Tick { given_up, pause } = self.receiver.on_ticks(step);
            self.urgent.extend(pause.map(|quanta| (PrototypeSignal::Pause(quanta), None)));
            self.ticks += step;
            if given_up.is_some() {
                self.turn_rx();
            }
        }
    }

    fn turn_tx(&mut self) {
        for _ in 0..self.tx_loop.frames.len() {
            let copy = self.tx_loop.pop();
            match self.sender.judge_copy(copy.number) {
                Judgement::Again => {
                    self.tx_loop.push(copy);
                    continue;
                }
                Judgement::Drop => {}
                Judgement::Resend { copies } => {
                    let again = (PrototypeSignal::Link(copy.signal.sent_again()), Some(copy.no));
                    self.urgent.extend((0..copies).map(|_| again));
                }
            }
            self.out.push_back(Disposal::Release(copy.no));
        }
    }

    /// Turns of the RX loop, until one changes nothing.
    fn turn_rx(&mut self) {
        loop {
            let before = self.rx_loop.frames.len();
            for _ in 0..before {
                // What leaves is among what it sees.
                self.receiver.on_dequeue(self.rx_loop.cells());
                let frame = self.rx_loop.pop();
                let verdict = self.receiver.judge(frame.number, true);
                self.dispose(frame, verdict);
            }
            if self.rx_loop.frames.len() == before {
                return;
            }
        }
    }

    fn dispose(&mut self, frame: Turning, verdict: Verdict) {
        match verdict {
            Verdict::Forward => self.out.push_back(Disposal::Deliver(frame.no)),
            Verdict::Hold if self.rx_loop.admit(frame, self.config.rx_bytes_max) => {}
            Verdict::Hold => {
                self.overflowed += 1;
                self.out.push_back(Disposal::Discard(frame.no));
            }
            Verdict::Drop => self.out.push_back(Disposal::Discard(frame.no)),
        }
    }
}

impl Loop {
    /// Whether there is room.
    fn admit(&mut self, frame: Turning, room: Bytes) -> bool {
        let has_room = self.bytes + frame.len.get() <= room.get();
        if has_room {
            self.push(frame);
        }
        has_room
    }

    fn push(&mut self, frame: Turning) {
        self.bytes += frame.len.get();
        self.bytes_max = self.bytes_max.max(self.bytes);
        self.frames.push_back(frame);
    }

    fn pop(&mut self) -> Turning {
        let frame = self.frames.pop_front().expect("as many as there were");
        self.bytes -= frame.len.get();
        frame
    }

    fn cells(&self) -> u32 {
        self.frames.iter().map(|frame| frame.len.get().div_ceil(CELL_BYTES) as u32).sum()
    }
}
