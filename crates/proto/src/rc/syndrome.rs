//! What an acknowledgement says: the syndrome byte of an AETH (IBA 9.7.5).

use wiremend_units::Span;

/// The meaning of a syndrome byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Syndrome {
    /// Received; the low five bits are a credit code.
    Ack {
        /// Credit code; [`Syndrome::NO_CREDITS`] if end-to-end credits are not used.
        credit: u8,
    },
    /// No receive buffer is posted: try again after the time that the code stands for.
    NotReady {
        /// Timer code, five bits.
        timer: u8,
    },
    /// Refused.
    Nak(Nak),
    /// A value that the specification reserves.
    Reserved(u8),
}

/// Why a request was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nak {
    /// A packet before this one is missing; the only reason that is repaired by sending again.
    Sequence,
    /// The request breaks the protocol.
    InvalidRequest,
    /// The memory may not be accessed.
    RemoteAccess,
    /// The responder cannot do it for a reason of its own.
    RemoteOperation,
}

impl Syndrome {
    /// Credit code of a responder that does not count credits.
    pub const NO_CREDITS: u8 = 0x1F;
    /// The usual acknowledgement.
    pub const ACK: Self = Self::Ack { credit: Self::NO_CREDITS };

    /// The byte on the wire.
    #[inline]
    pub const fn to_byte(self) -> u8 {
        match self {
            Self::Ack { credit } => credit & 0x1F,
            Self::NotReady { timer } => 0x20 | (timer & 0x1F),
            Self::Nak(Nak::Sequence) => 0x60,
            Self::Nak(Nak::InvalidRequest) => 0x61,
            Self::Nak(Nak::RemoteAccess) => 0x62,
            Self::Nak(Nak::RemoteOperation) => 0x63,
            Self::Reserved(byte) => byte,
        }
    }

    /// From the byte on the wire; every value means something.
    #[inline]
    pub const fn from_byte(byte: u8) -> Self {
        match byte {
            0x00..=0x1F => Self::Ack { credit: byte },
            0x20..=0x3F => Self::NotReady { timer: byte & 0x1F },
            0x60 => Self::Nak(Nak::Sequence),
            0x61 => Self::Nak(Nak::InvalidRequest),
            0x62 => Self::Nak(Nak::RemoteAccess),
            0x63 => Self::Nak(Nak::RemoteOperation),
            _ => Self::Reserved(byte),
        }
    }

    /// Anything but an acknowledgement.
    #[inline]
    pub const fn is_nak(self) -> bool {
        !matches!(self, Self::Ack { .. })
    }
}

/// Hundredths of a millisecond for each timer code. Code 0 is the longest.
const RNR_10US: [u64; 32] = [
    65_536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1_024, 1_536, 2_048,
    3_072, 4_096, 6_144, 8_192, 12_288, 16_384, 24_576, 32_768, 49_152,
];

/// How long a requester waits after "receiver not ready" with this timer code; only the low five bits count.
pub const fn rnr_wait(timer: u8) -> Span {
    Span::from_us(10 * RNR_10US[(timer & 0x1F) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives_the_round_trip() {
        for byte in 0..=u8::MAX {
            assert_eq!(Syndrome::from_byte(byte).to_byte(), byte);
        }
        assert_eq!(Syndrome::ACK.to_byte(), 0x1F);
        assert_eq!(Syndrome::from_byte(0x64), Syndrome::Reserved(0x64), "for reliable datagrams only");
    }

    #[test]
    fn not_ready_timer_codes_match_the_table() {
        assert_eq!(rnr_wait(0), Span::from_us(655_360));
        assert_eq!(rnr_wait(1), Span::from_us(10));
        assert_eq!(rnr_wait(12), Span::from_us(640));
        assert_eq!(rnr_wait(31), Span::from_us(491_520));
    }
}
