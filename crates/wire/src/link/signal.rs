//! What the two ends of a protected link say to each other, and how long it is.

use super::header;
use crate::MIN_FRAME_BYTES;

/// The header of a frame on a protected link. Numbers are of the width of the sequence space; an epoch is told by its lowest
/// four bits everywhere but in a [`Hello`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// A frame of somebody else's follows.
    Data {
        /// Of the direction in which this travels.
        epoch: u8,
        /// Its place.
        seq: u32,
        /// It must not overtake others of the kind.
        ordered: bool,
        /// It was sent before.
        again: bool,
        /// On its back.
        ack: Option<Ack>,
    },
    /// Nothing but the number that the next frame will have: it shows that the last ones are missing.
    Dummy {
        /// Of the direction in which this travels.
        epoch: u8,
        /// The number that has not been given yet.
        next: u32,
        /// On its back.
        ack: Option<Ack>,
    },
    /// A frame of somebody else's follows that is not protected: it has no number, and waits for nothing. It shows what is missing as a dummy
    /// does.
    Loose {
        /// Of the direction in which this travels.
        epoch: u8,
        /// The number that has not been given yet.
        next: u32,
        /// On its back.
        ack: Option<Ack>,
    },
    /// An acknowledgement of its own.
    Ack(Ack),
    /// All that the receiver misses, up to a point.
    Missing(Missing),
    /// Protection begins or ends.
    Hello(Hello),
}

impl Signal {
    /// Whether it travels in front of a frame of somebody else's; the others are frames of the link's own.
    pub const fn is_data(&self) -> bool {
        matches!(self, Self::Data { .. } | Self::Loose { .. })
    }

    /// Bytes by which the frame behind it grows: 6, or 10 with an ACK on its back. None in a frame of the link's own.
    #[inline]
    pub const fn added_len(&self) -> u32 {
        match self {
            Self::Data { ack, .. } | Self::Loose { ack, .. } => header::data_len(ack.is_some()) as u32,
            _ => 0,
        }
    }

    /// The length on the wire, MAC header to FCS, with a frame of `carried_bytes` behind it. The link's own frames carry nothing,
    /// and all are as short as a frame can be.
    #[inline]
    pub const fn frame_len(&self, carried_bytes: u32) -> u32 {
        match self {
            Self::Data { .. } | Self::Loose { .. } => carried_bytes + self.added_len(),
            _ => MIN_FRAME_BYTES,
        }
    }

    /// The number that it has or is about: its own, the next one, the first that is missing. A hello is about none: 0.
    #[inline]
    pub const fn number(&self) -> u32 {
        match *self {
            Self::Data { seq, .. } => seq,
            Self::Dummy { next, .. } | Self::Loose { next, .. } => next,
            Self::Ack(ack) | Self::Missing(Missing { ack, hole_count: 0, .. }) => ack.next,
            Self::Missing(Missing { holes, .. }) => holes[0].first,
            Self::Hello(_) => 0,
        }
    }

    /// The acknowledgement in it, whatever else it says.
    #[inline]
    pub const fn ack(&self) -> Option<Ack> {
        match *self {
            Self::Data { ack, .. } | Self::Dummy { ack, .. } | Self::Loose { ack, .. } => ack,
            Self::Ack(ack) | Self::Missing(Missing { ack, .. }) => Some(ack),
            Self::Hello(_) => None,
        }
    }
}

/// What a receiver has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// Of the direction that is acknowledged.
    pub epoch: u8,
    /// Everything before this number is settled: arrived, or given up.
    pub next: u32,
    /// No normal frames for a while: the reordering buffer is filling.
    pub pause: bool,
}

/// What a receiver misses. It says a state and not a change, so that one that is lost is made good by the next, and one that
/// comes twice does nothing new.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Missing {
    /// What there is to say besides.
    pub ack: Ack,
    /// Of the numbers before this one and not before the first hole, exactly those in `holes` are missing. The first hole is
    /// at `ack.next`, unless there are more than fit: then the next notification goes on where this one ends.
    pub upto: u32,
    /// Ascending and apart; the first `hole_count` mean something.
    pub holes: [Hole; Missing::HOLES_MAX],
    /// How many.
    pub hole_count: u8,
}

impl Missing {
    /// Holes in one frame: more wait for the next one.
    pub const HOLES_MAX: usize = 6;
}

/// Numbers that are missing in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Hole {
    /// The first.
    pub first: u32,
    /// How many.
    pub len: u16,
}

/// Protection begins or ends in one direction. It travels both ways.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hello {
    /// What is said.
    pub kind: HelloKind,
    /// The whole epoch: another one for every start.
    pub epoch: u32,
    /// For an answer to carry back: the sender's clock in nanoseconds, as far as it goes. In a [`HelloKind::Close`] it is the
    /// number that the next frame would have had.
    pub stamp_ns: u32,
    /// The round trip as measured by the sender of the direction; 0 as long as it is not known.
    pub rtt_ns: u32,
}

/// What a [`Hello`] says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HelloKind {
    /// From the sender: I want to protect what I send. Without a round trip it only asks for an answer.
    Open,
    /// From the receiver: I am ready, or was.
    Accept,
    /// From the sender: what follows is no longer protected.
    Close,
    /// From the receiver: so be it.
    Closed,
    /// From the receiver: a numbered frame came, and I know of no such epoch.
    Unknown,
}
