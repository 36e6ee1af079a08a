//! Data sequence signal of MPTCP.

/// Data sequence signal (DSS, RFC 8684 §3.3): maps a segment to the connection's data, or acknowledges data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dss {
    /// Subflow of the segment.
    pub subflow: u8,
    /// Data sequence number of the first byte, or of the first missing byte in an ACK (`DATA_ACK`). Low 32
    /// bits.
    pub data: u32,
}

impl Dss {
    /// Bytes of the option with a mapping: 4, data sequence number 8, subflow sequence number 4, length 2,
    /// padding 2. It has no
    /// `DATA_ACK`, because data flow in one direction only.
    pub const DATA_BYTES: u16 = 4 + 8 + 4 + 2 + 2;
    /// Bytes of the option with a 4-byte `DATA_ACK`. Two SACK blocks fit beside it and timestamps.
    pub const ACK_BYTES: u16 = 4 + 4;
}
