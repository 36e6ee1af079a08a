//! What the sender of a block says to its receiver. Values and bytes are in `wiremend_wire::fec`.

pub use wiremend_wire::fec::Signal;
