//! Memory access: large pages and prefetching.

pub(crate) mod pages;
mod prefetch;

pub(crate) use prefetch::{prefetch, prefetch_address, prefetch_bytes};
