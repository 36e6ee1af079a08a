//! One end of a link with error correction: who is next on the wire, and what arrives.

use std::collections::VecDeque;

use wiremend_units::Time;

use super::receiver::{Outcome, Receiver};
use super::sender::Sender;
use super::{Config, Counters, Disposal, Signal, Transmit};
use crate::link::Waiting;

/// One end of a link with error correction; see the [module](super).
///
/// Only the sender has to be told to begin and to end: headers say all that a receiver must know, and a frame without one
/// needs no receiver.
#[derive(Clone, Debug)]
pub struct Endpoint<F> {
    config: Config,
    sender: Sender<F>,
    receiver: Receiver<F>,
    disposals: VecDeque<Disposal<F>>,
    counters: Counters,
}

impl<F: Copy> Endpoint<F> {
    /// A dormant end.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            disposals: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Protects what is sent from here on. The first frame has the number `first`: one that differs from start to start keeps a
    /// restart from being taken for a gap.
    pub fn activate(&mut self, first: u16) {
        self.sender.activate(first);
    }

    /// Ends the protection of what is sent from here, with the block that is open.
    pub fn deactivate(&mut self) {
        self.sender.deactivate(&mut self.counters);
    }

    /// Whether what is sent from here is protected.
    pub fn is_active(&self) -> bool {
        self.sender.is_active()
    }

    /// What the wire, which is free, carries next. `waiting` is the head of the normal queue. Nothing: ask again after an
    /// input, or when another frame has come to the queue.
    pub fn poll_transmit(&mut self, now: Time, waiting: Option<Waiting>) -> Option<Transmit> {
        self.take_spent();
        self.sender.poll_transmit(now, waiting, &mut self.counters)
    }

    /// The frame of [`Transmit::Fresh`] leaves; `kept` is the host's copy.
    pub fn on_sent(&mut self, now: Time, kept: F) {
        self.sender.on_sent(now, kept, &mut self.counters);
    }

    /// The frames of the block that is open, or of which [`Endpoint::poll_transmit`] has just given a parity: what that is made of.
    /// With the next call of any method that changes the end they may be gone.
    pub fn kept(&self) -> &[F] {
        self.sender.kept()
    }

    /// A frame with a header has arrived whole; `frame` is the handle of what followed [`Signal::Data`]. What followed a
    /// [`Signal::Parity`] stays with the host, as does what it needs of frames that arrive, until [`Disposal::Settled`]. It remembers
    /// both before it calls, since it may be asked to restore frames at once.
    pub fn on_signal(&mut self, now: Time, signal: Signal, frame: Option<F>) {
        let (receiver, mut out) = self.receiving();
        receiver.on_signal(now, signal, frame, &mut out);
    }

    /// A frame without a header has arrived. Only a host that mixes both has to say so; others hand it on themselves.
    pub fn on_plain(&mut self, frame: F) {
        let (receiver, mut out) = self.receiving();
        receiver.on_plain(frame, &mut out);
    }

    /// A frame that [`Disposal::Recover`] asked for has been restored.
    pub fn on_recovered(&mut self, now: Time, block: u16, index: u8, frame: F) {
        let (receiver, mut out) = self.receiving();
        receiver.on_recovered(now, block, index, frame, &mut out);
    }

    /// What becomes of handles and blocks, in order, until there is nothing.
    pub fn poll(&mut self) -> Option<Disposal<F>> {
        self.take_spent();
        self.disposals.pop_front()
    }

    /// The time that was asked for has come, or a later one. The sender may have a parity now.
    pub fn on_timeout(&mut self, now: Time) {
        self.sender.on_timeout(now, &mut self.counters);
        let (receiver, mut out) = self.receiving();
        receiver.on_timeout(now, &mut out);
    }

    /// When to call [`Endpoint::on_timeout`], if nothing else happens.
    pub fn next_timeout(&self) -> Option<Time> {
        [self.sender.next_timeout(), self.receiver.next_timeout()].into_iter().flatten().min()
    }

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What it goes by.
    pub fn config(&self) -> &Config {
        &self.config
    }

    fn take_spent(&mut self) {
        if self.sender.is_spent() {
            self.disposals.extend(self.sender.take_spent().map(Disposal::Release));
        }
    }

    fn receiving(&mut self) -> (&mut Receiver<F>, Outcome<'_, F>) {
        let Self { receiver, disposals, counters, .. } = self;
        (receiver, Outcome { disposals, counters })
    }
}
