//! An end of a link that the published prototype protects: its registers and two recirculation loops.

use std::collections::VecDeque;

use wiremend_proto::link::prototype::{
    CELL_BYTES, Config, CopyVerdict, EraSeq, FrameVerdict, PrototypeHeader, Receiver, Sender, TICK,
    TickOutcome,
};
use wiremend_proto::link::{Counters, Disposal, QueueHead};
use wiremend_units::{Bytes, Rate, Span, Time};
use wiremend_wire::Quanta;

use super::end::{FrameKind, FrameNo, LinkEnd, LinkSignal, LinkTransmit};

/// One end, with three strict queues and both loops. The TX loop is checked one pass after an arrival, the RX
/// loop whenever its result may change. The simulator models the delay of busy loops.
#[derive(Clone, Debug)]
pub struct PrototypeEnd {
    config: PrototypeConfig,
    sender: Sender,
    receiver: Receiver,
    active: bool,
    /// Notifications, pauses and retransmissions.
    urgent: VecDeque<(PrototypeSignal, Option<FrameNo>)>,
    ticks: u64,
    tx_loop: Loop,
    rx_loop: Loop,
    /// When the TX loop is checked next.
    tx_loop_due: Option<Time>,
    overflowed: u64,
    out: VecDeque<Disposal<FrameNo>>,
}

/// Configuration of the prototype and of its buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrototypeConfig {
    /// Published parameters.
    pub registers: Config,
    /// Size of the TX loop.
    pub tx_bytes_max: Bytes,
    /// Size of the RX loop.
    pub rx_bytes_max: Bytes,
}

/// Headers and frames of the prototype.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrototypeSignal {
    /// Link header.
    Link(PrototypeHeader),
    /// PFC frame for the class of the normal queue.
    Pause(Quanta),
}

#[derive(Clone, Default, Debug)]
struct Loop {
    frames: VecDeque<LoopFrame>,
    bytes: u64,
    bytes_max: u64,
}

#[derive(Clone, Copy, Debug)]
struct LoopFrame {
    no: FrameNo,
    signal: PrototypeHeader,
    number: EraSeq,
    len: Bytes,
}

/// Time of a pass through the loop.
const LOOP_DELAY: Span = Span::from_ns(400);

impl LinkSignal for PrototypeSignal {
    fn kind(&self) -> FrameKind {
        match self {
            Self::Link(PrototypeHeader::Data { retransmitted: false, .. }) => FrameKind::Data,
            Self::Link(PrototypeHeader::Data { retransmitted: true, .. }) => FrameKind::Copy,
            Self::Link(PrototypeHeader::Dummy { .. }) => FrameKind::Dummy,
            Self::Link(PrototypeHeader::Ack(_)) => FrameKind::Ack,
            Self::Link(PrototypeHeader::Piggyback(_)) => FrameKind::Plain,
            Self::Link(PrototypeHeader::Notification { .. }) => FrameKind::Notification,
            Self::Pause(_) => FrameKind::Pause,
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
    type Header = PrototypeSignal;

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
            tx_loop_due: None,
            overflowed: 0,
            out: VecDeque::new(),
        }
    }

    fn rate(config: &PrototypeConfig) -> Rate {
        config.registers.rate
    }

    /// Starts to number frames, whatever the state of the other end.
    fn activate(&mut self, _now: Time, _epoch: u32) {
        self.active = true;
    }

    /// Stops numbering frames. Frames in the loops remain.
    fn deactivate(&mut self, _now: Time) {
        self.active = false;
    }

    fn transmit(
        &mut self,
        now: Time,
        head: Option<(FrameNo, QueueHead)>,
    ) -> Option<LinkTransmit<PrototypeSignal>> {
        if let Some((signal, frame)) = self.urgent.pop_front() {
            return Some(
                frame.map_or(LinkTransmit::Control(signal), |no| LinkTransmit::Retransmission(signal, no)),
            );
        }
        if let Some((no, head_frame)) = head.filter(|_| !self.sender.is_paused(now)) {
            return Some(self.send_head(no, head_frame));
        }
        let own =
            self.sender.on_egress_dummy().or_else(|| self.receiver.on_egress().map(PrototypeHeader::Ack));
        own.map(|signal| LinkTransmit::Control(PrototypeSignal::Link(signal)))
    }

    fn on_arrival(&mut self, now: Time, signal: Option<&PrototypeSignal>, frame: Option<(FrameNo, Bytes)>) {
        self.on_ticks(now);
        match signal {
            Some(PrototypeSignal::Pause(quanta)) => self.sender.on_pause(now, *quanta),
            Some(PrototypeSignal::Link(signal)) => self.on_signal(now, signal, frame),
            None => self.out.extend(frame.map(|(no, _)| Disposal::Deliver(no))),
        }
        self.check_rx_loop();
    }

    fn poll(&mut self) -> Option<Disposal<FrameNo>> {
        self.out.pop_front()
    }

    fn next_timeout(&self, now: Time) -> Option<Time> {
        let due = |ticks: u64| Time::from_ps((self.ticks + ticks) * TICK.as_ps());
        let tick = self.receiver.ticks_to_event().map(due);
        let resumed = self.sender.paused_until().filter(|until| *until > now);
        [tick, resumed, self.tx_loop_due].into_iter().flatten().min()
    }

    fn on_timeout(&mut self, now: Time) {
        self.on_ticks(now);
        if self.tx_loop_due.is_some_and(|at| at <= now) {
            self.tx_loop_due = None;
            self.check_tx_loop();
        }
        self.check_rx_loop();
    }

    /// Counters in the terms of this project's protocol. The prototype does not count copies that found no
    /// room.
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
    /// Sends the head of the normal queue. Its copy joins the TX loop if there is room.
    fn send_head(&mut self, no: FrameNo, head_frame: QueueHead) -> LinkTransmit<PrototypeSignal> {
        let ack = self.receiver.on_egress();
        if !self.active {
            return LinkTransmit::Plain(
                ack.map(|ack| PrototypeSignal::Link(PrototypeHeader::Piggyback(ack))),
            );
        }
        self.sender.set_ordered(head_frame.ordered);
        let number = self.sender.next_number();
        let signal = self.sender.on_egress(ack);
        let frame = LoopFrame { no, signal, number, len: head_frame.len };
        if !self.tx_loop.admit(frame, self.config.tx_bytes_max) {
            self.out.push_back(Disposal::Release(no));
        }
        LinkTransmit::New(PrototypeSignal::Link(signal))
    }

    fn on_signal(&mut self, now: Time, signal: &PrototypeHeader, frame: Option<(FrameNo, Bytes)>) {
        self.sender.on_signal(signal);
        self.tx_loop_due.get_or_insert(now + LOOP_DELAY);
        let arrival = self.receiver.on_arrival(signal);
        self.urgent.extend(arrival.notification.map(|signal| (PrototypeSignal::Link(signal), None)));
        let Some((no, len)) = frame else { return };
        match (*signal, arrival.verdict) {
            (PrototypeHeader::Data { number, .. }, Some(verdict)) => {
                self.dispose(LoopFrame { no, signal: *signal, number, len }, verdict);
            }
            _ => self.out.push_back(Disposal::Deliver(no)),
        }
    }

    fn on_ticks(&mut self, now: Time) {
        let ticks = now.as_ps() / TICK.as_ps();
        while self.ticks < ticks {
            let passed = ticks - self.ticks;
            let step = self.receiver.ticks_to_event().map_or(passed, |event| event.min(passed));
            let TickOutcome { given_up, pause } = self.receiver.on_ticks(step);
            self.urgent.extend(pause.map(|quanta| (PrototypeSignal::Pause(quanta), None)));
            self.ticks += step;
            if given_up.is_some() {
                self.check_rx_loop();
            }
        }
    }

    fn check_tx_loop(&mut self) {
        for _ in 0..self.tx_loop.frames.len() {
            let copy = self.tx_loop.pop();
            match self.sender.judge_copy(copy.number) {
                CopyVerdict::Keep => {
                    self.tx_loop.push(copy);
                    continue;
                }
                CopyVerdict::Drop => {}
                CopyVerdict::Resend { copies } => {
                    let again = (PrototypeSignal::Link(copy.signal.sent_again()), Some(copy.no));
                    self.urgent.extend((0..copies).map(|_| again));
                }
            }
            self.out.push_back(Disposal::Release(copy.no));
        }
    }

    /// Passes of the RX loop, until one has no effect.
    fn check_rx_loop(&mut self) {
        loop {
            let before = self.rx_loop.frames.len();
            for _ in 0..before {
                // The depth includes the frame that leaves.
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

    fn dispose(&mut self, frame: LoopFrame, verdict: FrameVerdict) {
        match verdict {
            FrameVerdict::Forward => self.out.push_back(Disposal::Deliver(frame.no)),
            FrameVerdict::Hold if self.rx_loop.admit(frame, self.config.rx_bytes_max) => {}
            FrameVerdict::Hold => {
                self.overflowed += 1;
                self.out.push_back(Disposal::Discard(frame.no));
            }
            FrameVerdict::Drop => self.out.push_back(Disposal::Discard(frame.no)),
        }
    }
}

impl Loop {
    /// Adds a frame if there is room. Returns whether there was.
    fn admit(&mut self, frame: LoopFrame, room: Bytes) -> bool {
        let has_room = self.bytes + frame.len.get() <= room.get();
        if has_room {
            self.push(frame);
        }
        has_room
    }

    fn push(&mut self, frame: LoopFrame) {
        self.bytes += frame.len.get();
        self.bytes_max = self.bytes_max.max(self.bytes);
        self.frames.push_back(frame);
    }

    fn pop(&mut self) -> LoopFrame {
        let frame = self.frames.pop_front().expect("the loop has frames");
        self.bytes -= frame.len.get();
        frame
    }

    fn cells(&self) -> u32 {
        self.frames.iter().map(|frame| frame.len.get().div_ceil(CELL_BYTES) as u32).sum()
    }
}
