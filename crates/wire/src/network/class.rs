//! The byte of IP that switches look at: `ToS` in version 4, traffic class in version 6 (RFC 2474, RFC 3168).

/// Service class and congestion mark.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TrafficClass {
    /// Differentiated services code point: six bits, the rest does not travel.
    pub dscp: u8,
    /// Congestion notification.
    pub ecn: Ecn,
}

/// What a packet says about congestion.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// The sender does not react to marks.
    #[default]
    NotCapable = 0b00,
    /// ECT(1).
    Capable1 = 0b01,
    /// ECT(0).
    Capable0 = 0b10,
    /// CE: a switch marked the packet.
    Congested = 0b11,
}

impl TrafficClass {
    pub(crate) const fn from_byte(byte: u8) -> Self {
        let ecn = match byte & 0b11 {
            0b00 => Ecn::NotCapable,
            0b01 => Ecn::Capable1,
            0b10 => Ecn::Capable0,
            _ => Ecn::Congested,
        };
        Self { dscp: byte >> 2, ecn }
    }

    pub(crate) const fn to_byte(self) -> u8 {
        self.dscp << 2 | self.ecn as u8
    }
}
