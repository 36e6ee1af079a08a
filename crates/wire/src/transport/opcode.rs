//! The operations of a base transport header (IBA 9.2), for reliable connections and the congestion notification.

use std::fmt;

use crate::{Layout, Malformed};

/// What a packet is. The values are those on the wire: service in the top three bits, operation below.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are those of the specification")]
pub enum Opcode {
    SendFirst = 0x00,
    SendMiddle = 0x01,
    SendLast = 0x02,
    SendLastImm = 0x03,
    SendOnly = 0x04,
    SendOnlyImm = 0x05,
    WriteFirst = 0x06,
    WriteMiddle = 0x07,
    WriteLast = 0x08,
    WriteLastImm = 0x09,
    WriteOnly = 0x0A,
    WriteOnlyImm = 0x0B,
    ReadRequest = 0x0C,
    ReadResponseFirst = 0x0D,
    ReadResponseMiddle = 0x0E,
    ReadResponseLast = 0x0F,
    ReadResponseOnly = 0x10,
    Acknowledge = 0x11,
    AtomicAcknowledge = 0x12,
    CompareSwap = 0x13,
    FetchAdd = 0x14,
    SendLastInvalidate = 0x16,
    SendOnlyInvalidate = 0x17,
    /// The one unreliable-connection operation that the reference vectors need.
    UcSendOnly = 0x24,
    /// An unreliable datagram: connection management travels in these.
    UdSendOnly = 0x64,
    UdSendOnlyImm = 0x65,
    Cnp = 0x81,
}

impl Opcode {
    /// Every operation, in the order of the wire values.
    pub const ALL: [Self; 27] = [
        Self::SendFirst,
        Self::SendMiddle,
        Self::SendLast,
        Self::SendLastImm,
        Self::SendOnly,
        Self::SendOnlyImm,
        Self::WriteFirst,
        Self::WriteMiddle,
        Self::WriteLast,
        Self::WriteLastImm,
        Self::WriteOnly,
        Self::WriteOnlyImm,
        Self::ReadRequest,
        Self::ReadResponseFirst,
        Self::ReadResponseMiddle,
        Self::ReadResponseLast,
        Self::ReadResponseOnly,
        Self::Acknowledge,
        Self::AtomicAcknowledge,
        Self::CompareSwap,
        Self::FetchAdd,
        Self::SendLastInvalidate,
        Self::SendOnlyInvalidate,
        Self::UcSendOnly,
        Self::UdSendOnly,
        Self::UdSendOnlyImm,
        Self::Cnp,
    ];

    /// Which extension headers follow the BTH.
    #[inline]
    pub const fn layout(self) -> Layout {
        match self {
            Self::SendFirst
            | Self::SendMiddle
            | Self::SendLast
            | Self::SendOnly
            | Self::WriteMiddle
            | Self::WriteLast
            | Self::ReadResponseMiddle
            | Self::UcSendOnly => Layout::Bare,
            Self::SendLastImm | Self::SendOnlyImm | Self::WriteLastImm => Layout::Imm,
            Self::SendLastInvalidate | Self::SendOnlyInvalidate => Layout::Ieth,
            Self::WriteFirst | Self::WriteOnly | Self::ReadRequest => Layout::Reth,
            Self::WriteOnlyImm => Layout::RethImm,
            Self::ReadResponseFirst | Self::ReadResponseLast | Self::ReadResponseOnly | Self::Acknowledge => {
                Layout::Aeth
            }
            Self::AtomicAcknowledge => Layout::AethAtomicAck,
            Self::CompareSwap | Self::FetchAdd => Layout::AtomicEth,
            Self::UdSendOnly => Layout::Deth,
            Self::UdSendOnlyImm => Layout::DethImm,
            Self::Cnp => Layout::Cnp,
        }
    }

    /// A RETH follows the BTH.
    #[inline]
    pub const fn has_reth(self) -> bool {
        matches!(self.layout(), Layout::Reth | Layout::RethImm)
    }

    /// An AETH follows the BTH.
    #[inline]
    pub const fn has_aeth(self) -> bool {
        matches!(self.layout(), Layout::Aeth | Layout::AethAtomicAck)
    }

    /// Immediate data follows.
    #[inline]
    pub const fn has_imm(self) -> bool {
        matches!(self.layout(), Layout::Imm | Layout::RethImm | Layout::DethImm)
    }

    /// The packet travels from responder to requester.
    #[inline]
    pub const fn is_response(self) -> bool {
        matches!(self as u8, 0x0D..=0x12)
    }

    /// A packet of a READ's answer.
    #[inline]
    pub const fn is_read_response(self) -> bool {
        matches!(self as u8, 0x0D..=0x10)
    }

    /// As people and other tools write it: the verb in capitals, then the position in the message.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SendFirst => "SEND first",
            Self::SendMiddle => "SEND middle",
            Self::SendLast => "SEND last",
            Self::SendLastImm => "SEND last with immediate",
            Self::SendOnly => "SEND only",
            Self::SendOnlyImm => "SEND only with immediate",
            Self::WriteFirst => "WRITE first",
            Self::WriteMiddle => "WRITE middle",
            Self::WriteLast => "WRITE last",
            Self::WriteLastImm => "WRITE last with immediate",
            Self::WriteOnly => "WRITE only",
            Self::WriteOnlyImm => "WRITE only with immediate",
            Self::ReadRequest => "READ request",
            Self::ReadResponseFirst => "READ response first",
            Self::ReadResponseMiddle => "READ response middle",
            Self::ReadResponseLast => "READ response last",
            Self::ReadResponseOnly => "READ response only",
            Self::Acknowledge => "ACK",
            Self::AtomicAcknowledge => "ATOMIC ACK",
            Self::CompareSwap => "COMPARE & SWAP",
            Self::FetchAdd => "FETCH & ADD",
            Self::SendLastInvalidate => "SEND last with invalidate",
            Self::SendOnlyInvalidate => "SEND only with invalidate",
            Self::UcSendOnly => "UC SEND only",
            Self::UdSendOnly => "UD SEND only",
            Self::UdSendOnlyImm => "UD SEND only with immediate",
            Self::Cnp => "CNP",
        }
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl TryFrom<u8> for Opcode {
    type Error = Malformed;
    fn try_from(byte: u8) -> Result<Self, Malformed> {
        const BY_BYTE: [Option<Opcode>; 256] = by_byte();
        BY_BYTE[byte as usize].ok_or(Malformed::Opcode(byte))
    }
}

const fn by_byte() -> [Option<Opcode>; 256] {
    let mut table = [None; 256];
    let mut next = 0;
    while next < Opcode::ALL.len() {
        table[Opcode::ALL[next] as usize] = Some(Opcode::ALL[next]);
        next += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_one_operation_or_none() {
        let known: Vec<_> = (0..=u8::MAX).filter_map(|byte| Opcode::try_from(byte).ok()).collect();
        assert_eq!(known, Opcode::ALL);
        for opcode in known {
            assert_eq!(Opcode::try_from(opcode as u8), Ok(opcode));
        }
        assert_eq!(Opcode::try_from(0x15), Err(Malformed::Opcode(0x15)));
    }

    #[test]
    fn responses_carry_an_aeth_but_in_the_middle() {
        for opcode in Opcode::ALL {
            assert_eq!(
                opcode.has_aeth(),
                opcode.is_response() && opcode != Opcode::ReadResponseMiddle,
                "{opcode}"
            );
            assert_eq!(opcode.is_read_response(), opcode.name().starts_with("READ response"), "{opcode}");
        }
    }
}
