//! The operations of a base transport header (IBA 9.2), for reliable connections and the congestion notification.

use std::fmt;

use crate::{Layout, Malformed};

macro_rules! opcodes {
    ($($(#[$doc:meta])* $opcode:ident = $byte:literal, $name:literal, $layout:ident;)+) => {
        /// Operation of a packet. Values are those on the wire: service in the top three bits, operation
        /// below.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        #[expect(missing_docs, reason = "the names are those of the specification")]
        pub enum Opcode {
            $($(#[$doc])* $opcode = $byte,)+
        }

        impl Opcode {
            /// Every operation, in the order of the wire values.
            pub const ALL: [Self; [$($byte),+].len()] = [$(Self::$opcode),+];

            /// The extension headers after the BTH.
            #[inline]
            pub const fn layout(self) -> Layout {
                match self {
                    $(Self::$opcode => Layout::$layout,)+
                }
            }

            /// Name as in other tools: the verb in capitals, then the position in the message.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$opcode => $name,)+
                }
            }
        }
    };
}

// Value on the wire, name, extension headers.
opcodes! {
    SendFirst = 0x00, "SEND first", Bare;
    SendMiddle = 0x01, "SEND middle", Bare;
    SendLast = 0x02, "SEND last", Bare;
    SendLastImm = 0x03, "SEND last with immediate", Imm;
    SendOnly = 0x04, "SEND only", Bare;
    SendOnlyImm = 0x05, "SEND only with immediate", Imm;
    WriteFirst = 0x06, "WRITE first", Reth;
    WriteMiddle = 0x07, "WRITE middle", Bare;
    WriteLast = 0x08, "WRITE last", Bare;
    WriteLastImm = 0x09, "WRITE last with immediate", Imm;
    WriteOnly = 0x0A, "WRITE only", Reth;
    WriteOnlyImm = 0x0B, "WRITE only with immediate", RethImm;
    ReadRequest = 0x0C, "READ request", Reth;
    ReadResponseFirst = 0x0D, "READ response first", Aeth;
    ReadResponseMiddle = 0x0E, "READ response middle", Bare;
    ReadResponseLast = 0x0F, "READ response last", Aeth;
    ReadResponseOnly = 0x10, "READ response only", Aeth;
    Acknowledge = 0x11, "ACK", Aeth;
    AtomicAcknowledge = 0x12, "ATOMIC ACK", AethAtomicAck;
    CompareSwap = 0x13, "COMPARE & SWAP", AtomicEth;
    FetchAdd = 0x14, "FETCH & ADD", AtomicEth;
    SendLastInvalidate = 0x16, "SEND last with invalidate", Ieth;
    SendOnlyInvalidate = 0x17, "SEND only with invalidate", Ieth;
    /// The unreliable-connection operation of the reference vectors.
    UcSendOnly = 0x24, "UC SEND only", Bare;
    /// An unreliable datagram, used by connection management.
    UdSendOnly = 0x64, "UD SEND only", Deth;
    UdSendOnlyImm = 0x65, "UD SEND only with immediate", DethImm;
    Cnp = 0x81, "CNP", Cnp;
}

impl Opcode {
    /// Whether a RETH follows the BTH.
    #[inline]
    pub const fn has_reth(self) -> bool {
        matches!(self.layout(), Layout::Reth | Layout::RethImm)
    }

    /// Whether an AETH follows the BTH.
    #[inline]
    pub const fn has_aeth(self) -> bool {
        matches!(self.layout(), Layout::Aeth | Layout::AethAtomicAck)
    }

    /// Whether immediate data follow.
    #[inline]
    pub const fn has_imm(self) -> bool {
        matches!(self.layout(), Layout::Imm | Layout::RethImm | Layout::DethImm)
    }

    /// Whether the packet is sent from responder to requester.
    #[inline]
    pub const fn is_response(self) -> bool {
        matches!(self as u8, 0x0D..=0x12)
    }

    /// Whether it is a packet of a READ response.
    #[inline]
    pub const fn is_read_response(self) -> bool {
        matches!(self as u8, 0x0D..=0x10)
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
    fn every_byte_is_at_most_one_operation() {
        let known: Vec<_> = (0..=u8::MAX).filter_map(|byte| Opcode::try_from(byte).ok()).collect();
        assert_eq!(known, Opcode::ALL);
        for opcode in known {
            assert_eq!(Opcode::try_from(opcode as u8), Ok(opcode));
        }
        assert_eq!(Opcode::try_from(0x15), Err(Malformed::Opcode(0x15)));
    }

    #[test]
    fn all_responses_but_middle_ones_have_an_aeth() {
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
