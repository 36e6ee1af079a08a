//! Flow sizes, and the two means of their tails.

/// Flows of about one size, and their fraction of all flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlowSize {
    /// Packets; a mean if several sizes are combined.
    pub packets: f64,
    /// Payload bytes; a mean if several sizes are combined.
    pub bytes: f64,
    /// Fraction of all flows.
    pub probability: f64,
}

impl FlowSize {
    /// All flows have the same size.
    pub fn fixed(bytes: u32, mtu: u32) -> Self {
        let packets = f64::from(bytes.div_ceil(mtu).max(1));
        Self { packets, bytes: f64::from(bytes), probability: 1.0 }
    }

    /// Payload of the last packet.
    pub fn tail_bytes(&self, mtu: u32) -> f64 {
        (self.bytes - (self.packets - 1.0) * f64::from(mtu)).clamp(0.0, f64::from(mtu))
    }
}

/// E(1/S) with S in packets: the mean fraction of a flow that is its tail.
///
/// JCST uses it as the probability that a random *packet* is a tail. That probability is 1/E(S), see
/// [`tail_share`]. The two are equal only if all flows have one size.
pub fn mean_inverse(flows: &[FlowSize]) -> f64 {
    flows.iter().map(|flow| flow.probability / flow.packets).sum()
}

/// E(S): mean number of packets per flow.
pub fn mean_packets(flows: &[FlowSize]) -> f64 {
    flows.iter().map(|flow| flow.probability * flow.packets).sum()
}

/// Mean bytes per flow.
pub fn mean_bytes(flows: &[FlowSize]) -> f64 {
    flows.iter().map(|flow| flow.probability * flow.bytes).sum()
}

/// 1/E(S): probability that a random packet is the last of its flow.
pub fn tail_share(flows: &[FlowSize]) -> f64 {
    1.0 / mean_packets(flows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_means_differ_for_different_sizes() {
        let flows = [(1.0, 0.5), (99.0, 0.5)];
        let flows =
            flows.map(|(packets, probability)| FlowSize { packets, bytes: packets * 1024.0, probability });
        assert!((mean_inverse(&flows) - 0.505_05).abs() < 1e-5);
        assert!((tail_share(&flows) - 0.02).abs() < 1e-12);
        let one = [FlowSize::fixed(10_000, 1024)];
        assert!((mean_inverse(&one) - tail_share(&one)).abs() < 1e-15);
        assert!((one[0].tail_bytes(1024) - 784.0).abs() < 1e-9);
    }
}
