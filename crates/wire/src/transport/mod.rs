//! The transport headers: BTH and extension headers.

mod aeth;
mod bth;
mod deth;
mod extension;
mod memory;
mod opcode;
mod word;

pub use aeth::{AethRepr, Credits, NakCode, RnrTimer, Syndrome};
pub use bth::BthRepr;
pub use deth::DethRepr;
pub use extension::{Extension, Layout};
pub use memory::{AtomicAckEthRepr, AtomicEthRepr, RethRepr};
pub use opcode::Opcode;
pub use word::{IethRepr, ImmDtRepr};

/// The low 24 bits, most significant byte first.
const fn be24(number: u32) -> [u8; 3] {
    let [_, a, b, c] = number.to_be_bytes();
    [a, b, c]
}

const fn from_be24([a, b, c]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, a, b, c])
}
