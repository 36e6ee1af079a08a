//! The operations of a base transport header (IBA 9.2.1), for reliable connections and the congestion notification.

use crate::Malformed;

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
    Cnp = 0x81,
}

impl Opcode {
    /// A RETH follows the BTH.
    pub const fn has_reth(self) -> bool {
        matches!(self, Self::WriteFirst | Self::WriteOnly | Self::WriteOnlyImm | Self::ReadRequest)
    }

    /// An AETH follows the BTH.
    pub const fn has_aeth(self) -> bool {
        matches!(
            self,
            Self::ReadResponseFirst
                | Self::ReadResponseLast
                | Self::ReadResponseOnly
                | Self::Acknowledge
                | Self::AtomicAcknowledge
        )
    }

    /// Immediate data follows.
    pub const fn has_imm(self) -> bool {
        matches!(self, Self::SendLastImm | Self::SendOnlyImm | Self::WriteLastImm | Self::WriteOnlyImm)
    }

    /// The packet travels from responder to requester.
    pub const fn is_response(self) -> bool {
        matches!(self as u8, 0x0D..=0x12)
    }
}

impl TryFrom<u8> for Opcode {
    type Error = Malformed;
    fn try_from(byte: u8) -> Result<Self, Malformed> {
        const ALL: [Opcode; 25] = [
            Opcode::SendFirst,
            Opcode::SendMiddle,
            Opcode::SendLast,
            Opcode::SendLastImm,
            Opcode::SendOnly,
            Opcode::SendOnlyImm,
            Opcode::WriteFirst,
            Opcode::WriteMiddle,
            Opcode::WriteLast,
            Opcode::WriteLastImm,
            Opcode::WriteOnly,
            Opcode::WriteOnlyImm,
            Opcode::ReadRequest,
            Opcode::ReadResponseFirst,
            Opcode::ReadResponseMiddle,
            Opcode::ReadResponseLast,
            Opcode::ReadResponseOnly,
            Opcode::Acknowledge,
            Opcode::AtomicAcknowledge,
            Opcode::CompareSwap,
            Opcode::FetchAdd,
            Opcode::SendLastInvalidate,
            Opcode::SendOnlyInvalidate,
            Opcode::UcSendOnly,
            Opcode::Cnp,
        ];
        ALL.into_iter().find(|opcode| *opcode as u8 == byte).ok_or(Malformed::Opcode(byte))
    }
}
