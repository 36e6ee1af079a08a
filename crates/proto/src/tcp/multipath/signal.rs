//! What a segment of a subflow says of the connection's data.

/// The data sequence signal (DSS, RFC 8684 §3.3): where the bytes of a segment stand among the connection's data, or up to where these have come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signal {
    /// Which subflow it is about.
    pub subflow: u8,
    /// Of data: the number of their first byte. Of an acknowledgement: that of the first byte that is missing (`DATA_ACK`). Both in 32 bits, and widened like
    /// those of TCP.
    pub data: u32,
}

impl Signal {
    /// Bytes of the option that maps data: four, the number in eight, its place in the subflow, a length, and two for padding. It acknowledges nothing, since no
    /// data go the other way.
    pub const DATA_BYTES: u16 = 4 + 8 + 4 + 2 + 2;
    /// Bytes of the option that acknowledges data, with a number in four. Beside timestamps it leaves room for two blocks.
    pub const ACK_BYTES: u16 = 4 + 4;
}
