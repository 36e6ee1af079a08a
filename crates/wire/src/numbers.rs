//! Port and version numbers that both ends of a link must agree on.

/// The UDP port of `RoCEv2` (IBA A17).
pub const ROCE_PORT: u16 = 4791;

/// Version of the link header.
pub(crate) const LINK_VERSION: u8 = 1;

/// Version of the FEC header.
pub(crate) const FEC_VERSION: u8 = 1;
