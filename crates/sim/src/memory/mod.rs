//! Memory access: large pages, prefetching, and a fast hash.

mod mix_hasher;
pub(crate) mod pages;
mod prefetch;

pub(crate) use mix_hasher::MixHasher;
pub(crate) use prefetch::prefetch;
