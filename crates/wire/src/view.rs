//! Casts between bytes and header structs, only here.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::Malformed;

/// Splits the header `what` from the start of `bytes`; returns it and the remaining bytes.
pub(crate) fn split<'a, T>(bytes: &'a [u8], what: &'static str) -> Result<(&'a T, &'a [u8]), Malformed>
where
    T: FromBytes + KnownLayout + Immutable + Unaligned,
{
    T::ref_from_prefix(bytes).map_err(|_| Malformed::Truncated(what))
}

/// Copies `header` into `buffer` of its size.
pub(crate) fn fill<T: IntoBytes + Immutable>(header: &T, buffer: &mut [u8]) {
    assert_eq!(buffer.len(), size_of::<T>(), "a buffer has the length its header asks for");
    buffer.copy_from_slice(header.as_bytes());
}
