//! Numbers that both ends of a wire must agree on, and that messages about malformed bytes name.

/// The UDP port of `RoCEv2` (IBA A17).
pub const ROCE_PORT: u16 = 4791;

/// The version of the header of a protected link.
pub(crate) const LINK_VERSION: u8 = 1;

/// The version of the header of a link with error correction.
pub(crate) const FEC_VERSION: u8 = 1;
