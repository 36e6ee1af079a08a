//! The acknowledge extended transport header (IBA 9.3, 9.7.5.2).

use wiremend_units::Span;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{be24, from_be24};
use crate::{Malformed, view};

/// Acknowledge header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AethRepr {
    /// Kind of acknowledgement.
    pub syndrome: Syndrome,
    /// Message sequence number: 24 bits that wrap, higher bits are ignored.
    pub msn: u32,
}

/// Kind of acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Syndrome {
    /// Acknowledges all packets up to this one.
    Ack {
        /// Further messages that the requester may send.
        credits: Credits,
    },
    /// The responder has no receive buffer for this packet.
    Rnr {
        /// Time that the requester must wait.
        timer: RnrTimer,
    },
    /// The packet was refused.
    Nak(NakCode),
    /// A reserved value.
    Reserved(u8),
}

/// Reason of a NAK.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum NakCode {
    /// A packet before this one is missing.
    PsnSequence = 0,
    /// The operation is not allowed here, or the packets of a message are out of sequence.
    InvalidRequest = 1,
    /// The key does not permit it.
    RemoteAccess = 2,
    /// The responder failed.
    RemoteOperational = 3,
    /// Reliable datagrams only.
    InvalidRdRequest = 4,
}

/// Credit code: five bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Credits(u8);

/// RNR timer code: five bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RnrTimer(u8);

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Aeth {
    syndrome: u8,
    msn: [u8; 3],
}
const _: () = assert!(size_of::<Aeth>() == AethRepr::BYTES);

const VALUE_MASK: u8 = 0x1F;
const RNR: u8 = 0x20;
const NAK: u8 = 0x60;

impl AethRepr {
    /// The length of the header.
    pub const BYTES: usize = 4;

    /// Parses the header; returns it and the remaining bytes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (aeth, rest) = view::split::<Aeth>(bytes, "AETH")?;
        Ok((Self { syndrome: Syndrome::from_byte(aeth.syndrome), msn: from_be24(aeth.msn) }, rest))
    }

    /// Writes the header into `buffer` of its length.
    pub fn emit(&self, buffer: &mut [u8]) {
        view::fill(&Aeth { syndrome: self.syndrome.to_byte(), msn: be24(self.msn) }, buffer);
    }
}

impl Syndrome {
    /// An acknowledgement without credits, as most responders send it.
    pub const ACK: Self = Self::Ack { credits: Credits::UNLIMITED };

    /// Decodes a syndrome byte.
    #[inline]
    pub const fn from_byte(byte: u8) -> Self {
        let value = byte & VALUE_MASK;
        match byte & !VALUE_MASK {
            0 => Self::Ack { credits: Credits(value) },
            RNR => Self::Rnr { timer: RnrTimer(value) },
            NAK => match value {
                0 => Self::Nak(NakCode::PsnSequence),
                1 => Self::Nak(NakCode::InvalidRequest),
                2 => Self::Nak(NakCode::RemoteAccess),
                3 => Self::Nak(NakCode::RemoteOperational),
                4 => Self::Nak(NakCode::InvalidRdRequest),
                _ => Self::Reserved(byte),
            },
            _ => Self::Reserved(byte),
        }
    }

    /// Encodes the syndrome.
    #[inline]
    pub const fn to_byte(self) -> u8 {
        match self {
            Self::Ack { credits } => credits.0,
            Self::Rnr { timer } => RNR | timer.0,
            Self::Nak(code) => NAK | code as u8,
            Self::Reserved(byte) => byte,
        }
    }

    /// Whether it is not a positive acknowledgement.
    #[inline]
    pub const fn is_nak(self) -> bool {
        !matches!(self, Self::Ack { .. })
    }
}

impl Credits {
    /// Credits are not used.
    pub const UNLIMITED: Self = Self(0x1F);

    /// The low five bits of `code`.
    pub const fn from_code(code: u8) -> Self {
        Self(code & VALUE_MASK)
    }

    /// The code on the wire.
    pub const fn code(self) -> u8 {
        self.0
    }

    /// The largest number of messages that a code has and that is at most `count`.
    pub const fn at_most(count: u32) -> Self {
        let mut code = 0;
        while code + 1 < Self::UNLIMITED.0 && steps(code as u32 + 1) <= count {
            code += 1;
        }
        Self(code)
    }

    /// Number of messages; `None` if credits are not used.
    pub const fn count(self) -> Option<u32> {
        if self.0 == Self::UNLIMITED.0 { None } else { Some(steps(self.0 as u32)) }
    }
}

impl RnrTimer {
    /// The low five bits of `code`.
    pub const fn from_code(code: u8) -> Self {
        Self(code & VALUE_MASK)
    }

    /// The code on the wire.
    pub const fn code(self) -> u8 {
        self.0
    }

    /// The time of the code: from 10 µs (code 1) to 491.52 ms (code 31), and 655.36 ms (code 0).
    pub const fn span(self) -> Span {
        const WRAPPED: u32 = VALUE_MASK as u32 + 1;
        let code = if self.0 == 0 { WRAPPED } else { self.0 as u32 };
        Span::from_us(10 * steps(code) as u64)
    }
}

/// The sequence of both tables: 0, 1, 2, 3, 4, 6, 8, 12, 16 …, each power of two followed by 1.5 times its
/// value (IBA 9.7.5.2).
const fn steps(code: u32) -> u32 {
    match code {
        0 | 1 => code,
        even if even % 2 == 0 => 1 << (even / 2),
        odd => 3 << (odd / 2 - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_codes_match_the_table() {
        let table = [
            0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048,
            3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
        ];
        for (code, count) in table.into_iter().enumerate() {
            assert_eq!(Credits::from_code(code as u8).count(), Some(count), "code {code}");
        }
        assert_eq!(Credits::from_code(31).count(), None);
        let at_most = [0, 5, 7, 511, 512, 32_767, u32::MAX].map(|count| Credits::at_most(count).count());
        assert_eq!(at_most, [0, 4, 6, 384, 512, 24_576, 32_768].map(Some));
    }

    #[test]
    fn rnr_timers_match_the_table() {
        let table_us = [
            655_360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1_280, 1_920, 2_560, 3_840,
            5_120, 7_680, 10_240, 15_360, 20_480, 30_720, 40_960, 61_440, 81_920, 122_880, 163_840, 245_760,
            327_680, 491_520,
        ];
        for (code, us) in table_us.into_iter().enumerate() {
            assert_eq!(RnrTimer::from_code(code as u8).span(), Span::from_us(us), "code {code}");
        }
    }

    #[test]
    fn every_syndrome_byte_survives() {
        for byte in 0..=u8::MAX {
            assert_eq!(Syndrome::from_byte(byte).to_byte(), byte);
        }
        assert_eq!(Syndrome::from_byte(0x1F), Syndrome::ACK);
        assert!(
            !Syndrome::ACK.is_nak()
                && [0x20, 0x60, 0x80].iter().all(|byte| Syndrome::from_byte(*byte).is_nak())
        );
        assert_eq!(Syndrome::from_byte(0x60), Syndrome::Nak(NakCode::PsnSequence));
        assert_eq!(Syndrome::from_byte(0x2E), Syndrome::Rnr { timer: RnrTimer::from_code(14) });
        for reserved in [0x40, 0x5F, 0x65, 0x7F, 0x80, 0xE0, 0xFF] {
            assert_eq!(Syndrome::from_byte(reserved), Syndrome::Reserved(reserved));
        }
    }
}
