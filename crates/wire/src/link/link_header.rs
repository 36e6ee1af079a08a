//! Contents and lengths of link headers.

use super::bytes;
use crate::MIN_FRAME_BYTES;

/// The header of a frame on a protected link. Numbers have the width of the sequence space. Epochs have four
/// bits, except in a [`Hello`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkHeader {
    /// A carried frame follows.
    Data {
        /// Epoch of this direction.
        epoch: u8,
        /// Sequence number.
        seq: u32,
        /// Whether it must be delivered in order.
        ordered: bool,
        /// Whether it is a retransmission.
        retransmitted: bool,
        /// Piggybacked ACK.
        ack: Option<Ack>,
    },
    /// Announces the number of the next frame, which reveals missing frames before it.
    Dummy {
        /// Epoch of this direction.
        epoch: u8,
        /// Number of the next frame.
        next: u32,
        /// Piggybacked ACK.
        ack: Option<Ack>,
    },
    /// A carried frame follows that is not protected: it has no number and does not wait for others. It
    /// reveals missing frames like a dummy.
    Unprotected {
        /// Epoch of this direction.
        epoch: u8,
        /// Number of the next protected frame.
        next: u32,
        /// Piggybacked ACK.
        ack: Option<Ack>,
    },
    /// An ACK in a separate frame.
    Ack(Ack),
    /// The missing frames up to a number.
    Missing(Missing),
    /// Starts or ends protection.
    Hello(Hello),
}

impl LinkHeader {
    /// Whether a carried frame follows; otherwise it is a control frame.
    pub const fn is_data(&self) -> bool {
        matches!(self, Self::Data { .. } | Self::Unprotected { .. })
    }

    /// Bytes that the header adds to a carried frame: 6, or 10 with an ACK. 0 in a control frame.
    #[inline]
    pub const fn added_len(&self) -> u32 {
        match self {
            Self::Data { ack, .. } | Self::Unprotected { ack, .. } => bytes::data_len(ack.is_some()) as u32,
            _ => 0,
        }
    }

    /// Length on the wire, MAC header to FCS, with a carried frame of `carried_bytes`. Control frames have
    /// the Ethernet minimum.
    #[inline]
    pub const fn frame_len(&self, carried_bytes: u32) -> u32 {
        match self {
            Self::Data { .. } | Self::Unprotected { .. } => carried_bytes + self.added_len(),
            _ => MIN_FRAME_BYTES,
        }
    }

    /// The number of the frame, or the number that it refers to: the next one, or the first missing one. 0
    /// for a hello.
    #[inline]
    pub const fn number(&self) -> u32 {
        match *self {
            Self::Data { seq, .. } => seq,
            Self::Dummy { next, .. } | Self::Unprotected { next, .. } => next,
            Self::Ack(ack) | Self::Missing(Missing { ack, hole_count: 0, .. }) => ack.next,
            Self::Missing(Missing { holes, .. }) => holes[0].first,
            Self::Hello(_) => 0,
        }
    }

    /// The ACK in the header, if there is one.
    #[inline]
    pub const fn ack(&self) -> Option<Ack> {
        match *self {
            Self::Data { ack, .. } | Self::Dummy { ack, .. } | Self::Unprotected { ack, .. } => ack,
            Self::Ack(ack) | Self::Missing(Missing { ack, .. }) => Some(ack),
            Self::Hello(_) => None,
        }
    }
}

/// State of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// Epoch of the acknowledged direction.
    pub epoch: u8,
    /// All frames before this number have arrived or were given up.
    pub next: u32,
    /// Pauses normal frames: the reordering buffer is filling.
    pub pause: bool,
}

/// Missing frames of a receiver. It contains the complete state, so a lost notification is replaced by the
/// next, and a duplicate has no effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Missing {
    /// State of the receiver.
    pub ack: Ack,
    /// Between the first hole and this number, exactly the numbers in `holes` are missing. The first hole is
    /// at `ack.next`, unless there are more holes than fit: then the next notification continues where this
    /// one ends.
    pub upto: u32,
    /// Holes in ascending order without overlap; the first `hole_count` are valid.
    pub holes: [Hole; Missing::HOLES_MAX],
    /// Number of holes.
    pub hole_count: u8,
}

impl Missing {
    /// Most holes per frame; further ones follow in the next frame.
    pub const HOLES_MAX: usize = 6;
}

/// Consecutive missing numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Hole {
    /// First number.
    pub first: u32,
    /// Number of missing frames.
    pub len: u16,
}

/// Starts or ends protection of one direction. It is sent in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hello {
    /// Step of the handshake.
    pub kind: HelloKind,
    /// The complete epoch; different for every start.
    pub epoch: u32,
    /// Timestamp of the sender in nanoseconds, which an answer returns. In a [`HelloKind::Close`] it is the
    /// number of the next frame.
    pub stamp_ns: u32,
    /// Round-trip time measured by the sender of the direction; 0 while unknown.
    pub rtt_ns: u32,
}

/// Step of the handshake in a [`Hello`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HelloKind {
    /// From the sender: requests protection. Without a round-trip time it only requests an answer.
    Open,
    /// From the receiver: confirms protection.
    Accept,
    /// From the sender: the following frames are not protected.
    Close,
    /// From the receiver: confirms the end of protection.
    Closed,
    /// From the receiver: a numbered frame arrived with an unknown epoch.
    Unknown,
    /// From the receiver, which is about to stop: asks the sender to end protection.
    Leave,
    /// Asks for a sealed frame that echoes the counter of this one; see [`Seal`](super::Seal).
    Challenge,
}
