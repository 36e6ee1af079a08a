//! An end of a protected link: schedules the wire and dispatches arrivals.

mod hellos;
mod transmission;

use std::hash::{Hash, Hasher};
use std::mem::offset_of;
use std::ops::Range;

use wiremend_units::{Bytes, Span, Time};

use super::fingerprint::Fingerprint;
use super::handshake::{Handshake, SendMode, TimeoutOutcome, WAIT_UNKNOWN};
use super::outbox::Outbox;
use super::receiver::Receiver;
use super::sender::Sender;
use super::{
    Ack, Config, ConfigError, ControlHeader, CopyCount, Counters, DataHeader, Disposal, Hello, HelloKind,
    LinkHeader, LossRate, ProtectionLevel, RecoveryDelays,
};

/// An end of a protected link; see the [module](super). `BITS` is the width of sequence numbers; tests use
/// few bits to cover every wrap.
///
/// Fields that each frame needs come first, here and in the parts, so that they lie in few cache lines.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Endpoint<F, const BITS: u32 = 20> {
    /// Pending reply. A newer one replaces it: the other end repeats its questions.
    reply: Option<Hello>,
    /// Start and end of protection for leaving frames.
    handshake: Handshake,
    sender: Sender<F, BITS>,
    receiver: Receiver<F, BITS>,
    out: Outbox<F>,
    level: ProtectionLevel,
    /// Reply to a close, which waits for [`Endpoint::confirm_closed`].
    closed: Option<Hello>,
    /// Whether the host calls [`Endpoint::confirm_closed`].
    host_confirms_close: bool,
    /// Whether this end stops: it refuses new starts of the other end.
    leaving: bool,
    /// Earliest time of the next reply to an unknown epoch.
    unknown_reply_at: Time,
    config: Config,
}

/// Minimum interval between replies to an unknown epoch, so that a stream of frames causes few replies.
const UNKNOWN_GAP: Span = Span::from_us(100);

impl<F: Copy, const BITS: u32> Endpoint<F, BITS> {
    /// What nearly every frame needs: ranges of bytes of this value, for hosts that prefetch.
    pub const HOT_BYTES: [Range<usize>; 3] = [
        0..offset_of!(Self, sender) + Sender::<F, BITS>::HOT_BYTES,
        offset_of!(Self, receiver)..offset_of!(Self, receiver) + Receiver::<F, BITS>::HOT_BYTES,
        offset_of!(Self, out)..offset_of!(Self, out) + Outbox::<F>::HOT_BYTES,
    ];

    /// No timer is shorter than this or a round trip, whichever is shorter, unless the configuration says so.
    pub const TIMEOUT_MIN: Span = WAIT_UNKNOWN;

    /// A dormant end.
    pub fn new(config: Config) -> Self {
        const { assert!(BITS >= 3 && BITS <= 24, "numbers have 3 to 24 bits") };
        Self {
            handshake: Handshake::new(&config),
            sender: Sender::new(&config),
            level: ProtectionLevel::default(),
            receiver: Receiver::new(&config),
            reply: None,
            closed: None,
            host_confirms_close: false,
            leaving: false,
            unknown_reply_at: Time::ZERO,
            out: Outbox::new(),
            config,
        }
    }

    /// Protects frames that leave from now on, as soon as the other end is ready. `epoch` must differ from
    /// all earlier starts, also those of previous processes: use a clock or a random number.
    pub fn activate(&mut self, now: Time, epoch: u32) {
        let _ = now;
        self.handshake.activate(epoch);
    }

    /// Ends the protection of leaving frames without loss or reordering: normal frames wait until all is
    /// acknowledged.
    pub fn deactivate(&mut self, now: Time) {
        self.end(now, false);
    }

    /// Asks the other end to end the protection of arriving frames, and refuses new starts. The request may
    /// get lost, so the host repeats the call until [`Endpoint::is_receiving`] is false.
    pub fn leave(&mut self) {
        self.leaving = true;
        if let Some(epoch) = self.receiver.epoch() {
            self.reply = Some(Hello { kind: HelloKind::Leave, epoch, stamp_ns: 0, rtt_ns: 0 });
        }
    }

    /// Announces that the host forwards frames of unprotected directions without this end, and that it calls
    /// [`Endpoint::confirm_closed`]. Normal frames then wait until the other end has confirmed a close.
    pub fn set_host_confirms_close(&mut self) {
        self.host_confirms_close = true;
        self.handshake.wait_for_closed();
    }

    /// Confirms that arriving frames without header bypass this end. Then the reply to a close leaves, after
    /// which the other end sends such frames. Returns whether a reply waited.
    pub fn confirm_closed(&mut self) -> bool {
        let closed = self.closed.take();
        let waited = closed.is_some();
        self.reply = closed.or(self.reply);
        waited
    }

    /// Ends the protection of arriving frames, because the host has heard nothing from the other end.
    pub fn end_receiving(&mut self, now: Time) {
        if self.receiver.epoch().is_some() {
            self.receiver.stop(now, &mut self.out);
        }
    }

    /// Sends a probe if leaving frames are protected and nothing is awaited from the other end, so that both
    /// ends know that the other one lives.
    pub fn probe(&mut self, now: Time) {
        if self.is_active() {
            self.sender.probe_idle(now);
        }
    }

    /// Sets the target loss rate and the rule for copies.
    pub fn set_target(&mut self, target: LossRate, copies: CopyCount) -> Result<(), ConfigError> {
        let config = Config { target, copies, ..self.config.clone() };
        config.check()?;
        self.sender.set_target(target, copies);
        self.config = config;
        Ok(())
    }

    /// Reports traffic that bypasses this end. If protection is wanted and the other end did not answer, a
    /// new attempt starts. For hosts that forward frames of a dormant link elsewhere.
    pub fn on_traffic(&mut self, now: Time) {
        self.handshake.on_traffic(now);
    }

    /// Whether the other end has received or given up all numbered frames.
    pub fn is_settled(&self) -> bool {
        self.sender.is_drained()
    }

    /// Whether a reply, notification, probe or copy must leave before normal frames. For hosts that do one
    /// thing at a time.
    #[inline]
    pub fn is_urgent(&self) -> bool {
        self.reply.is_some()
            | self.handshake.is_due()
            | self.receiver.is_urgent()
            | self.sender.probe_due()
            | self.sender.is_retransmission_due()
    }

    /// Whether a poll without a head may return a transmission.
    #[inline]
    pub fn has_pending(&self) -> bool {
        self.is_urgent() | self.sender.dummy_owed() | self.receiver.is_ack_due()
    }

    /// The frame of [`Transmit::New`](crate::link::Transmit::New) leaves; `kept` is the host's copy.
    #[inline]
    pub fn on_sent(&mut self, now: Time, kept: F) {
        self.on_sent_with(now, Some(kept));
    }

    /// As [`Endpoint::on_sent`], for hosts that know what a link does. Without a copy, the frame must arrive and find
    /// no frame missing before it. The end behaves as if there were a copy.
    #[inline]
    pub fn on_sent_with(&mut self, now: Time, copy: Option<F>) {
        if self.sender.on_sent(now, copy, &mut self.out) {
            self.on_level_change(now);
        }
    }

    /// Positions of numbered frames that were sent and are not acknowledged.
    #[inline]
    pub fn unacked(&self) -> Range<u64> {
        self.sender.unacked()
    }

    /// A frame with a valid header has arrived. `frame` is the handle of the frame behind [`LinkHeader::Data`]
    /// and its length from MAC header to FCS, without the link header.
    pub fn on_signal(&mut self, now: Time, signal: &LinkHeader, frame: Option<(F, Bytes)>) {
        match (signal, frame) {
            (&LinkHeader::Data { epoch, seq, ordered, retransmitted, ack }, Some((frame, len))) => {
                let header = DataHeader { epoch, seq, ordered, retransmitted, ack };
                if let Some(frame) = self.receive(now, header, frame, len) {
                    self.out.push(Disposal::Deliver(frame));
                }
                self.on_ack(now, ack);
            }
            (&LinkHeader::Dummy { epoch, next, ack }, None) => self.on_dummy(now, epoch, next, ack),
            (&LinkHeader::Ack(ack), None) => self.on_ack(now, Some(ack)),
            (&LinkHeader::Unprotected { epoch, next, ack }, Some((frame, _))) => {
                if self.receiver.is_epoch(epoch) {
                    self.receiver.on_sent_upto(now, next, &mut self.out);
                    self.out.push(Disposal::Deliver(frame));
                } else {
                    self.on_unknown(now, epoch, Some((frame, false)));
                }
                self.on_ack(now, ack);
            }
            (LinkHeader::Missing(missing), None) => {
                if !self.is_current(missing.ack) {
                    self.out.counters.ignored += 1;
                } else if self.sender.on_missing(now, missing, &mut self.out) {
                    self.on_level_change(now);
                }
                self.check_drained();
            }
            (LinkHeader::Hello(hello), None) => self.on_hello(now, hello),
            (_, frame) => {
                self.out.counters.ignored += 1;
                if let Some((frame, _)) = frame {
                    self.out.push(Disposal::Discard(frame));
                }
            }
        }
    }

    /// A numbered frame has arrived; see [`Endpoint::on_signal`]. Returns the frame if the host must forward it now,
    /// before all disposals.
    #[inline]
    pub fn on_data(&mut self, now: Time, header: DataHeader, frame: F, len: Bytes) -> Option<F> {
        let delivered = self.receive(now, header, frame, len);
        self.on_ack(now, header.ack);
        delivered
    }

    #[inline]
    fn receive(&mut self, now: Time, header: DataHeader, frame: F, len: Bytes) -> Option<F> {
        let DataHeader { epoch, seq, ordered, retransmitted, .. } = header;
        if self.receiver.is_epoch(epoch) {
            return self.receiver.on_data(now, seq, ordered, frame, len.get(), &mut self.out);
        }
        self.on_unknown(now, epoch, Some((frame, retransmitted)));
        None
    }

    #[inline(never)]
    fn on_dummy(&mut self, now: Time, epoch: u8, next: u32, ack: Option<Ack>) {
        if self.receiver.is_epoch(epoch) {
            self.receiver.on_dummy(now, next, &mut self.out);
        } else {
            self.on_unknown(now, epoch, None);
        }
        self.on_ack(now, ack);
    }

    /// A dummy or an ACK frame has arrived; see [`Endpoint::on_signal`].
    #[inline]
    pub fn on_control(&mut self, now: Time, header: ControlHeader) {
        let ControlHeader { is_dummy, epoch, next, ack } = header;
        if is_dummy && !self.receiver.has_all_before(epoch, next) {
            return self.on_dummy(now, epoch, next, ack);
        }
        self.receiver.owe_ack(is_dummy);
        self.on_ack(now, ack);
    }

    /// An ACK has arrived, by itself or with another signal.
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: Option<Ack>) {
        let Some(ack) = ack else { return };
        if self.is_current(ack) {
            self.sender.on_ack(now, ack, &mut self.out);
            self.check_drained();
        } else {
            self.out.counters.ignored += 1;
        }
    }

    /// A frame without a header has arrived: the other end does not protect, or has restarted. Held frames
    /// are delivered first. A host that knows the direction to be dormant may deliver the frame itself.
    #[inline]
    pub fn on_plain(&mut self, now: Time, frame: F) {
        self.receiver.flush(now, &mut self.out);
        self.out.push(Disposal::Deliver(frame));
    }

    /// Returns the next disposal of a handle.
    #[inline]
    pub fn poll(&mut self) -> Option<Disposal<F>> {
        self.out.pop()
    }

    /// Whether [`Endpoint::poll`] returns a disposal.
    #[inline]
    pub fn has_disposals(&self) -> bool {
        !self.out.is_empty()
    }

    /// The time of [`Endpoint::next_timeout`] has come.
    pub fn on_timeout(&mut self, now: Time) {
        self.receiver.on_timeout(now, &mut self.out);
        if !self.sender.on_timeout(now) {
            self.on_peer_gone(now);
        }
        if self.handshake.on_timeout(now) == TimeoutOutcome::Drained {
            self.sender.release_all(&mut self.out);
        }
    }

    /// When to call [`Endpoint::on_timeout`]; `None` while nothing is outstanding.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        Some(self.earliest_timeout()).filter(|at| *at < Time::MAX)
    }

    /// As [`Endpoint::next_timeout`]; `Time::MAX` while nothing is outstanding.
    #[inline]
    pub fn earliest_timeout(&self) -> Time {
        self.sender.next_timeout().min(self.receiver.next_timeout()).min(self.handshake.next_timeout())
    }

    /// Addresses that the next ACK and the next frame need, for hosts that prefetch.
    #[inline]
    pub fn next_addresses(&self) -> impl Iterator<Item = *const u8> {
        self.sender.next_slots().into_iter().flatten().map(|slot| std::ptr::from_ref(slot).cast())
    }

    /// Counters.
    pub fn counters(&self) -> &Counters {
        &self.out.counters
    }

    /// Recovery delays of arriving frames.
    pub fn delays(&self) -> &RecoveryDelays {
        &self.out.delays
    }

    /// Configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Protection level of leaving frames.
    pub fn protection_level(&self) -> ProtectionLevel {
        self.level
    }

    /// Whether leaving frames are numbered.
    pub fn is_active(&self) -> bool {
        self.handshake.send_mode() == SendMode::Numbered
    }

    /// Whether leaving frames have no header, so that they may bypass this end.
    pub fn is_plain(&self) -> bool {
        self.handshake.send_mode() == SendMode::Plain
    }

    /// Whether arriving frames are numbered, so that they must not bypass this end.
    pub fn is_receiving(&self) -> bool {
        self.receiver.epoch().is_some()
    }

    /// Epoch of leaving frames. Valid while they are numbered.
    #[inline]
    pub fn sending_epoch(&self) -> u32 {
        self.handshake.epoch()
    }

    /// Epoch of arriving frames, while they are numbered.
    #[inline]
    pub fn receiving_epoch(&self) -> Option<u32> {
        self.receiver.epoch()
    }

    /// Round trip, if known.
    pub fn rtt(&self) -> Option<Span> {
        self.handshake.rtt()
    }

    /// Measured loss rate of leaving frames.
    pub fn loss(&self) -> Option<LossRate> {
        self.sender.loss()
    }

    /// Copies per retransmission.
    pub fn copies(&self) -> u8 {
        self.sender.copies()
    }

    /// Hashes the state that determines the future, for state-space exploration. It omits counters and the
    /// measured loss, which takes a thousand frames to have an effect.
    pub fn fingerprint<H: Hasher>(&self, now: Time, hasher: &mut H)
    where
        F: Hash,
    {
        let mut print = Fingerprint::new(now, hasher);
        self.handshake.fingerprint(&mut print);
        self.sender.fingerprint(&mut print);
        self.receiver.fingerprint(&mut print);
        print.add(self.reply.map(|hello| (hello.kind as u8, hello.epoch, hello.stamp_ns, hello.rtt_ns)));
        print.add((self.closed.map(|hello| hello.epoch), self.leaving));
        print.add_limit(self.unknown_reply_at);
    }

    /// Whether the ACK belongs to the current epoch.
    #[inline]
    fn is_current(&self, ack: Ack) -> bool {
        self.handshake.is_protecting() && ack.epoch == self.sender.epoch()
    }

    /// A frame of an unknown epoch: this end has restarted and the other has not noticed. New frames arrive
    /// in order; a copy may have been delivered before the restart, so it is dropped.
    #[cold]
    fn on_unknown(&mut self, now: Time, epoch: u8, frame: Option<(F, bool)>) {
        match frame {
            Some((frame, false)) => self.out.push(Disposal::Deliver(frame)),
            Some((frame, true)) => self.out.push(Disposal::Discard(frame)),
            None => {}
        }
        self.out.counters.ignored += 1;
        if self.unknown_reply_at <= now {
            self.unknown_reply_at = now + UNKNOWN_GAP;
            let epoch = u32::from(epoch);
            self.reply = Some(Hello { kind: HelloKind::Unknown, epoch, stamp_ns: 0, rtt_ns: 0 });
        }
    }

    fn on_peer_gone(&mut self, now: Time) {
        self.sender.release_all(&mut self.out);
        self.out.counters.reopened += 1;
        self.handshake.on_peer_gone(now);
    }

    /// Ends protection once all frames are acknowledged.
    fn check_drained(&mut self) {
        if self.handshake.is_draining() && self.sender.is_drained() {
            self.sender.release_all(&mut self.out);
            self.handshake.on_drained();
        }
    }

    #[cold]
    fn on_level_change(&mut self, now: Time) {
        let before = std::mem::replace(&mut self.level, self.sender.protection_level());
        self.out.counters.fallbacks += u64::from(self.level > before);
        if self.level == ProtectionLevel::PassThrough {
            self.end(now, true);
        }
    }

    fn end(&mut self, now: Time, wanted_later: bool) {
        let drain_max = self.sender.drain_max();
        if wanted_later {
            self.handshake.end(now, drain_max);
        } else {
            self.handshake.deactivate(now, drain_max);
        }
        self.check_drained();
    }
}
