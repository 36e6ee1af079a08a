//! Memory access: large pages, prefetching, a fast hash, and collections that usually hold one value.

mod mix_hasher;
pub(crate) mod pages;
mod prefetch;

pub(crate) use mix_hasher::MixHasher;
pub(crate) use prefetch::{prefetch, prefetch_address, prefetch_all, prefetch_bytes};

/// Makes room for the first value of a collection, and for no more: of a hundred thousand hosts most have one
/// connection, one message and one class, and a collection grows to four values otherwise.
macro_rules! reserve_first {
    ($values:expr) => {
        if $values.capacity() == 0 {
            $values.reserve_exact(1);
        }
    };
}
pub(crate) use reserve_first;
