//! How memory is asked for: large pages, and lines of the cache before they are needed.

pub(crate) mod pages;
mod prefetch;

pub(crate) use prefetch::prefetch;
