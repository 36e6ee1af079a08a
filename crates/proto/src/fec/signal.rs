//! Headers of frames and parities. `wiremend_wire::fec` has values and bytes.

pub use wiremend_wire::fec::FecHeader;
