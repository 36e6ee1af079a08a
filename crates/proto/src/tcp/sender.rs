//! The sender: splits messages into segments and sends them until the receiver has acknowledged them.

use wiremend_units::{QpNum, Rate, Span, Time};

use super::cc::{Control, Controller, RecoveryState, Window};
use super::config::Config;
use super::counters::Counters;
use super::delivery::{BIT_PS_PER_BYTE, bits_per_s};
use super::flight::{Flight, Record};
use super::message_recovery::MessageRecovery;
use super::pacer::Pacer;
use super::probe::Probe;
use super::rack::Rack;
use super::recovery::Recovery;
use super::rtt::RttEstimator;
use super::segment::{Ack, Data, Segment};
use super::stream::{Piece, Stream};
use crate::engine::{
    self, Completion, Expiry, Purpose, ReadPlacement, Requester as _, RequesterCounters, Status, Transmit,
    Work,
};

/// Sending end of a connection. `ack_processing.rs` handles ACKs, `timer.rs` handles timers.
#[derive(Clone, Debug)]
pub struct Sender {
    pub(super) stream: Stream,
    pub(super) flight: Flight,
    pub(super) rtt: RttEstimator,
    pub(super) rack: Rack,
    pub(super) recovery: Recovery,
    pub(super) probe: Probe,
    pub(super) window: Window,
    pub(super) control: Control,
    pace: Pacer,
    peer: QpNum,
    /// First unacknowledged byte and next byte to send (SND.UNA, SND.NXT).
    pub(super) una: u64,
    pub(super) nxt: u64,
    segments: u64,
    pub(super) handshake_state: Handshake,
    pub(super) rto_at: Time,
    pub(super) backoff: u8,
    /// Expiry of RACK's reordering timer.
    pub(super) reorder_timer_at: Time,
    /// Expiry of the pacing timer; set only if nothing but pacing delays the next segment.
    pub(super) pace_at: Time,
    last_sent: Time,
    /// The window was already reduced for all bytes before this one.
    pub(super) reduced_until: u64,
    pub(super) cwr_pending: bool,
    pub(super) window_usage: WindowUsage,
    pub(super) failed: Option<Status>,
    pub(super) counters: RequesterCounters,
    pub(super) tcp_counters: Counters,
    /// Loss recovery of the message that completed last.
    last_recovery: MessageRecovery,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Handshake {
    /// The SYN is acknowledged, or the connection needs none.
    Done,
    Pending,
    SynSent {
        at: Time,
        retransmitted: bool,
    },
}

/// Use of the window in this and the previous round trip: an unused window must not grow (RFC 7661 §4.3).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowUsage {
    peak: [u64; 2],
    full: [bool; 2],
    round_end: u64,
}

impl WindowUsage {
    #[inline]
    fn on_send(&mut self, pipe: u64, window: &Window) {
        self.peak[0] = self.peak[0].max(pipe);
        self.full[0] |= pipe + window.mss > window.bytes;
    }

    #[inline]
    pub(super) fn on_ack(&mut self, una: u64, nxt: u64) {
        if una > self.round_end {
            self.round_end = nxt;
            (self.peak, self.full) = ([0, self.peak[0]], [false, self.full[0]]);
        }
    }

    /// Whether the window may grow. In slow start it may reach twice the peak in flight; otherwise it must
    /// have been full.
    #[inline]
    pub(super) fn is_cwnd_limited(&self, window: &Window) -> bool {
        let full = self.full[0] || self.full[1];
        full || window.in_slow_start() && window.bytes < 2 * self.peak[0].max(self.peak[1])
    }
}

impl Sender {
    /// A sender to the connection `peer`. `random` seeds random choices of the algorithm.
    pub fn new(config: &Config, peer: QpNum, random: u64) -> Self {
        let control = config.congestion.new_controller(config, random);
        let mut rtt = RttEstimator::default();
        if let Some(first) = config.first_rtt.filter(|_| !config.handshake) {
            rtt.on_sample(config, first, 0, 0);
        }
        let mut sender = Self {
            stream: Stream::default(),
            flight: Flight::default(),
            rtt,
            rack: Rack::new(),
            recovery: Recovery::default(),
            probe: Probe::new(),
            window: Window::new(config),
            control,
            pace: Pacer::new(),
            peer,
            una: 0,
            nxt: 0,
            segments: 0,
            handshake_state: if config.handshake { Handshake::Pending } else { Handshake::Done },
            rto_at: Time::MAX,
            backoff: 0,
            reorder_timer_at: Time::MAX,
            pace_at: Time::MAX,
            last_sent: Time::ZERO,
            reduced_until: 0,
            cwr_pending: false,
            window_usage: WindowUsage::default(),
            failed: None,
            counters: RequesterCounters::default(),
            tcp_counters: Counters::default(),
            last_recovery: MessageRecovery::default(),
        };
        sender.set_pacing_rate(config);
        sender
    }
}

impl engine::Requester for Sender {
    type Config = Config;
    type Packet = Segment;

    #[inline(never)]
    fn post(&mut self, config: &Config, now: Time, work: Work) {
        self.restart_after_idle(config, now);
        self.stream.push(work.id, work.len, &self.tcp_counters);
        self.update_pacing_timer(config, now);
    }

    #[inline(never)]
    fn ready(&self, config: &Config, now: Time) -> bool {
        if self.failed.is_some() {
            return false;
        }
        match self.handshake_state {
            Handshake::Done => {}
            Handshake::Pending => return self.nxt < self.stream.end,
            Handshake::SynSent { .. } => return false,
        }
        self.probe.due || self.pace.next_send_at() <= now && self.may_send(config)
    }

    #[inline]
    fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Transmit<Segment>> {
        self.next_data(config, now).map(|transmit| transmit.map(Segment::Data))
    }

    #[inline]
    fn on_packet(&mut self, config: &Config, now: Time, segment: &Segment) -> Option<ReadPlacement> {
        if let Segment::Ack(ack) = segment {
            self.on_segment(config, now, ack);
        } else {
            self.counters.ignored += 1;
        }
        None
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        self.next_timer()
    }

    #[inline]
    fn on_timeout(&mut self, config: &Config, now: Time) -> Option<Expiry> {
        self.on_timer(config, now)
    }

    #[inline]
    fn poll_completion(&mut self) -> Option<Completion> {
        if let Some((id, last_recovery)) = self.stream.pop_done() {
            self.last_recovery = last_recovery;
            return Some(Completion { id, status: Status::Success });
        }
        let status = self.failed?;
        let (id, last_recovery) = self.stream.pop_failed(&self.tcp_counters)?;
        self.last_recovery = last_recovery;
        self.failed = Some(Status::Flushed);
        Some(Completion { id, status })
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.una == self.stream.end || self.is_error()
    }

    #[inline]
    fn is_error(&self) -> bool {
        self.failed.is_some()
    }

    #[inline]
    fn messages(&self) -> u64 {
        self.stream.posted
    }

    #[inline]
    fn next_number(&self) -> u64 {
        self.segments
    }

    #[inline]
    fn acknowledged(&self) -> u64 {
        self.una
    }

    #[inline]
    fn counters(&self) -> RequesterCounters {
        self.counters
    }
}

impl Sender {
    /// Queues a segment of an MPTCP stream. The caller has checked [`Self::send_time`].
    pub(super) fn take_piece(&mut self, config: &Config, now: Time, id: u64, piece: Piece) {
        self.restart_after_idle(config, now);
        self.stream.push_piece(id, piece, &self.tcp_counters);
    }

    fn restart_after_idle(&mut self, config: &Config, now: Time) {
        // After an idle time the old window is no measure of the path (RFC 5681 §4.1).
        let idle = self.flight.is_empty() && self.segments > 0;
        if idle && now.since(self.last_sent) > self.rto(config) && !self.control.owns_window() {
            self.window.bytes = self.window.bytes.min(Window::new(config).bytes);
        }
    }

    /// When pacing would let a segment of this length leave; `None` if windows do not allow it.
    #[inline]
    pub(super) fn send_time(&self, config: &Config, len: u16) -> Option<Time> {
        let (pipe, len) = (self.pipe(), len as u64);
        let room = self.failed.is_none()
            && self.handshake_state == Handshake::Done
            && !self.flight.has_lost()
            && self.nxt == self.stream.end
            && self.nxt + len <= self.una + config.receive_window as u64
            && (pipe == 0 || pipe + len <= self.window.bytes);
        room.then(|| self.pace.next_send_at())
    }

    /// Estimate of bytes in the network (RFC 6675's pipe).
    #[inline]
    pub(super) fn pipe(&self) -> u64 {
        self.flight.pipe.saturating_sub(self.recovery.dup_acked_bytes)
    }

    /// Whether a lost or new segment exists and fits the windows.
    #[inline]
    fn may_send(&self, config: &Config) -> bool {
        let len = match self.flight.next_lost() {
            Some(len) => len as u64,
            None => match self.next_new(config) {
                Some(piece) => piece.len as u64,
                None => return false,
            },
        };
        let pipe = self.pipe();
        pipe == 0 || pipe + len <= self.window.bytes
    }

    #[inline]
    fn next_new(&self, config: &Config) -> Option<Piece> {
        let piece = self.stream.next(self.nxt, config.mss)?;
        (self.nxt + piece.len as u64 <= self.una + config.receive_window as u64).then_some(piece)
    }

    pub(super) fn send_syn(&mut self, config: &Config, now: Time) -> Transmit<Data> {
        let retransmitted = self.counters.packets > 0;
        self.handshake_state = Handshake::SynSent { at: now, retransmitted };
        self.counters.packets += 1;
        self.segments += 1;
        self.start_timer(config, now);
        let packet = Data { dest_qp: self.peer, syn: true, ..Data::default() };
        let (purpose, copy) =
            if retransmitted { (Purpose::Retransmission, self.backoff) } else { (Purpose::New, 0) };
        Transmit { packet, work: 0, offset: 0, copy, purpose, path: 0 }
    }

    /// Returns the next segment, if one may leave now: a SYN, a probe, a retransmission or new data.
    #[inline(never)]
    pub(super) fn next_data(&mut self, config: &Config, now: Time) -> Option<Transmit<Data>> {
        if !self.ready(config, now) {
            self.update_pacing_timer(config, now);
            return None;
        }
        if self.handshake_state != Handshake::Done {
            return Some(self.send_syn(config, now));
        }
        if self.probe.due {
            return self.send_probe(config, now);
        }
        let transmit = match self.flight.retransmit_lost(now) {
            Some(record) => self.retransmit(config, now, &record),
            None => self.send_new(config, now)?,
        };
        self.pace.on_transmit(now, transmit.packet.len);
        if self.nxt == self.stream.end
            && !self.stream.has_more
            && !self.flight.has_lost()
            && self.pipe() < self.window.bytes
        {
            self.flight.delivery.on_app_limited(self.pipe());
        }
        self.update_pacing_timer(config, now);
        Some(transmit)
    }

    #[inline(never)]
    pub(super) fn on_segment(&mut self, config: &Config, now: Time, ack: &Ack) {
        match self.handshake_state {
            Handshake::Done if self.failed.is_none() => self.on_ack(config, now, ack),
            Handshake::SynSent { at, retransmitted } if ack.head.syn() => {
                self.handshake_state = Handshake::Done;
                self.rto_at = Time::MAX;
                self.backoff = 0;
                if !retransmitted {
                    self.rtt.on_sample(config, now.since(at), self.una, self.nxt);
                }
                self.set_pacing_rate(config);
            }
            _ => self.counters.ignored += 1,
        }
        self.update_pacing_timer(config, now);
    }

    fn send_new(&mut self, config: &Config, now: Time) -> Option<Transmit<Data>> {
        let piece = self.next_new(config)?;
        let seq = self.nxt;
        self.nxt += piece.len as u64;
        self.stream.on_sent(self.nxt);
        self.flight.send(now, seq, piece);
        self.window_usage.on_send(self.pipe(), &self.window);
        self.recovery.on_send(piece.len);
        self.segments += 1;
        self.last_sent = now;
        self.counters.packets += 1;
        if self.rto_at == Time::MAX {
            self.start_timer(config, now);
        }
        self.arm_probe(config, now);
        Some(self.transmit(seq, piece, 0, Purpose::New))
    }

    fn retransmit(&mut self, config: &Config, now: Time, record: &Record) -> Transmit<Data> {
        self.recovery.on_send(record.len);
        self.recovery.on_retransmit(record.seq);
        self.counters.packets += 1;
        self.counters.retransmitted_packets += 1;
        self.counters.retransmitted_bytes += record.len as u64;
        if self.rto_at == Time::MAX || record.seq == self.una {
            self.start_timer(config, now);
        }
        let piece = Piece { len: record.len, push: record.push, empty: record.empty };
        self.transmit(record.seq, piece, record.copies, Purpose::Retransmission)
    }

    /// Sends new data if any, otherwise the newest segment again (RFC 8985 §7.3). The window does not apply.
    fn send_probe(&mut self, config: &Config, now: Time) -> Option<Transmit<Data>> {
        let new = self.send_new(config, now);
        let retransmitted = new.is_none();
        let last = if retransmitted { self.flight.retransmit_last(now) } else { None };
        let transmit = new.or_else(|| last.map(|record| self.retransmit(config, now, &record)));
        self.probe.cancel();
        self.start_timer(config, now);
        let transmit = transmit?;
        self.tcp_counters.probes += 1;
        self.probe.on_send(self.nxt, retransmitted);
        Some(transmit)
    }

    #[inline]
    fn transmit(&mut self, seq: u64, piece: Piece, copy: u8, purpose: Purpose) -> Transmit<Data> {
        let cwr = std::mem::take(&mut self.cwr_pending);
        let Piece { len, push, empty } = piece;
        let packet = Data { dest_qp: self.peer, seq: seq as u32, len, push, empty, cwr, ..Data::default() };
        Transmit { packet, work: self.stream.message_at(seq), offset: seq as u32, copy, purpose, path: 0 }
    }

    /// Sets the controller's rate, or 200 % (slow start) or 120 % of the window per round trip, as in Linux.
    pub(super) fn set_pacing_rate(&mut self, config: &Config) {
        let rate = match (self.control.rate(), self.rtt.smoothed()) {
            (Some(rate), _) => Some(rate),
            (None, Some(srtt)) if config.pacing => {
                let percent = if self.window.in_slow_start() { 200 } else { 120 };
                let bit_ps = self.window.bytes as u128 * BIT_PS_PER_BYTE * percent / 100;
                Some(Rate::from_bits_per_s(bits_per_s(bit_ps, srtt).max(1)))
            }
            _ => None,
        };
        self.pace.set_rate(rate, config.mss, config.burst_max);
    }

    /// Sets the pacing timer if nothing but pacing delays the next segment.
    pub(super) fn update_pacing_timer(&mut self, config: &Config, now: Time) {
        let next = self.pace.next_send_at();
        self.pace_at = if next > now && self.handshake_state == Handshake::Done && self.may_send(config) {
            next
        } else {
            Time::MAX
        };
    }

    pub(super) fn fail(&mut self, status: Status) {
        self.failed = Some(status);
        self.rto_at = Time::MAX;
    }
}

impl Sender {
    /// Congestion window and slow start threshold.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Congestion controller.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Recovery state.
    pub fn state(&self) -> RecoveryState {
        self.recovery.state
    }

    /// Smoothed round trip.
    pub fn srtt(&self) -> Option<Span> {
        self.rtt.smoothed()
    }

    /// Counters that only TCP has.
    pub fn tcp_counters(&self) -> &Counters {
        &self.tcp_counters
    }

    /// Loss recovery of the message that [`Self::poll_completion`] returned last.
    pub fn completed_recovery(&self) -> &MessageRecovery {
        &self.last_recovery
    }

    /// Loss recovery so far of a message that has not completed.
    pub fn message_recovery(&self, id: u64) -> Option<MessageRecovery> {
        self.stream.message_recovery(id, &self.tcp_counters)
    }
}
