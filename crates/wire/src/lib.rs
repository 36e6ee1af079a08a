//! Bytes and values of everything that `RoCEv2` puts on a wire.

mod opcode;

pub use opcode::Opcode;

/// Why bytes are not the packet they should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// The bytes end before the header does.
    Truncated,
    /// No such operation.
    Opcode(u8),
}
