//! The sending end of a lane: when it is free, and what becomes of a frame that is handed to it.

use wiremend_units::{Bytes, LaneId, Rate, Span, Time};

use crate::frame::GAP_BYTES;

/// The sending end of a lane. Half a cache line.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub(crate) struct Port {
    /// When the last settled frame has left.
    pub(crate) busy_until: Time,
    pub(crate) delay: Span,
    /// Frames for which there was no room.
    pub(crate) dropped: u64,
    /// Picoseconds a byte takes, if that is a whole number; else 0.
    pub(crate) ps_per_byte: u32,
    /// The part that the lane's other end belongs to.
    pub(crate) to_part: u16,
    pub(crate) intake: Intake,
    pub(crate) wire: Wire,
}

const _: () = assert!(size_of::<Port>() == 32);

/// What becomes of a frame that a switch hands to a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Intake {
    /// Its departure is settled at once, behind all that were settled before it.
    Settle,
    /// The same if the wire is free; else it is for the port's kind to say.
    SettleIfFree,
    /// It is for the port's kind to say whether there is room; what finds some is settled at once, and nothing waits.
    Admit,
    /// It is for the port's kind to say.
    Queue,
}

/// What a frame meets on the wire beyond time.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Wire {
    bits: u8,
}

impl Wire {
    /// It corrupts frames.
    pub(crate) const IMPAIRED: u8 = 1;
    /// It ends in another part.
    pub(crate) const REMOTE: u8 = 2;
    /// Somebody wants to see what leaves over it.
    pub(crate) const WATCHED: u8 = 4;
    /// A switch sends over it that tells what it knows of the port.
    pub(crate) const TELEMETRY: u8 = 8;

    /// Nothing but time.
    #[inline]
    pub(crate) const fn is_plain(self) -> bool {
        self.bits == 0
    }

    #[inline]
    pub(crate) const fn has(self, bit: u8) -> bool {
        self.bits & bit != 0
    }

    pub(crate) const fn set(&mut self, bit: u8) {
        self.bits |= bit;
    }
}

impl Port {
    /// Time that so many bytes take, rounded up.
    #[inline]
    pub(crate) fn time_of(&self, bytes: u64, rate: Rate) -> Span {
        if self.ps_per_byte != 0 {
            Span::from_ps(bytes * u64::from(self.ps_per_byte))
        } else {
            rate.serialize(Bytes::new(bytes))
        }
    }

    /// Time that a frame occupies the wire, with preamble and gap.
    #[inline]
    pub(crate) fn serialize(&self, len: u16, rates: &[Rate], lane: LaneId) -> Span {
        let bytes = u64::from(len) + GAP_BYTES;
        if self.ps_per_byte != 0 {
            Span::from_ps(bytes * u64::from(self.ps_per_byte))
        } else {
            rates[lane.index()].serialize(Bytes::new(bytes))
        }
    }
}
