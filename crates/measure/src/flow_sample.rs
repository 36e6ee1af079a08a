//! Time series of single flows.

/// What a flow did since its last sample: a row of `flow_series.parquet`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowSample {
    /// When the sample was taken.
    pub time_ps: u64,
    /// Number of the flow.
    pub flow: u64,
    /// Time since the last sample of the flow, or since its post.
    pub span_ps: u64,
    /// Payload bytes that its connection sent for the first time in this time; for a READ: that arrived.
    pub sent_bytes: u64,
    /// Payload bytes that its connection retransmitted.
    pub retransmitted_bytes: u64,
    /// Rate of the congestion control; `None` if there is none that sets a rate.
    pub rate_bps: Option<u64>,
    /// Window of the connection in payload bytes; `None` if it is not limited.
    pub window_bytes: Option<u64>,
}

impl FlowSample {
    /// Payload bits sent per second.
    pub fn throughput_bps(&self) -> u64 {
        let bits_ps = u128::from(self.sent_bytes) * 8 * 1_000_000_000_000;
        let bps = bits_ps / u128::from(self.span_ps.max(1));
        u64::try_from(bps).unwrap_or(u64::MAX)
    }
}
