//! What a pair needs to know of an end of a protected link, whichever protocol it speaks.

use std::fmt::Debug;

use wiremend_proto::link::{Config, Counters, Disposal, Endpoint, Missing, Signal, Transmit, Waiting};
use wiremend_units::{Bytes, Rate, Time};

/// A frame of a test: it is known by the order in which all frames were handed over.
pub type FrameNo = u32;

/// One end of a protected link.
pub trait LinkEnd: Clone {
    /// What it goes by.
    type Config: Clone;
    /// What stands before a frame.
    type Signal: LinkSignal;

    /// A dormant end, as after a reset.
    fn new(config: &Self::Config) -> Self;
    /// Of the link.
    fn rate(config: &Self::Config) -> Rate;
    /// Room for copies that are kept, and for frames that are held.
    fn room(config: &Self::Config) -> (Bytes, Bytes);
    /// Protects what is sent from here; `epoch` differs from that of any start before.
    fn activate(&mut self, now: Time, epoch: u32);
    /// Ends the protection of what is sent from here.
    fn deactivate(&mut self, now: Time);
    /// What the wire, which is free, carries next; `head` is the frame at the head of the queue.
    fn transmit(&mut self, now: Time, head: Option<(FrameNo, Waiting)>) -> Option<Leaving<Self::Signal>>;
    /// Something has arrived: a frame, a signal, or both.
    fn on_arrival(&mut self, now: Time, signal: Option<&Self::Signal>, frame: Option<(FrameNo, Bytes)>);
    /// What becomes of frames, in order, until there is nothing.
    fn poll(&mut self) -> Option<Disposal<FrameNo>>;
    /// When it wants to act, if nothing happens before.
    fn next_timeout(&self, now: Time) -> Option<Time>;
    /// That time has come.
    fn on_timeout(&mut self, now: Time);
    /// What it has counted.
    fn counters(&self) -> Counters;
}

/// What leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaving<S> {
    /// The head of the queue without a number; perhaps behind an ACK.
    Plain(Option<S>),
    /// The head of the queue behind a header; a copy of it is kept.
    Fresh(S),
    /// A frame that left before.
    Again(S, FrameNo),
    /// A frame of the link's own.
    Own(S),
}

/// What stands before a frame on a protected link, or in a frame of the link's own.
pub trait LinkSignal: Copy + Debug {
    /// What it is for.
    fn kind(&self) -> Kind;
    /// Whether it tells the other end to pause, or not to; nothing if it does not say.
    fn pauses(&self) -> Option<bool>;
}

/// What something on the wire is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A frame without a header, or with one that protects nothing.
    Plain,
    /// A frame that leaves for the first time.
    Data,
    /// A frame that left before.
    Copy,
    /// Says how far numbers have come.
    Dummy,
    /// Says what has arrived, in a frame of its own.
    Ack,
    /// Says what is missing.
    Notification,
    /// A pause or its end, in a frame of its own.
    Pause,
    /// A start or an end of protection.
    Hello,
}

impl LinkSignal for Signal {
    fn kind(&self) -> Kind {
        match self {
            Self::Data { again: false, .. } => Kind::Data,
            Self::Data { again: true, .. } => Kind::Copy,
            Self::Dummy { .. } => Kind::Dummy,
            Self::Loose { .. } => Kind::Plain,
            Self::Ack(_) => Kind::Ack,
            Self::Missing(_) => Kind::Notification,
            Self::Hello(_) => Kind::Hello,
        }
    }

    /// A bit of every ACK.
    fn pauses(&self) -> Option<bool> {
        match self {
            Self::Data { ack, .. } | Self::Dummy { ack, .. } | Self::Loose { ack, .. } => {
                ack.map(|ack| ack.pause)
            }
            Self::Ack(ack) | Self::Missing(Missing { ack, .. }) => Some(ack.pause),
            Self::Hello(_) => None,
        }
    }
}

impl<const BITS: u32> LinkEnd for Endpoint<FrameNo, BITS> {
    type Config = Config;
    type Signal = Signal;

    fn new(config: &Config) -> Self {
        Self::new(config.clone())
    }

    fn rate(config: &Config) -> Rate {
        config.rate
    }

    fn room(config: &Config) -> (Bytes, Bytes) {
        (config.tx_bytes_max, config.rx_bytes_max)
    }

    fn activate(&mut self, now: Time, epoch: u32) {
        self.activate(now, epoch);
    }

    fn deactivate(&mut self, now: Time) {
        self.deactivate(now);
    }

    fn transmit(&mut self, now: Time, head: Option<(FrameNo, Waiting)>) -> Option<Leaving<Signal>> {
        Some(match self.poll_transmit(now, head.map(|(_, waiting)| waiting))? {
            Transmit::Plain => Leaving::Plain(None),
            Transmit::Fresh(signal) => {
                let (no, _) = head.expect("a frame waits");
                self.on_sent(now, no);
                Leaving::Fresh(signal)
            }
            Transmit::Again(signal, no) => Leaving::Again(signal, no),
            Transmit::Own(signal) => Leaving::Own(signal),
        })
    }

    fn on_arrival(&mut self, now: Time, signal: Option<&Signal>, frame: Option<(FrameNo, Bytes)>) {
        match signal {
            Some(signal) => self.on_signal(now, signal, frame),
            None => self.on_plain(now, frame.expect("a plain frame is somebody's").0),
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
