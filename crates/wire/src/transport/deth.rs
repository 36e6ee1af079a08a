//! The datagram extended transport header (IBA 9.3).

use wiremend_units::QpNum;
use zerocopy::byteorder::big_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Malformed, view};

/// Datagram header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DethRepr {
    /// Queue key, which the receiving queue must share.
    pub queue_key: u32,
    /// Source queue pair: only this header has it.
    pub source_qp: QpNum,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Deth {
    queue_key: U32,
    reserved: u8,
    source_qp: [u8; 3],
}
const _: () = assert!(size_of::<Deth>() == DethRepr::BYTES);

impl DethRepr {
    /// The length of the header.
    pub const BYTES: usize = 8;

    /// Parses the header; returns it and the remaining bytes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (deth, rest) = view::split::<Deth>(bytes, "DETH")?;
        Ok((Self { queue_key: deth.queue_key.get(), source_qp: QpNum::from_be_bytes(deth.source_qp) }, rest))
    }

    /// Writes the header into `buffer` of its length.
    pub fn emit(&self, buffer: &mut [u8]) {
        let source_qp = self.source_qp.to_be_bytes();
        view::fill(&Deth { queue_key: self.queue_key.into(), reserved: 0, source_qp }, buffer);
    }
}
