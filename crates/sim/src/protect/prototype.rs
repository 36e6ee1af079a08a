//! A port of the published prototype: its registers, its queues, and its two buffers in a
//! [`Loopback`](super::loopback::Loopback) or in [memory](super::buffer_location).

use std::collections::VecDeque;

use wiremend_proto::link::Counters;
use wiremend_proto::link::prototype::{
    Config, CopyVerdict, EraSeq, FrameVerdict, PrototypeHeader, Receiver, Sender, TICK, TickOutcome,
};
use wiremend_units::{Span, Time};
use wiremend_wire::Quanta;

use super::buffer_location::BufferLocation;
use super::end_context::{EndContext, Incoming};
use super::link_end::PrototypeStats;
use super::loopback::{BufferedFrame, Side, cells};
use super::missing_frames::MissingFrames;
use super::occupancy::Occupancy;
use crate::frame::{Frame, FrameId, Header};

/// One end of a link that the prototype protects.
pub(crate) struct Prototype {
    sender: Sender,
    receiver: Receiver,
    /// Whether frames stay in order. Without order, the registers do not count given-up frames.
    ordered: bool,
    missing: MissingFrames,
    /// Start of the current pause of the normal queue, and the total time paused before.
    paused_since: Option<Time>,
    paused: Span,
    /// Whether it protects the frames that it sends.
    active: bool,
    pub(super) location: BufferLocation,
    /// The highest of its three queues: retransmissions, notifications, pauses.
    urgent: VecDeque<(Header, Option<FrameId>)>,
    /// Retransmissions on their way to that queue, with arrival times.
    resent: VecDeque<(Time, Header, FrameId)>,
    /// Number of ticks processed.
    ticks: u64,
    tx: BufferState,
    rx: BufferState,
    rx_cells: u32,
}

#[derive(Clone, Copy, Debug)]
struct BufferState {
    occupancy: Occupancy,
    bytes_max: u64,
    /// Number of loops of all frames.
    passes: u64,
    /// Frames rejected because the buffer was full.
    refused: u64,
}

/// Byte limits of a port's two buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferLimits {
    pub(crate) tx_bytes: u64,
    pub(crate) rx_bytes: u64,
}

/// The next frame to send.
pub(crate) enum NextTransmit {
    /// The head of the normal queue, with or without a header.
    Head(Option<Header>),
    /// The head of the normal queue; a copy is kept under its number.
    New(PrototypeHeader, EraSeq),
    Copy(Header, FrameId),
    /// A control frame of the link.
    Control(Header),
}

impl Prototype {
    pub(crate) fn new(config: Config, location: BufferLocation, limits: BufferLimits) -> Self {
        Self {
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            ordered: config.ordered,
            missing: MissingFrames::new(&config),
            paused_since: None,
            paused: Span::ZERO,
            active: false,
            location,
            urgent: VecDeque::new(),
            resent: VecDeque::new(),
            ticks: 0,
            tx: BufferState::new(limits.tx_bytes),
            rx: BufferState::new(limits.rx_bytes),
            rx_cells: 0,
        }
    }

    /// Starts or stops protection. The scenario switches both ends at once; no signal is sent.
    pub(crate) fn set_active(&mut self, active: bool) {
        self.active = active;
    }

    fn next(&mut self, now: Time, has_head: bool) -> Option<NextTransmit> {
        if let Some((header, frame)) = self.urgent.pop_front() {
            return Some(
                frame.map_or(NextTransmit::Control(header), |frame| NextTransmit::Copy(header, frame)),
            );
        }
        if has_head && !self.sender.is_paused(now) {
            let ack = self.receiver.on_egress();
            if !self.active {
                return Some(NextTransmit::Head(
                    ack.map(|ack| Header::Prototype(PrototypeHeader::Piggyback(ack))),
                ));
            }
            let signal = self.sender.on_egress(ack);
            return Some(match number_of(&signal) {
                Some(number) => NextTransmit::New(signal, number),
                None => NextTransmit::Head(Some(Header::Prototype(signal))),
            });
        }
        let dummy = self.sender.on_egress_dummy();
        let ack_frame = || self.receiver.on_idle().map(PrototypeHeader::Ack);
        dummy.or_else(ack_frame).map(|signal| NextTransmit::Control(Header::Prototype(signal)))
    }

    /// Handles a pause frame.
    pub(super) fn on_pause(&mut self, now: Time, quanta: Quanta) {
        self.on_time(now);
        self.record_pause(now, quanta);
        self.sender.on_pause(now, quanta);
    }

    /// Handles a frame with a header, with or without a data frame behind it.
    pub(super) fn on_signal(
        &mut self,
        cx: &mut EndContext<'_>,
        signal: &PrototypeHeader,
        frame: Option<Incoming>,
    ) {
        self.on_time(cx.now);
        self.sender.on_signal(signal);
        let arrival = self.receiver.on_arrival(signal);
        self.missing.on_arrival(cx.now, signal, arrival.notification.as_ref());
        self.urgent.extend(arrival.notification.map(|signal| (Header::Prototype(signal), None)));
        let carries = matches!(signal, PrototypeHeader::Piggyback(_)).then_some(FrameVerdict::Forward);
        let (Some(verdict), Some((id, _))) = (arrival.verdict.or(carries), frame) else { return };
        match (verdict, number_of(signal)) {
            (FrameVerdict::Drop, _) => {
                cx.discard(id);
            }
            (FrameVerdict::Hold, Some(number)) => {
                let len = cx.lanes.frames.get(id).len;
                self.keep(cx, BufferedFrame { port: cx.port, side: Side::Rx, number, frame: id, len });
            }
            // A frame without a number has no order.
            (FrameVerdict::Forward | FrameVerdict::Hold, _) => cx.deliver(id),
        }
    }

    pub(super) fn next_frame(&mut self, cx: &mut EndContext<'_>) -> Option<FrameId> {
        let has_head = cx.egress.peek(cx.now).is_some();
        Some(match self.next(cx.now, has_head)? {
            NextTransmit::Head(header) => {
                let id = cx.take_head()?.frame();
                header.map_or(id, |header| cx.attach(id, header))
            }
            NextTransmit::New(signal, number) => {
                let id = cx.take_head()?.frame();
                self.mirror(cx, id, number);
                cx.attach(id, Header::Prototype(signal))
            }
            NextTransmit::Copy(header, id) => {
                // The frame was a kept copy until now.
                cx.lanes.kept_copies -= 1;
                let frame = cx.lanes.frame_mut(id);
                *frame = frame.as_retransmission();
                cx.state.costs.resent.add(u64::from(frame.len));
                cx.attach(id, header)
            }
            NextTransmit::Control(header) => {
                let id = cx.insert_link_frame(Frame::link_frame());
                cx.attach(id, header)
            }
        })
    }

    /// Buffers a copy of an outgoing frame.
    fn mirror(&mut self, cx: &mut EndContext<'_>, id: FrameId, number: EraSeq) {
        let copy = cx.lanes.keep_copy(id);
        let len = cx.lanes.frames.get(id).len;
        self.keep(cx, BufferedFrame { port: cx.port, side: Side::Tx, number, frame: copy, len });
    }

    /// Buffers a frame, if there is room.
    pub(super) fn keep(&mut self, cx: &mut EndContext<'_>, buffered: BufferedFrame) {
        if self.admit(&buffered) {
            match &mut self.location {
                BufferLocation::Loopback(switch) => cx.enqueue(*switch, buffered),
                BufferLocation::Memory(memory) => memory.insert(buffered),
            }
        } else if buffered.side == Side::Tx {
            cx.lanes.release_copy(buffered.frame);
        } else {
            cx.discard(buffered.frame);
        }
    }

    /// Checks a frame that has looped. Returns whether something must be sent.
    pub(super) fn on_looped(&mut self, cx: &mut EndContext<'_>, buffered: BufferedFrame) -> bool {
        if buffered.side == Side::Rx {
            match self.check_received(cx.now, &buffered) {
                FrameVerdict::Forward => cx.deliver(buffered.frame),
                FrameVerdict::Hold => self.keep(cx, buffered),
                FrameVerdict::Drop => {
                    cx.discard(buffered.frame);
                }
            }
            return false;
        }
        match self.check_copy(&buffered) {
            CopyVerdict::Keep => self.keep(cx, buffered),
            CopyVerdict::Drop => {
                cx.lanes.release_copy(buffered.frame);
            }
            CopyVerdict::Resend { copies } => {
                self.resend(cx, &buffered, copies);
                return true;
            }
        }
        false
    }

    /// Checks the frames in memory after an arrival or a timer.
    pub(super) fn check_memory(&mut self, cx: &mut EndContext<'_>) {
        if matches!(self.location, BufferLocation::Loopback(_)) {
            return;
        }
        while let Some(buffered) = self.location.first(Side::Rx) {
            match self.check_received(cx.now, &buffered) {
                FrameVerdict::Hold => break,
                FrameVerdict::Forward => cx.deliver(buffered.frame),
                FrameVerdict::Drop => {
                    cx.discard(buffered.frame);
                }
            }
            self.remove_first(&buffered);
        }
        while let Some(buffered) = self.location.first(Side::Tx) {
            match self.check_copy(&buffered) {
                CopyVerdict::Keep => break,
                CopyVerdict::Drop => {
                    cx.lanes.release_copy(buffered.frame);
                }
                CopyVerdict::Resend { copies } => self.resend(cx, &buffered, copies),
            }
            self.remove_first(&buffered);
        }
        self.update_pause();
    }

    fn remove_first(&mut self, buffered: &BufferedFrame) {
        self.on_removed(buffered);
        self.location.remove_first(buffered.side);
    }

    /// Queues `copies` of a frame for retransmission.
    fn resend(&mut self, cx: &mut EndContext<'_>, buffered: &BufferedFrame, copies: u8) {
        let at = cx.now + self.location.resend_latency(cx.shared);
        for _ in 1..copies {
            let copy = cx.lanes.keep_copy(buffered.frame);
            self.send_again(at, buffered, copy);
        }
        self.send_again(at, buffered, buffered.frame);
        self.release_retransmissions(cx.now);
    }

    fn record_pause(&mut self, now: Time, quanta: Quanta) {
        if quanta != Quanta::RESUME {
            self.paused_since.get_or_insert(now);
        } else if let Some(since) = self.paused_since.take() {
            self.paused += now - since;
        }
    }

    /// Returns whether there is room for a frame, and counts it.
    fn admit(&mut self, buffered: &BufferedFrame) -> bool {
        if buffered.side == Side::Tx {
            return self.tx.admit(buffered.len);
        }
        let has_room = self.rx.admit(buffered.len);
        self.rx_cells += if has_room { cells(buffered.len) } else { 0 };
        has_room
    }

    /// Handles a frame that leaves the queue of the loopback port. Returns whether the port may have to send
    /// something.
    pub(super) fn on_dequeue(&mut self, now: Time, buffered: &BufferedFrame) -> bool {
        self.on_time(now);
        if buffered.side == Side::Tx {
            self.tx.pass(buffered.len);
            false
        } else {
            // The register still counts the leaving frame.
            self.receiver.on_dequeue(self.rx_cells);
            self.rx.pass(buffered.len);
            self.rx_cells -= cells(buffered.len);
            true
        }
    }

    /// Updates the occupancy after a frame has left memory.
    fn on_removed(&mut self, buffered: &BufferedFrame) {
        if buffered.side == Side::Tx {
            self.tx.occupancy.remove(buffered.len);
        } else {
            self.rx.occupancy.remove(buffered.len);
            self.rx_cells -= cells(buffered.len);
        }
    }

    /// Queues a pause or a resume if the occupancy requires it.
    fn update_pause(&mut self) {
        self.receiver.on_dequeue(self.rx_cells);
        self.urgent.extend(self.receiver.take_pause().map(|quanta| (Header::Pause(quanta), None)));
    }

    fn check_copy(&mut self, buffered: &BufferedFrame) -> CopyVerdict {
        self.sender.judge_copy(buffered.number)
    }

    fn send_again(&mut self, at: Time, buffered: &BufferedFrame, frame: FrameId) {
        let signal = PrototypeHeader::Data {
            number: buffered.number,
            retransmitted: true,
            blocking: self.ordered,
            ack: None,
        };
        self.resent.push_back((at, Header::Prototype(signal), frame));
    }

    /// Queues the retransmissions that have arrived at their queue.
    fn release_retransmissions(&mut self, now: Time) {
        while let Some((_, header, frame)) = self.resent.pop_front_if(|(at, ..)| *at <= now) {
            self.urgent.push_back((header, Some(frame)));
        }
    }

    /// Checks a frame in the receive buffer, which only has frames that stay in order.
    fn check_received(&mut self, now: Time, buffered: &BufferedFrame) -> FrameVerdict {
        self.on_time(now);
        self.receiver.judge(buffered.number, true)
    }

    pub(crate) fn next_due(&self, now: Time) -> Option<Time> {
        let tick = self
            .receiver
            .ticks_to_event()
            .map(|ticks| Time::from_ps((self.ticks + ticks).saturating_mul(TICK.as_ps())));
        let resumed = self.sender.paused_until().filter(|until| *until > now);
        let resent = self.resent.front().map(|(at, ..)| *at);
        [tick, resumed, resent].into_iter().flatten().min()
    }

    /// Processes the ticks up to `now`.
    pub(crate) fn on_time(&mut self, now: Time) {
        self.missing.on_time(now);
        self.release_retransmissions(now);
        let ticks = now.as_ps() / TICK.as_ps();
        while self.ticks < ticks {
            let passed = ticks - self.ticks;
            let step = self.receiver.ticks_to_event().map_or(passed, |event| event.min(passed));
            let TickOutcome { pause, .. } = self.receiver.on_ticks(step);
            self.urgent.extend(pause.map(|quanta| (Header::Pause(quanta), None)));
            self.ticks += step;
        }
    }

    /// Returns the statistics that its registers do not have.
    pub(crate) fn stats(&self) -> PrototypeStats {
        PrototypeStats {
            paused_ns: self.paused.as_ps() / 1_000,
            tx_passes: self.tx.passes,
            rx_passes: self.rx.passes,
            delays: self.missing.delays,
        }
    }

    /// Returns the counters in the terms of the hardened protocol, as far as they apply.
    pub(crate) fn counters(&self) -> Counters {
        let (sent, received) = (self.sender.counters(), self.receiver.counters());
        // Without order, its timer has no effect.
        let (lost, recovered) = if self.ordered {
            (received.timeouts, received.missed.saturating_sub(received.timeouts))
        } else {
            (self.missing.lost, self.missing.recovered)
        };
        Counters {
            protected: sent.protected,
            resent: sent.resent,
            dummies: sent.dummies,
            unbuffered: self.tx.refused,
            refused: sent.unrequested,
            tx_bytes: self.tx.occupancy.bytes,
            tx_bytes_max: self.tx.occupancy.bytes_max,
            missed: received.missed,
            lost,
            recovered,
            duplicates: received.dropped,
            overflowed: self.rx.refused,
            notifications: received.notifications,
            acks: received.acks,
            pauses: received.pauses,
            rx_bytes: self.rx.occupancy.bytes,
            rx_bytes_max: self.rx.occupancy.bytes_max,
            ..Counters::default()
        }
    }
}

/// Returns the number of the frame behind a header.
fn number_of(signal: &PrototypeHeader) -> Option<EraSeq> {
    match signal {
        PrototypeHeader::Data { number, .. } => Some(*number),
        _ => None,
    }
}

impl BufferState {
    fn new(bytes_max: u64) -> Self {
        Self { occupancy: Occupancy::default(), bytes_max, passes: 0, refused: 0 }
    }

    fn admit(&mut self, len: u16) -> bool {
        if self.occupancy.bytes + u64::from(len) > self.bytes_max {
            self.refused += 1;
            return false;
        }
        self.occupancy.add(len);
        self.occupancy.update_max();
        true
    }

    fn pass(&mut self, len: u16) {
        self.occupancy.remove(len);
        self.passes += 1;
    }
}
