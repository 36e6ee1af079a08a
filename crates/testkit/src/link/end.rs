//! What a pair needs from an end of a protected link, for either protocol.

use std::fmt::Debug;

use wiremend_proto::link::{Config, Counters, Disposal, Endpoint, LinkHeader, Missing, QueueHead, Transmit};
use wiremend_units::{Bytes, Rate, Time};

/// A frame of a test, by the order in which all frames were queued.
pub type FrameNo = u32;

/// An end of a protected link.
pub trait LinkEnd: Clone {
    /// Configuration.
    type Config: Clone;
    /// Link header.
    type Header: LinkSignal;

    /// A dormant end, as after a reset.
    fn new(config: &Self::Config) -> Self;
    /// Rate of the link.
    fn rate(config: &Self::Config) -> Rate;
    /// Protects leaving frames. `epoch` must differ from all earlier starts.
    fn activate(&mut self, now: Time, epoch: u32);
    /// Ends the protection of leaving frames.
    fn deactivate(&mut self, now: Time);
    /// Returns the next transmission of a free wire. `head` is the head of the queue.
    fn transmit(
        &mut self,
        now: Time,
        head: Option<(FrameNo, QueueHead)>,
    ) -> Option<LinkTransmit<Self::Header>>;
    /// A frame, a signal, or both have arrived.
    fn on_arrival(&mut self, now: Time, signal: Option<&Self::Header>, frame: Option<(FrameNo, Bytes)>);
    /// Returns the next disposal of a frame.
    fn poll(&mut self) -> Option<Disposal<FrameNo>>;
    /// When to call [`Self::on_timeout`], if no other input comes.
    fn next_timeout(&self, now: Time) -> Option<Time>;
    /// The time of [`Self::next_timeout`] has come.
    fn on_timeout(&mut self, now: Time);
    /// Counters.
    fn counters(&self) -> Counters;
}

/// A transmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkTransmit<S> {
    /// The head of the queue without a number; may carry an ACK.
    Plain(Option<S>),
    /// The head of the queue behind a header. A copy is kept.
    New(S),
    /// A retransmission.
    Retransmission(S, FrameNo),
    /// A control frame.
    Control(S),
}

/// A link header.
pub trait LinkSignal: Copy + Debug {
    /// Kind of its frame.
    fn kind(&self) -> FrameKind;
    /// Whether it pauses (true) or resumes (false) the other end; `None` if neither.
    fn pauses(&self) -> Option<bool>;
}

/// Kind of a frame on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FrameKind {
    /// A frame without a header, or without protection.
    Plain,
    /// A numbered frame, first transmission.
    Data,
    /// A retransmission.
    Copy,
    /// A dummy: carries the next number.
    Dummy,
    /// An ACK frame.
    Ack,
    /// A notification of missing frames.
    Notification,
    /// A pause or resume frame.
    Pause,
    /// A start or an end of protection.
    Hello,
}

impl LinkSignal for LinkHeader {
    fn kind(&self) -> FrameKind {
        match self {
            Self::Data { retransmitted: false, .. } => FrameKind::Data,
            Self::Data { retransmitted: true, .. } => FrameKind::Copy,
            Self::Dummy { .. } => FrameKind::Dummy,
            Self::Unprotected { .. } => FrameKind::Plain,
            Self::Ack(_) => FrameKind::Ack,
            Self::Missing(_) => FrameKind::Notification,
            Self::Hello(_) => FrameKind::Hello,
        }
    }

    /// The pause bit is part of every ACK.
    fn pauses(&self) -> Option<bool> {
        match self {
            Self::Data { ack, .. } | Self::Dummy { ack, .. } | Self::Unprotected { ack, .. } => {
                ack.map(|ack| ack.pause)
            }
            Self::Ack(ack) | Self::Missing(Missing { ack, .. }) => Some(ack.pause),
            Self::Hello(_) => None,
        }
    }
}

impl<const BITS: u32> LinkEnd for Endpoint<FrameNo, BITS> {
    type Config = Config;
    type Header = LinkHeader;

    fn new(config: &Config) -> Self {
        Self::new(config.clone())
    }

    fn rate(config: &Config) -> Rate {
        config.rate
    }

    fn activate(&mut self, now: Time, epoch: u32) {
        self.activate(now, epoch);
    }

    fn deactivate(&mut self, now: Time) {
        self.deactivate(now);
    }

    fn transmit(
        &mut self,
        now: Time,
        head: Option<(FrameNo, QueueHead)>,
    ) -> Option<LinkTransmit<LinkHeader>> {
        Some(match self.poll_transmit(now, head.map(|(_, waiting)| waiting))? {
            Transmit::Plain => LinkTransmit::Plain(None),
            Transmit::New(signal) => {
                let (no, _) = head.expect("the queue has a head");
                self.on_sent(now, no);
                LinkTransmit::New(signal)
            }
            Transmit::Retransmission(signal, no) => LinkTransmit::Retransmission(signal, no),
            Transmit::Control(signal) => LinkTransmit::Control(signal),
        })
    }

    fn on_arrival(&mut self, now: Time, signal: Option<&LinkHeader>, frame: Option<(FrameNo, Bytes)>) {
        match signal {
            Some(signal) => self.on_signal(now, signal, frame),
            None => self.on_plain(now, frame.expect("a frame without header has a handle").0),
        }
    }

    fn poll(&mut self) -> Option<Disposal<FrameNo>> {
        self.poll()
    }

    fn next_timeout(&self, _now: Time) -> Option<Time> {
        self.next_timeout()
    }

    fn on_timeout(&mut self, now: Time) {
        self.on_timeout(now);
    }

    fn counters(&self) -> Counters {
        *self.counters()
    }
}
