//! The sending end of a lane: when it is free, and how it accepts frames.

use wiremend_units::{Bytes, LaneId, Rate, Span, Time};

use crate::frame::GAP_BYTES;

/// The sending end of a lane. Half a cache line.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub(crate) struct Port {
    /// When the last frame with a fixed departure has left.
    pub(crate) busy_until: Time,
    pub(crate) delay: Span,
    /// Frames, or bits with [`WireFlags::BIT_ERRORS`], that certainly pass before the lane's impairments decide
    /// again. They lie elsewhere in memory.
    pub(crate) clean: u64,
    /// Picoseconds per byte, if that is a whole number; otherwise 0.
    pub(crate) ps_per_byte: u32,
    pub(crate) to_partition: u16,
    pub(crate) intake: Intake,
    pub(crate) flags: WireFlags,
}

const _: () = assert!(size_of::<Port>() == 32);

/// How a switch port accepts a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Intake {
    /// It fixes the departure immediately, behind all frames before it.
    Immediate,
    /// It fixes the departure immediately if the wire is free. Otherwise the kind of port decides.
    ImmediateIfFree,
    /// The kind of port decides whether the buffer has room. Admitted frames get their departure immediately;
    /// none waits.
    Admit,
    /// The kind of port decides.
    Queue,
}

/// Properties of a lane beyond rate and delay.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct WireFlags {
    bits: u8,
}

impl WireFlags {
    /// The lane corrupts frames.
    pub(crate) const IMPAIRED: u8 = 1;
    /// The lane ends in another partition.
    pub(crate) const REMOTE: u8 = 2;
    /// The lane is captured or traced.
    pub(crate) const RECORDED: u8 = 4;
    /// The sending switch adds telemetry.
    pub(crate) const TELEMETRY: u8 = 8;
    /// The lane corrupts bits, not whole frames.
    pub(crate) const BIT_ERRORS: u8 = 16;

    /// The link fails at times.
    pub(crate) const FAILS: u8 = 32;

    /// Returns whether no flag is set.
    #[inline]
    pub(crate) const fn is_plain(self) -> bool {
        self.bits == 0
    }

    /// Returns whether nobody but the lane's impairments and its receiver, which is in this partition, looks at its
    /// frames.
    #[inline]
    pub(crate) const fn is_plain_or_impaired(self) -> bool {
        self.bits & !(Self::BIT_ERRORS | Self::IMPAIRED) == 0
    }

    #[inline]
    const fn is_impaired_only(self) -> bool {
        self.bits & !Self::BIT_ERRORS == Self::IMPAIRED
    }

    #[inline]
    const fn without(self, bit: u8) -> Self {
        Self { bits: self.bits & !bit }
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
    /// Returns whether a frame passes the lane's impairments for sure, and counts it. `false` if anything else
    /// looks at frames of the lane.
    #[inline]
    pub(crate) fn certainly_passes(&mut self, len: u16) -> bool {
        let passes = self.will_pass(len);
        self.clean -= if passes && !self.flags.is_plain() { self.trials(len) } else { 0 };
        passes
    }

    /// As [`Port::certainly_passes`], for the frame that is sent next, without counting it.
    #[inline]
    pub(crate) fn will_pass(&self, len: u16) -> bool {
        self.flags.is_plain() || self.flags.is_impaired_only() && self.clean >= self.trials(len)
    }

    /// As [`Port::certainly_passes`], also for a lane that ends in another partition.
    #[inline]
    pub(super) fn certainly_crosses(&mut self, len: u16) -> bool {
        let wire = self.flags.without(WireFlags::REMOTE);
        let passes = wire.is_plain() || wire.is_impaired_only() && self.clean >= self.trials(len);
        self.clean -= if passes && !wire.is_plain() { self.trials(len) } else { 0 };
        passes
    }

    /// Returns whether the lane ends in another partition.
    #[inline]
    pub(super) const fn is_remote(&self) -> bool {
        self.flags.has(WireFlags::REMOTE)
    }

    /// Returns how often impairments decide about a frame.
    #[inline]
    fn trials(&self, len: u16) -> u64 {
        if self.flags.has(WireFlags::BIT_ERRORS) { u64::from(len) * 8 } else { 1 }
    }

    /// Returns the transmission time of `bytes`, rounded up.
    #[inline]
    pub(crate) fn wire_time(&self, bytes: u64, rate: Rate) -> Span {
        if self.ps_per_byte != 0 {
            Span::from_ps(bytes * u64::from(self.ps_per_byte))
        } else {
            rate.serialize(Bytes::new(bytes))
        }
    }

    /// Returns the transmission time of a frame, with preamble and gap.
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
