//! The headers of atomic operations and of their answers (IBA 9.3).

use zerocopy::byteorder::big_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Malformed, view};

/// What an atomic operation does to which eight bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AtomicEthRepr {
    /// Where they lie in the responder's memory.
    pub address: u64,
    /// The permission to touch them.
    pub remote_key: u32,
    /// What is swapped in, or added.
    pub swap_or_add: u64,
    /// What must be there for the swap to happen.
    pub compare: u64,
}

/// What the eight bytes were before the operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AtomicAckEthRepr {
    /// The former value.
    pub original: u64,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct AtomicEth {
    address: U64,
    remote_key: U32,
    swap_or_add: U64,
    compare: U64,
}
const _: () = assert!(size_of::<AtomicEth>() == AtomicEthRepr::BYTES);
const _: () = assert!(size_of::<U64>() == AtomicAckEthRepr::BYTES);

impl AtomicEthRepr {
    /// The length of the header.
    pub const BYTES: usize = 28;

    /// The length of the header.
    pub const fn buffer_len(&self) -> usize {
        Self::BYTES
    }

    /// Reads the header and gives what follows it.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (atomic, rest) = view::split::<AtomicEth>(bytes, "AtomicETH")?;
        let value = Self {
            address: atomic.address.get(),
            remote_key: atomic.remote_key.get(),
            swap_or_add: atomic.swap_or_add.get(),
            compare: atomic.compare.get(),
        };
        Ok((value, rest))
    }

    /// Writes the header into `buffer`, which has its length.
    pub fn emit(&self, buffer: &mut [u8]) {
        let atomic = AtomicEth {
            address: self.address.into(),
            remote_key: self.remote_key.into(),
            swap_or_add: self.swap_or_add.into(),
            compare: self.compare.into(),
        };
        view::fill(&atomic, buffer);
    }
}

impl AtomicAckEthRepr {
    /// The length of the header.
    pub const BYTES: usize = 8;

    /// The length of the header.
    pub const fn buffer_len(&self) -> usize {
        Self::BYTES
    }

    /// Reads the header and gives what follows it.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (original, rest) = view::split::<U64>(bytes, "AtomicAckETH")?;
        Ok((Self { original: original.get() }, rest))
    }

    /// Writes the header into `buffer`, which has its length.
    pub fn emit(&self, buffer: &mut [u8]) {
        view::fill(&U64::new(self.original), buffer);
    }
}
