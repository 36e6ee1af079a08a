//! The `ToS` byte of IPv4 and the traffic class of IPv6 (RFC 2474, RFC 3168).

/// DSCP and ECN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TrafficClass {
    /// Differentiated services code point: six bits, higher bits are ignored.
    pub dscp: u8,
    /// Explicit congestion notification.
    pub ecn: Ecn,
}

/// ECN field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not-ECT: the sender does not react to ECN marks.
    #[default]
    NotEct = 0b00,
    /// ECT(1).
    Ect1 = 0b01,
    /// ECT(0).
    Ect0 = 0b10,
    /// CE: a switch marked the packet.
    Ce = 0b11,
}

impl TrafficClass {
    pub(crate) const fn from_byte(byte: u8) -> Self {
        let ecn = match byte & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        };
        Self { dscp: byte >> 2, ecn }
    }

    pub(crate) const fn to_byte(self) -> u8 {
        self.dscp << 2 | self.ecn as u8
    }
}
