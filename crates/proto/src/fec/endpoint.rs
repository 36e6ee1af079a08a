//! An end of a link with FEC: schedules the wire and dispatches arrivals.

use std::collections::VecDeque;

use wiremend_units::Time;

use super::receiver::{Outbox, Receiver};
use super::sender::Sender;
use super::{Config, Counters, Disposal, FecHeader, Transmit};
use crate::link::QueueHead;

/// An end of a link with FEC; see the [module](super). Only the sender needs to be activated: headers carry
/// all that a receiver needs.
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

    /// Protects frames that leave from now on. The first has the number `first`, which should differ between
    /// starts, so that the receiver does not mistake a restart for a gap.
    pub fn activate(&mut self, first: u16) {
        self.sender.activate(first);
    }

    /// Ends protection after the open block.
    pub fn deactivate(&mut self) {
        self.sender.deactivate(&mut self.counters);
    }

    /// Whether leaving frames are protected.
    pub fn is_active(&self) -> bool {
        self.sender.is_active()
    }

    /// Returns the next transmission of a free wire. `head` is the head of the normal queue. `None`: poll
    /// again after an input or when a frame has joined the queue.
    pub fn poll_transmit(&mut self, now: Time, head: Option<QueueHead>) -> Option<Transmit> {
        self.take_spent();
        self.sender.poll_transmit(now, head, &mut self.counters)
    }

    /// The frame of [`Transmit::New`] leaves; `kept` is the host's copy.
    pub fn on_sent(&mut self, now: Time, kept: F) {
        self.sender.on_sent(now, kept, &mut self.counters);
    }

    /// Copies of the open block, or of the block whose parity [`Endpoint::poll_transmit`] has just returned.
    /// Any later call may release them.
    pub fn kept(&self) -> &[F] {
        self.sender.kept()
    }

    /// A frame with a valid header has arrived. `frame` is the handle of the frame behind [`FecHeader::Data`].
    /// Before the call the host stores the bytes of the frame or [`FecHeader::Parity`], because the call may
    /// request a recovery, and keeps them until [`Disposal::BlockDone`].
    pub fn on_signal(&mut self, now: Time, signal: FecHeader, frame: Option<F>) {
        let (receiver, mut out) = self.receiving();
        receiver.on_signal(now, signal, frame, &mut out);
    }

    /// A frame without a header has arrived. Needed only by hosts that receive both kinds.
    pub fn on_plain(&mut self, frame: F) {
        let (receiver, mut out) = self.receiving();
        receiver.on_plain(frame, &mut out);
    }

    /// The host has restored a frame of [`Disposal::Recover`].
    pub fn on_recovered(&mut self, now: Time, block: u16, index: u8, frame: F) {
        let (receiver, mut out) = self.receiving();
        receiver.on_recovered(now, block, index, frame, &mut out);
    }

    /// Returns the next disposal of a handle or block.
    pub fn poll(&mut self) -> Option<Disposal<F>> {
        self.take_spent();
        self.disposals.pop_front()
    }

    /// The time of [`Endpoint::next_timeout`] has come. The sender may have a parity now.
    pub fn on_timeout(&mut self, now: Time) {
        self.sender.on_timeout(now, &mut self.counters);
        let (receiver, mut out) = self.receiving();
        receiver.on_timeout(now, &mut out);
    }

    /// When to call [`Endpoint::on_timeout`], if no other input comes.
    pub fn next_timeout(&self) -> Option<Time> {
        [self.sender.next_timeout(), self.receiver.next_timeout()].into_iter().flatten().min()
    }

    /// Counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    fn take_spent(&mut self) {
        if self.sender.has_spent() {
            self.disposals.extend(self.sender.take_spent().map(Disposal::Release));
        }
    }

    fn receiving(&mut self) -> (&mut Receiver<F>, Outbox<'_, F>) {
        let Self { receiver, disposals, counters, .. } = self;
        (receiver, Outbox { disposals, counters })
    }
}
