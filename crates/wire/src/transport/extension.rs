//! What lies between the BTH and the payload.

use super::{AethRepr, AtomicAckEthRepr, AtomicEthRepr, DethRepr, IethRepr, ImmDtRepr, RethRepr};
use crate::{Malformed, Opcode};

/// The extension headers of one packet, in the order of the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names are those of the specification")]
pub enum Extension {
    /// None: the payload follows at once.
    Bare,
    Imm(ImmDtRepr),
    Ieth(IethRepr),
    Reth(RethRepr),
    RethImm(RethRepr, ImmDtRepr),
    Aeth(AethRepr),
    AethAtomicAck(AethRepr, AtomicAckEthRepr),
    AtomicEth(AtomicEthRepr),
    Deth(DethRepr),
    DethImm(DethRepr, ImmDtRepr),
    /// The sixteen reserved bytes of a congestion notification: ignored on the way in, written as zero.
    Cnp,
}

/// Which extension headers a packet has, without their values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names are those of `Extension`")]
pub enum Layout {
    Bare,
    Imm,
    Ieth,
    Reth,
    RethImm,
    Aeth,
    AethAtomicAck,
    AtomicEth,
    Deth,
    DethImm,
    Cnp,
}

const CNP_RESERVED_BYTES: usize = 16;

impl Layout {
    /// The length of the headers.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Bare => 0,
            Self::Imm => ImmDtRepr::BYTES,
            Self::Ieth => IethRepr::BYTES,
            Self::Reth => RethRepr::BYTES,
            Self::RethImm => RethRepr::BYTES + ImmDtRepr::BYTES,
            Self::Aeth => AethRepr::BYTES,
            Self::AethAtomicAck => AethRepr::BYTES + AtomicAckEthRepr::BYTES,
            Self::AtomicEth => AtomicEthRepr::BYTES,
            Self::Deth => DethRepr::BYTES,
            Self::DethImm => DethRepr::BYTES + ImmDtRepr::BYTES,
            Self::Cnp => CNP_RESERVED_BYTES,
        }
    }
}

impl Extension {
    /// Which headers these are.
    pub const fn layout(&self) -> Layout {
        match self {
            Self::Bare => Layout::Bare,
            Self::Imm(_) => Layout::Imm,
            Self::Ieth(_) => Layout::Ieth,
            Self::Reth(_) => Layout::Reth,
            Self::RethImm(..) => Layout::RethImm,
            Self::Aeth(_) => Layout::Aeth,
            Self::AethAtomicAck(..) => Layout::AethAtomicAck,
            Self::AtomicEth(_) => Layout::AtomicEth,
            Self::Deth(_) => Layout::Deth,
            Self::DethImm(..) => Layout::DethImm,
            Self::Cnp => Layout::Cnp,
        }
    }

    /// The length of the headers.
    pub const fn buffer_len(&self) -> usize {
        self.layout().bytes()
    }

    /// Where a WRITE or READ goes.
    pub const fn reth(&self) -> Option<&RethRepr> {
        match self {
            Self::Reth(reth) | Self::RethImm(reth, _) => Some(reth),
            _ => None,
        }
    }

    /// What a responder says.
    pub const fn aeth(&self) -> Option<&AethRepr> {
        match self {
            Self::Aeth(aeth) | Self::AethAtomicAck(aeth, _) => Some(aeth),
            _ => None,
        }
    }

    /// What the application of the responder gets with the completion.
    pub const fn imm(&self) -> Option<&ImmDtRepr> {
        match self {
            Self::Imm(imm) | Self::RethImm(_, imm) | Self::DethImm(_, imm) => Some(imm),
            _ => None,
        }
    }

    /// Reads the headers that `opcode` calls for and gives what follows them.
    pub fn parse(opcode: Opcode, bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        Ok(match opcode.layout() {
            Layout::Bare => (Self::Bare, bytes),
            Layout::Imm => alone(ImmDtRepr::parse(bytes)?, Self::Imm),
            Layout::Ieth => alone(IethRepr::parse(bytes)?, Self::Ieth),
            Layout::Reth => alone(RethRepr::parse(bytes)?, Self::Reth),
            Layout::Aeth => alone(AethRepr::parse(bytes)?, Self::Aeth),
            Layout::AtomicEth => alone(AtomicEthRepr::parse(bytes)?, Self::AtomicEth),
            Layout::Deth => alone(DethRepr::parse(bytes)?, Self::Deth),
            Layout::RethImm => {
                let (reth, rest) = RethRepr::parse(bytes)?;
                alone(ImmDtRepr::parse(rest)?, |imm| Self::RethImm(reth, imm))
            }
            Layout::AethAtomicAck => {
                let (aeth, rest) = AethRepr::parse(bytes)?;
                alone(AtomicAckEthRepr::parse(rest)?, |atomic| Self::AethAtomicAck(aeth, atomic))
            }
            Layout::DethImm => {
                let (deth, rest) = DethRepr::parse(bytes)?;
                alone(ImmDtRepr::parse(rest)?, |imm| Self::DethImm(deth, imm))
            }
            Layout::Cnp => {
                let split = bytes.split_at_checked(CNP_RESERVED_BYTES);
                (Self::Cnp, split.ok_or(Malformed::Truncated("CNP"))?.1)
            }
        })
    }

    /// Writes the headers into `buffer`, which has their length.
    pub fn emit(&self, buffer: &mut [u8]) {
        match self {
            Self::Bare => assert!(buffer.is_empty(), "no header needs no bytes"),
            Self::Imm(imm) => imm.emit(buffer),
            Self::Ieth(ieth) => ieth.emit(buffer),
            Self::Reth(reth) => reth.emit(buffer),
            Self::Aeth(aeth) => aeth.emit(buffer),
            Self::AtomicEth(atomic) => atomic.emit(buffer),
            Self::Deth(deth) => deth.emit(buffer),
            Self::RethImm(reth, imm) => {
                let (first, second) = buffer.split_at_mut(RethRepr::BYTES);
                reth.emit(first);
                imm.emit(second);
            }
            Self::AethAtomicAck(aeth, atomic) => {
                let (first, second) = buffer.split_at_mut(AethRepr::BYTES);
                aeth.emit(first);
                atomic.emit(second);
            }
            Self::DethImm(deth, imm) => {
                let (first, second) = buffer.split_at_mut(DethRepr::BYTES);
                deth.emit(first);
                imm.emit(second);
            }
            Self::Cnp => {
                assert_eq!(buffer.len(), CNP_RESERVED_BYTES, "a buffer has the length its header asks for");
                buffer.fill(0);
            }
        }
    }
}

/// The last header of a packet, wrapped as its extension.
fn alone<T>((header, rest): (T, &[u8]), wrap: impl FnOnce(T) -> Extension) -> (Extension, &[u8]) {
    (wrap(header), rest)
}
