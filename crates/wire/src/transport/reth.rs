//! The RDMA extended transport header (IBA 9.3).

use zerocopy::byteorder::big_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Malformed, view};

/// Which remote memory a WRITE or READ is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RethRepr {
    /// Where it starts in the responder's memory.
    pub address: u64,
    /// The permission to touch it.
    pub remote_key: u32,
    /// Bytes of the whole message, not of this packet.
    pub dma_len: u32,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Reth {
    address: U64,
    remote_key: U32,
    dma_len: U32,
}
const _: () = assert!(size_of::<Reth>() == RethRepr::BYTES);

impl RethRepr {
    /// The length of the header.
    pub const BYTES: usize = 16;

    /// The length of the header.
    pub const fn buffer_len(&self) -> usize {
        Self::BYTES
    }

    /// Reads the header and gives what follows it.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (reth, rest) = view::split::<Reth>(bytes, "RETH")?;
        let (address, remote_key, dma_len) = (reth.address.get(), reth.remote_key.get(), reth.dma_len.get());
        Ok((Self { address, remote_key, dma_len }, rest))
    }

    /// Writes the header into `buffer`, which has its length.
    pub fn emit(&self, buffer: &mut [u8]) {
        let (address, remote_key, dma_len) =
            (self.address.into(), self.remote_key.into(), self.dma_len.into());
        view::fill(&Reth { address, remote_key, dma_len }, buffer);
    }
}
