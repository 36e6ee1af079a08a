//! The sending half: turns messages into segments until each of them has arrived.

use wiremend_units::{QpNum, Rate, Span, Time};

use super::cc::{Control, Controller, State, Window};
use super::config::Config;
use super::counters::Counters;
use super::delivery::{BIT_PS_PER_BYTE, bits_per_s};
use super::flight::{Flight, Record};
use super::pace::Pace;
use super::probe::Probe;
use super::rack::Rack;
use super::recovery::Recovery;
use super::rtt::RoundTrips;
use super::segment::{Ack, Data, Segment};
use super::stream::{Piece, Stream};
use super::trouble::Trouble;
use crate::engine::{
    self, Arrival, Completion, Expiry, Purpose, Requester as _, RequesterCounters, Status, Transmit, Work,
};

/// The sending half of a connection. What acknowledgements do to it is told in `acknowledged.rs`, and what happens when none comes in `timer.rs`.
#[derive(Clone, Debug)]
pub struct Sender {
    pub(super) stream: Stream,
    pub(super) flight: Flight,
    pub(super) rtt: RoundTrips,
    pub(super) rack: Rack,
    pub(super) recovery: Recovery,
    pub(super) probe: Probe,
    pub(super) window: Window,
    pub(super) control: Control,
    pace: Pace,
    peer: QpNum,
    /// The first byte that is not acknowledged, and the next one to be sent.
    pub(super) una: u64,
    pub(super) nxt: u64,
    /// Segments sent for the first time.
    segments: u64,
    pub(super) opening: Opening,
    /// When the retransmission timer expires.
    pub(super) rto_at: Time,
    /// Expiries since the last progress.
    pub(super) backoff: u8,
    /// When a segment in doubt is lost.
    pub(super) doubt_until: Time,
    /// When pacing lets the next burst go, if that is what is waited for.
    pub(super) pace_at: Time,
    last_sent: Time,
    /// The window was reduced for what was sent before this byte.
    pub(super) reduced_until: u64,
    /// The next segment says that an echo was answered.
    pub(super) answered: bool,
    pub(super) usage: Usage,
    pub(super) failed: Option<Status>,
    pub(super) counters: RequesterCounters,
    pub(super) seen: Counters,
    /// What the message had met that ended last.
    trouble: Trouble,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Opening {
    /// The peer has answered, or nobody asks.
    Done,
    Wanted,
    Asked {
        at: Time,
        again: bool,
    },
}

/// Whether the window is used, in this round trip and the one before: an unused one must not grow (RFC 7661 §4.3).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    peak: [u64; 2],
    full: [bool; 2],
    round_end: u64,
}

impl Usage {
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

    /// Slow start may double what was under way; after it the window must have been full.
    #[inline]
    pub(super) fn is_limited(&self, window: &Window) -> bool {
        let full = self.full[0] || self.full[1];
        full || window.in_slow_start() && window.bytes < 2 * self.peak[0].max(self.peak[1])
    }
}

impl Sender {
    /// A sender whose peer's end has this number. `random` is for what algorithms leave to chance.
    pub fn new(config: &Config, peer: QpNum, random: u64) -> Self {
        let control = config.congestion.start(config, random);
        let mut rtt = RoundTrips::default();
        if let Some(first) = config.first_rtt.filter(|_| !config.handshake) {
            rtt.on_sample(first);
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
            pace: Pace::new(),
            peer,
            una: 0,
            nxt: 0,
            segments: 0,
            opening: if config.handshake { Opening::Wanted } else { Opening::Done },
            rto_at: Time::MAX,
            backoff: 0,
            doubt_until: Time::MAX,
            pace_at: Time::MAX,
            last_sent: Time::ZERO,
            reduced_until: 0,
            answered: false,
            usage: Usage::default(),
            failed: None,
            counters: RequesterCounters::default(),
            seen: Counters::default(),
            trouble: Trouble::default(),
        };
        sender.set_pace(config);
        sender
    }
}

impl engine::Requester for Sender {
    type Config = Config;
    type Packet = Segment;

    #[inline(never)]
    fn post(&mut self, config: &Config, now: Time, work: Work) {
        self.wake(config, now);
        self.stream.push(work.id, work.len, &self.seen);
        self.note_pace(config, now);
    }

    #[inline(never)]
    fn ready(&self, config: &Config, now: Time) -> bool {
        if self.failed.is_some() {
            return false;
        }
        match self.opening {
            Opening::Done => {}
            Opening::Wanted => return self.nxt < self.stream.end,
            Opening::Asked { .. } => return false,
        }
        self.probe.due || self.pace.eligible() <= now && self.may_send(config)
    }

    #[inline]
    fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Transmit<Segment>> {
        self.next_data(config, now).map(|transmit| transmit.map(Segment::Data))
    }

    #[inline]
    fn on_packet(&mut self, config: &Config, now: Time, segment: &Segment) -> Option<Arrival> {
        if let Segment::Ack(said) = segment {
            self.on_answer(config, now, said);
        } else {
            self.counters.ignored += 1;
        }
        None
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        self.next_due()
    }

    #[inline]
    fn on_timeout(&mut self, config: &Config, now: Time) -> Option<Expiry> {
        self.on_time(config, now)
    }

    #[inline]
    fn poll_completion(&mut self) -> Option<Completion> {
        if let Some((id, trouble)) = self.stream.pop_done() {
            self.trouble = trouble;
            return Some(Completion { id, status: Status::Success });
        }
        let status = self.failed?;
        let (id, trouble) = self.stream.pop_failed(&self.seen)?;
        self.trouble = trouble;
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

    /// Messages so far.
    #[inline]
    fn messages(&self) -> u64 {
        self.stream.posted
    }

    /// Segments sent so far, each counted once.
    #[inline]
    fn next_number(&self) -> u64 {
        self.segments
    }

    /// Bytes acknowledged.
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
    /// Takes a segment of another stream, for which there is room.
    pub(super) fn take(&mut self, config: &Config, now: Time, id: u64, piece: Piece) {
        self.wake(config, now);
        self.stream.push_piece(id, piece, &self.seen);
    }

    fn wake(&mut self, config: &Config, now: Time) {
        // A window that was not used for a while tells nothing of the path (RFC 5681 §4.1).
        let idle = self.flight.is_empty() && self.segments > 0;
        if idle && now.since(self.last_sent) > self.rto(config) && !self.control.owns_window() {
            self.window.bytes = self.window.bytes.min(Window::new(config).bytes);
        }
    }

    /// When a segment of this length would leave, if it were taken: as soon as pacing allows. `None`: not before something is acknowledged.
    #[inline]
    pub(super) fn room_at(&self, config: &Config, len: u16) -> Option<Time> {
        let (pipe, len) = (self.pipe(), len as u64);
        let room = self.failed.is_none()
            && self.opening == Opening::Done
            && !self.flight.has_lost()
            && self.nxt == self.stream.end
            && self.nxt + len <= self.una + config.receive_window as u64
            && (pipe == 0 || pipe + len <= self.window.bytes);
        room.then(|| self.pace.eligible())
    }

    /// Bytes that are believed to be in the network.
    #[inline]
    pub(super) fn pipe(&self) -> u64 {
        self.flight.pipe.saturating_sub(self.recovery.doubled_bytes)
    }

    /// Something is to be sent, and the windows allow it.
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

    pub(super) fn open(&mut self, config: &Config, now: Time) -> Transmit<Data> {
        let again = self.counters.packets > 0;
        self.opening = Opening::Asked { at: now, again };
        self.counters.packets += 1;
        self.segments += 1;
        self.start_timer(config, now);
        let packet = Data { dest_qp: self.peer, syn: true, ..Data::default() };
        let (purpose, copy) = if again { (Purpose::Again, self.backoff) } else { (Purpose::New, 0) };
        Transmit { packet, work: 0, offset: 0, copy, purpose, path: 0 }
    }

    /// The next segment, if one may be sent now: what is lost first.
    #[inline(never)]
    pub(super) fn next_data(&mut self, config: &Config, now: Time) -> Option<Transmit<Data>> {
        if !self.ready(config, now) {
            self.note_pace(config, now);
            return None;
        }
        if self.opening != Opening::Done {
            return Some(self.open(config, now));
        }
        if self.probe.due {
            return self.send_probe(config, now);
        }
        let transmit = match self.flight.send_lost(now) {
            Some(record) => self.send_again(config, now, &record),
            None => self.send_new(config, now)?,
        };
        self.pace.on_transmit(now, transmit.packet.len);
        if self.nxt == self.stream.end
            && !self.stream.more
            && !self.flight.has_lost()
            && self.pipe() < self.window.bytes
        {
            self.flight.delivery.on_starved(self.pipe());
        }
        self.note_pace(config, now);
        Some(transmit)
    }

    /// An answer of the peer came.
    #[inline(never)]
    pub(super) fn on_answer(&mut self, config: &Config, now: Time, said: &Ack) {
        match self.opening {
            Opening::Done if self.failed.is_none() => self.on_ack(config, now, said),
            Opening::Asked { at, again } if said.head.syn() => {
                self.opening = Opening::Done;
                self.rto_at = Time::MAX;
                self.backoff = 0;
                if !again {
                    self.rtt.on_sample(now.since(at));
                }
                self.set_pace(config);
            }
            _ => self.counters.ignored += 1,
        }
        self.note_pace(config, now);
    }

    fn send_new(&mut self, config: &Config, now: Time) -> Option<Transmit<Data>> {
        let piece = self.next_new(config)?;
        let seq = self.nxt;
        self.nxt += piece.len as u64;
        self.stream.on_sent(self.nxt);
        self.flight.send(now, seq, piece);
        self.usage.on_send(self.pipe(), &self.window);
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

    fn send_again(&mut self, config: &Config, now: Time, record: &Record) -> Transmit<Data> {
        self.recovery.on_send(record.len);
        self.recovery.on_resend(record.seq);
        self.counters.packets += 1;
        self.counters.retransmitted_packets += 1;
        self.counters.retransmitted_bytes += record.len as u64;
        if self.rto_at == Time::MAX || record.seq == self.una {
            self.start_timer(config, now);
        }
        let piece = Piece { len: record.len, push: record.push, empty: record.empty };
        self.transmit(record.seq, piece, record.copies, Purpose::Again)
    }

    /// New data if there are any, else the newest segment again (RFC 8985 §7.3). The window does not matter.
    fn send_probe(&mut self, config: &Config, now: Time) -> Option<Transmit<Data>> {
        let new = self.send_new(config, now);
        let again = new.is_none();
        let last = if again { self.flight.send_last(now) } else { None };
        let transmit = new.or_else(|| last.map(|record| self.send_again(config, now, &record)));
        self.probe.cancel();
        self.start_timer(config, now);
        let transmit = transmit?;
        self.seen.probes += 1;
        self.probe.on_send(self.nxt, again);
        Some(transmit)
    }

    #[inline]
    fn transmit(&mut self, seq: u64, piece: Piece, copy: u8, purpose: Purpose) -> Transmit<Data> {
        let cwr = std::mem::take(&mut self.answered);
        let Piece { len, push, empty } = piece;
        let packet = Data { dest_qp: self.peer, seq: seq as u32, len, push, empty, cwr, ..Data::default() };
        Transmit { packet, work: self.stream.owner(seq), offset: seq as u32, copy, purpose, path: 0 }
    }

    /// Algorithms that do not pace may be paced by the window over the round trip, with room to grow (as in Linux).
    pub(super) fn set_pace(&mut self, config: &Config) {
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

    /// Notes whether pacing is all that is waited for.
    pub(super) fn note_pace(&mut self, config: &Config, now: Time) {
        let next = self.pace.eligible();
        self.pace_at = if next > now && self.opening == Opening::Done && self.may_send(config) {
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
    /// The congestion window and its threshold.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Its congestion control.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// How losses are being dealt with.
    pub fn state(&self) -> State {
        self.recovery.state
    }

    /// The smoothed round trip.
    pub fn srtt(&self) -> Option<Span> {
        self.rtt.smoothed()
    }

    /// The same, as only TCP counts.
    pub fn seen(&self) -> &Counters {
        &self.seen
    }

    /// What the message had met that [`Self::poll_completion`] gave last.
    pub fn trouble(&self) -> &Trouble {
        &self.trouble
    }

    /// What a message that has not ended has met so far.
    pub fn trouble_of(&self, id: u64) -> Option<Trouble> {
        self.stream.trouble_of(id, &self.seen)
    }
}
