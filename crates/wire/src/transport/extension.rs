//! Headers between the BTH and the payload.

use super::{AethRepr, AtomicAckEthRepr, AtomicEthRepr, DethRepr, IethRepr, ImmDtRepr, RethRepr};
use crate::{Malformed, Opcode};

/// Extension headers by name, each with its parts in wire order.
macro_rules! extensions {
    ($($name:ident($($part:ident: $header:ident),+);)+) => {
        /// The extension headers of one packet, in wire order.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[expect(missing_docs, reason = "the names are those of the specification")]
        pub enum Extension {
            /// None: the payload follows the BTH.
            Bare,
            $($name($($header),+),)+
            /// The sixteen reserved bytes of a CNP: ignored by `parse`, written as zero.
            Cnp,
        }

        /// The extension headers of a packet, without their values.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[expect(missing_docs, reason = "the names are those of `Extension`")]
        pub enum Layout {
            Bare,
            $($name,)+
            Cnp,
        }

        impl Layout {
            /// Length of the headers.
            pub const fn bytes(self) -> usize {
                match self {
                    Self::Bare => 0,
                    $(Self::$name => 0 $(+ $header::BYTES)+,)+
                    Self::Cnp => CNP_RESERVED_BYTES,
                }
            }
        }

        impl Extension {
            /// The layout of these headers.
            pub const fn layout(&self) -> Layout {
                match self {
                    Self::Bare => Layout::Bare,
                    $(Self::$name(..) => Layout::$name,)+
                    Self::Cnp => Layout::Cnp,
                }
            }

            /// Parses the headers of `opcode`; returns them and the remaining bytes.
            pub fn parse(opcode: Opcode, bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
                match opcode.layout() {
                    Layout::Bare => Ok((Self::Bare, bytes)),
                    $(Layout::$name => {
                        let rest = bytes;
                        $(let ($part, rest) = $header::parse(rest)?;)+
                        Ok((Self::$name($($part),+), rest))
                    })+
                    Layout::Cnp => {
                        let split = bytes.split_at_checked(CNP_RESERVED_BYTES);
                        Ok((Self::Cnp, split.ok_or(Malformed::Truncated("CNP"))?.1))
                    }
                }
            }

            /// Writes the headers into `buffer` of their length.
            pub fn emit(&self, buffer: &mut [u8]) {
                assert_eq!(buffer.len(), self.buffer_len(), "a buffer has the length its headers ask for");
                match self {
                    Self::Bare => {}
                    $(Self::$name($($part),+) => {
                        let rest = buffer;
                        $(
                            let (bytes, rest) = rest.split_at_mut($header::BYTES);
                            $part.emit(bytes);
                        )+
                        assert!(rest.is_empty(), "every byte belongs to a header");
                    })+
                    Self::Cnp => buffer.fill(0),
                }
            }
        }
    };
}

extensions! {
    Imm(imm: ImmDtRepr);
    Ieth(ieth: IethRepr);
    Reth(reth: RethRepr);
    RethImm(reth: RethRepr, imm: ImmDtRepr);
    Aeth(aeth: AethRepr);
    AethAtomicAck(aeth: AethRepr, atomic: AtomicAckEthRepr);
    AtomicEth(atomic: AtomicEthRepr);
    Deth(deth: DethRepr);
    DethImm(deth: DethRepr, imm: ImmDtRepr);
}

const CNP_RESERVED_BYTES: usize = 16;

impl Extension {
    /// Length of the headers.
    pub const fn buffer_len(&self) -> usize {
        self.layout().bytes()
    }

    /// The RETH of a WRITE or READ.
    pub const fn reth(&self) -> Option<&RethRepr> {
        match self {
            Self::Reth(reth) | Self::RethImm(reth, _) => Some(reth),
            _ => None,
        }
    }

    /// The AETH of a response.
    pub const fn aeth(&self) -> Option<&AethRepr> {
        match self {
            Self::Aeth(aeth) | Self::AethAtomicAck(aeth, _) => Some(aeth),
            _ => None,
        }
    }

    /// The immediate data.
    pub const fn imm(&self) -> Option<&ImmDtRepr> {
        match self {
            Self::Imm(imm) | Self::RethImm(_, imm) | Self::DethImm(_, imm) => Some(imm),
            _ => None,
        }
    }
}
