//! The sending end of a lane: when it is free, and what sets it apart.

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
    pub(crate) flags: PortFlags,
    /// The part that the lane's other end belongs to.
    pub(crate) to_part: u16,
}

const _: () = assert!(size_of::<Port>() == 32);

/// What sets a port apart from the plain, unlimited, clean first-in-first-out one inside a part.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct PortFlags {
    bits: u16,
}

impl PortFlags {
    pub(crate) const IMPAIRED: u16 = 1;
    pub(crate) const EGRESS: u16 = 2;
    pub(crate) const REMOTE: u16 = 4;
    pub(crate) const WATCHED: u16 = 8;
    /// What is handed to it may be marked.
    pub(crate) const MARKING: u16 = 16;
    /// It is the end of a protected link.
    pub(crate) const GUARDED: u16 = 32;
    /// It is a switch's.
    pub(crate) const SWITCH: u16 = 64;
    /// It is a lossless switch's.
    pub(crate) const LOSSLESS: u16 = 128;
    /// Of a lossless switch: something waits, or a class is or may be held.
    pub(crate) const OCCUPIED: u16 = 256;
    /// Of a lossless switch: it has something to say to its neighbour.
    pub(crate) const SPEAKING: u16 = 512;
    /// Of a lossless switch: departures of the past may be settled when somebody asks.
    pub(crate) const LAZY: u16 = 1024;
    /// Of a lossless switch: a watchdog throws away what comes for some class.
    pub(crate) const STORMING: u16 = 2048;

    /// What is handed to it may be cut to its headers.
    pub(crate) const TRIMMING: u16 = 4096;

    /// Frames wait in its queues: it does not settle departures when they come.
    pub(crate) const QUEUEING: u16 = 8192;

    /// What a frame meets on the wire beyond time.
    pub(crate) const MARKED: u16 = Self::IMPAIRED | Self::REMOTE | Self::WATCHED;

    pub(crate) const fn new(bits: u16) -> Self {
        Self { bits }
    }

    #[inline]
    pub(crate) const fn has(self, flag: u16) -> bool {
        self.bits & flag != 0
    }

    #[inline]
    pub(crate) const fn set(&mut self, flag: u16) {
        self.bits |= flag;
    }

    #[inline]
    pub(crate) const fn clear(&mut self, flag: u16) {
        self.bits &= !flag;
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
