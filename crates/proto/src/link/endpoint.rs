//! One end of a protected link: who is next on the wire, and what arrives.

use std::hash::{Hash, Hasher};

use wiremend_units::{Bytes, Span, Time};

use super::fingerprint::Print;
use super::handshake::{Gate, Handshake, Lapse};
use super::outbox::Outbox;
use super::receiver::Receiver;
use super::sender::{Sender, epoch_bits};
use super::timing::Timing;
use super::{
    Ack, Aside, Config, ConfigError, CopyCount, Counters, Disposal, Hello, HelloKind, LossRate,
    RecoveryDelays, Signal, Stance, Transmit, Waiting,
};

/// One end of a protected link; see the [module](super).
///
/// `BITS` is the width of sequence numbers; tests shrink it to see every wrap.
#[derive(Clone, Debug)]
pub struct Endpoint<F, const BITS: u32 = 20> {
    config: Config,
    /// Of what leaves.
    handshake: Handshake,
    sender: Sender<F, BITS>,
    stance: Stance,
    /// Of what arrives.
    receiver: Receiver<F, BITS>,
    /// An answer for the other end. A newer one takes its place: what is asked twice is asked again.
    answer: Option<Hello>,
    /// From then on an unknown epoch is answered again.
    unknown_at: Time,
    out: Outbox<F>,
}

/// Unknown epochs are answered at most this often: a stream of frames is not met by a stream of complaints.
const UNKNOWN_GAP: Span = Span::from_us(100);

impl<F: Copy, const BITS: u32> Endpoint<F, BITS> {
    /// A dormant end.
    pub fn new(config: Config) -> Self {
        const { assert!(BITS >= 3 && BITS <= 24, "numbers have 3 to 24 bits") };
        Self {
            handshake: Handshake::new(&config),
            sender: Sender::new(&config),
            stance: Stance::default(),
            receiver: Receiver::new(&config),
            answer: None,
            unknown_at: Time::ZERO,
            out: Outbox::new(),
            config,
        }
    }

    /// Protects what is sent from here on, as soon as the other end is ready. `epoch` differs from that of any start before, also
    /// from those before this end was made: a clock or a random number will do.
    pub fn activate(&mut self, now: Time, epoch: u32) {
        let _ = now;
        self.handshake.activate(epoch);
    }

    /// Ends the protection of what is sent from here, without losing or reordering anything: normal frames wait until
    /// all is acknowledged.
    pub fn deactivate(&mut self, now: Time) {
        self.end(now, false);
    }

    /// From here on this loss may remain, and so many copies are sent. Refused if it cannot work.
    pub fn aim(&mut self, target: LossRate, copies: CopyCount) -> Result<(), ConfigError> {
        let config = Config { target, copies, ..self.config.clone() };
        config.check()?;
        self.sender.aim(target, copies);
        self.config = config;
        Ok(())
    }

    /// There is traffic that goes past this end: if protection is wanted and the other end did not answer, it is asked again.
    /// For hosts that let frames of a dormant link take a shorter way.
    pub fn on_traffic(&mut self, now: Time) {
        self.handshake.on_traffic(now);
    }

    /// What the wire, which is free, carries next. `waiting` is the head of the normal queue. Nothing: ask again after an
    /// input, or when another frame has come to the queue.
    pub fn poll_transmit(&mut self, now: Time, waiting: Option<Waiting>) -> Option<Transmit<F>> {
        if let Some(signal) = self.poll_urgent(now) {
            return Some(Transmit::Own(signal));
        }
        let again = self.sender.poll_again(now, || self.receiver.poll_back(), &mut self.out);
        if let Some((signal, frame)) = again {
            return Some(Transmit::Again(signal, frame));
        }
        if let Some(waiting) = waiting
            && let Some(transmit) = self.poll_normal(now, waiting)
        {
            return Some(transmit);
        }
        if self.sender.dummy_owed() {
            let ack = self.receiver.poll_back();
            return Some(Transmit::Own(self.sender.dummy(ack, &mut self.out)));
        }
        self.receiver.poll_due(now, &mut self.out).map(Transmit::Own)
    }

    /// As [`Endpoint::poll_transmit`], where the head of the normal queue is not to be protected. It has no number, so it takes no part in what is
    /// in order: a host that begins or ends to protect a kind of frame waits until all before is settled ([`Endpoint::is_settled`]).
    pub fn poll_aside(&mut self, now: Time) -> Option<Aside<F>> {
        if let Some(signal) = self.poll_urgent(now) {
            return Some(Aside::Before(Transmit::Own(signal)));
        }
        let again = self.sender.poll_again(now, || self.receiver.poll_back(), &mut self.out);
        if let Some((signal, frame)) = again {
            return Some(Aside::Before(Transmit::Again(signal, frame)));
        }
        match self.handshake.gate() {
            Gate::Numbered if self.receiver.is_survey_due() => {
                self.receiver.poll_due(now, &mut self.out).map(|signal| Aside::Before(Transmit::Own(signal)))
            }
            Gate::Numbered => {
                let ack = self.receiver.poll_back();
                Some(Aside::Leaves(Some(self.sender.loose(ack))))
            }
            Gate::Shut => None,
            Gate::Plain => {
                let before = if self.handshake.on_traffic(now) {
                    self.poll_urgent(now)
                } else {
                    self.receiver.poll_due(now, &mut self.out)
                };
                Some(before.map_or(Aside::Leaves(None), |signal| Aside::Before(Transmit::Own(signal))))
            }
        }
    }

    /// Whether the other end has everything that left with a number, or has given it up.
    pub fn is_settled(&self) -> bool {
        self.sender.is_drained()
    }

    /// Whether something is to leave before every normal frame, and before a host does anything else: an answer, a notification, a copy that was
    /// asked for. For hosts that are processors and do one thing at a time.
    #[inline]
    pub fn is_urgent(&self) -> bool {
        self.answer.is_some()
            || self.handshake.is_due()
            || self.receiver.is_urgent()
            || self.sender.probe_due()
            || self.sender.is_again_due()
    }

    /// The frame of [`Transmit::Fresh`] leaves; `kept` is the host's copy.
    #[inline]
    pub fn on_sent(&mut self, now: Time, kept: F) {
        if self.sender.on_sent(now, kept, &mut self.out) {
            self.mind_stance(now);
        }
    }

    /// A frame with a header has arrived whole; `frame` is the handle of what followed [`Signal::Data`], and its length
    /// from MAC header to FCS, without the link header.
    pub fn on_signal(&mut self, now: Time, signal: &Signal, frame: Option<(F, Bytes)>) {
        match (*signal, frame) {
            (Signal::Data { epoch, seq, ordered, again, ack }, Some((frame, len))) => {
                if self.receiver.knows(epoch) {
                    self.receiver.on_data(now, seq, ordered, frame, len.get(), &mut self.out);
                } else {
                    self.on_unknown(now, epoch, Some((frame, again)));
                }
                self.on_back(now, ack);
            }
            (Signal::Dummy { epoch, next, ack }, None) => {
                if self.receiver.knows(epoch) {
                    self.receiver.on_dummy(now, next, &mut self.out);
                } else {
                    self.on_unknown(now, epoch, None);
                }
                self.on_back(now, ack);
            }
            (Signal::Loose { epoch, next, ack }, Some((frame, _))) => {
                if self.receiver.knows(epoch) {
                    self.receiver.on_shown(now, next, &mut self.out);
                    self.out.push(Disposal::Deliver(frame));
                } else {
                    self.on_unknown(now, epoch, Some((frame, false)));
                }
                self.on_back(now, ack);
            }
            (Signal::Ack(ack), None) => self.on_back(now, Some(ack)),
            (Signal::Missing(missing), None) => {
                if !self.hears(missing.ack) {
                    self.out.counters.ignored += 1;
                } else if self.sender.on_missing(now, &missing, &mut self.out) {
                    self.mind_stance(now);
                }
                self.mind_drained();
            }
            (Signal::Hello(hello), None) => self.on_hello(now, &hello),
            (_, frame) => {
                self.out.counters.ignored += 1;
                if let Some((frame, _)) = frame {
                    self.out.push(Disposal::Discard(frame));
                }
            }
        }
    }

    /// A frame without a header has arrived: its sender does not protect, or has just restarted. What is held from before
    /// goes first. A host that knows the direction to be dormant may hand the frame on itself.
    #[inline]
    pub fn on_plain(&mut self, now: Time, frame: F) {
        self.receiver.flush(now, &mut self.out);
        self.out.push(Disposal::Deliver(frame));
    }

    /// What becomes of handles, in order, until there is nothing.
    #[inline]
    pub fn poll(&mut self) -> Option<Disposal<F>> {
        self.out.pop()
    }

    /// The time that was asked for has come, or a later one.
    pub fn on_timeout(&mut self, now: Time) {
        self.receiver.on_timeout(now, &mut self.out);
        if !self.sender.on_timeout(now) {
            self.on_peer_gone(now);
        }
        if self.handshake.on_timeout(now) == Lapse::Drained {
            self.sender.release_all(&mut self.out);
        }
    }

    /// When to call [`Endpoint::on_timeout`], if nothing else happens. Nothing: never; so it is when all is quiet.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        let halves = self.sender.next_timeout().min(self.receiver.next_timeout());
        Some(halves.min(self.handshake.next_timeout())).filter(|at| *at < Time::MAX)
    }

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        &self.out.counters
    }

    /// How long recovery took of what arrives.
    pub fn delays(&self) -> &RecoveryDelays {
        &self.out.delays
    }

    /// What it goes by.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How far the protection of what leaves goes.
    pub fn stance(&self) -> Stance {
        self.stance
    }

    /// Whether what leaves is numbered now.
    pub fn is_active(&self) -> bool {
        self.handshake.gate() == Gate::Numbered
    }

    /// Whether what leaves goes as it is: frames may take a way past this end.
    pub fn is_plain(&self) -> bool {
        self.handshake.gate() == Gate::Plain
    }

    /// Whether what arrives is numbered: frames may not take a way past this end.
    pub fn is_receiving(&self) -> bool {
        self.receiver.epoch().is_some()
    }

    /// The round trip of what leaves, if it is known.
    pub fn rtt(&self) -> Option<Span> {
        self.handshake.rtt()
    }

    /// The loss of what leaves, if it was measured.
    pub fn loss(&self) -> Option<LossRate> {
        self.sender.loss()
    }

    /// How many copies are sent of what is asked for.
    pub fn copies(&self) -> u8 {
        self.sender.copies()
    }

    /// Takes in all that decides what happens from `now` on: for explorations of what can. The loss that was measured is left
    /// out, since it takes a thousand frames to change anything; so are counts.
    pub fn fingerprint<H: Hasher>(&self, now: Time, hasher: &mut H)
    where
        F: Hash,
    {
        let mut print = Print::new(now, hasher);
        self.handshake.fingerprint(&mut print);
        self.sender.fingerprint(&mut print);
        self.receiver.fingerprint(&mut print);
        print.add(self.answer.map(|hello| (hello.kind as u8, hello.epoch, hello.stamp_ns, hello.rtt_ns)));
        print.add_limit(self.unknown_at);
    }

    /// What goes before everything else.
    #[inline]
    fn poll_urgent(&mut self, now: Time) -> Option<Signal> {
        if let Some(answer) = self.answer.take() {
            return Some(Signal::Hello(answer));
        }
        if self.handshake.is_due() {
            return Some(Signal::Hello(self.handshake.hello(now, self.sender.next_number())));
        }
        if let Some(signal) = self.receiver.poll_urgent(now, &mut self.out) {
            return Some(signal);
        }
        self.sender.probe_due().then(|| {
            let ack = self.receiver.poll_back();
            self.sender.dummy(ack, &mut self.out)
        })
    }

    #[inline]
    fn poll_normal(&mut self, now: Time, waiting: Waiting) -> Option<Transmit<F>> {
        match self.handshake.gate() {
            Gate::Numbered if self.sender.is_open(now) => {
                if self.receiver.is_survey_due() {
                    return self.receiver.poll_due(now, &mut self.out).map(Transmit::Own);
                }
                let ack = self.receiver.poll_back();
                Some(Transmit::Fresh(self.sender.fresh(waiting, ack)))
            }
            Gate::Numbered | Gate::Shut => None,
            Gate::Plain => {
                if self.handshake.on_traffic(now) {
                    return self.poll_urgent(now).map(Transmit::Own);
                }
                // A frame without a header carries no ACK: one of its own goes before it.
                let ack = self.receiver.poll_due(now, &mut self.out);
                Some(ack.map_or(Transmit::Plain, Transmit::Own))
            }
        }
    }

    #[inline]
    fn on_back(&mut self, now: Time, ack: Option<Ack>) {
        let Some(ack) = ack else { return };
        if self.hears(ack) {
            self.sender.on_ack(now, ack, &mut self.out);
            self.mind_drained();
        } else {
            self.out.counters.ignored += 1;
        }
    }

    /// Whether it is about the frames of the present epoch.
    #[inline]
    fn hears(&self, ack: Ack) -> bool {
        self.handshake.is_protecting() && ack.epoch == self.sender.epoch()
    }

    /// This end has restarted, and the other does not know yet. What comes for the first time comes in order; a copy
    /// may have been here before the restart.
    fn on_unknown(&mut self, now: Time, epoch: u8, frame: Option<(F, bool)>) {
        match frame {
            Some((frame, false)) => self.out.push(Disposal::Deliver(frame)),
            Some((frame, true)) => self.out.push(Disposal::Discard(frame)),
            None => {}
        }
        self.out.counters.ignored += 1;
        if self.unknown_at <= now {
            self.unknown_at = now + UNKNOWN_GAP;
            let epoch = u32::from(epoch);
            self.answer = Some(Hello { kind: HelloKind::Unknown, epoch, stamp_ns: 0, rtt_ns: 0 });
        }
    }

    fn on_hello(&mut self, now: Time, hello: &Hello) {
        match hello.kind {
            HelloKind::Open => self.on_open(now, hello),
            HelloKind::Close => {
                if self.receiver.epoch() == Some(hello.epoch) {
                    self.receiver.on_dummy(now, hello.stamp_ns, &mut self.out);
                    self.receiver.stop(now, &mut self.out);
                }
                self.answer = Some(Hello { kind: HelloKind::Closed, ..*hello });
            }
            HelloKind::Accept => {
                if let Some(rtt) = self.handshake.on_accept(now, hello) {
                    self.sender.start(hello.epoch, Timing::of(&self.config, rtt));
                    self.stance = self.sender.stance();
                }
            }
            HelloKind::Closed => self.handshake.on_closed(now, hello),
            HelloKind::Unknown => {
                if self.handshake.is_protecting() && epoch_bits(hello.epoch) == self.sender.epoch() {
                    self.on_peer_gone(now);
                }
            }
        }
    }

    /// The other end wants to start. Even a mere question shows that what it sent before is over: what is held goes first.
    fn on_open(&mut self, now: Time, hello: &Hello) {
        if self.receiver.epoch() != Some(hello.epoch) {
            if self.receiver.epoch().is_some() {
                self.receiver.stop(now, &mut self.out);
            }
            if hello.rtt_ns > 0 {
                let rtt = Span::from_ns(u64::from(hello.rtt_ns));
                self.receiver.start(hello.epoch, Timing::of(&self.config, rtt));
            }
        }
        self.answer = Some(Hello { kind: HelloKind::Accept, ..*hello });
    }

    fn on_peer_gone(&mut self, now: Time) {
        self.sender.release_all(&mut self.out);
        self.out.counters.reopened += 1;
        self.handshake.on_peer_gone(now);
    }

    /// Protection ends when all is acknowledged.
    fn mind_drained(&mut self) {
        if self.handshake.is_draining() && self.sender.is_drained() {
            self.sender.release_all(&mut self.out);
            self.handshake.on_drained();
        }
    }

    #[cold]
    fn mind_stance(&mut self, now: Time) {
        let before = std::mem::replace(&mut self.stance, self.sender.stance());
        self.out.counters.fallbacks += u64::from(self.stance > before);
        if self.stance == Stance::PassThrough {
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
        self.mind_drained();
    }
}
