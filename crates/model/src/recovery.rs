//! Efficiency of go-back-N and go-back-0 (claims V1 and V2).

/// Fraction of sent packets that are useful, with go-back-N, loss `p` per packet and `flight` packets per
/// round trip. Each loss wastes the packets sent until the NAK arrives.
pub fn go_back_n(p: f64, flight: f64) -> f64 {
    (1.0 - p) / (1.0 - p + p * flight.max(1.0))
}

/// Packets sent until a message of `packets` is delivered with go-back-0, where each loss restarts it: ((1 −
/// p)^−m − 1)/p, plus the packets sent between each loss and its NAK, at most `flight`.
pub fn go_back_zero_packets(p: f64, packets: f64, flight: f64) -> f64 {
    if p <= 0.0 {
        return packets;
    }
    let failures = (-packets * (-p).ln_1p()).exp_m1();
    failures / p + failures * (flight.min(packets) - 1.0).max(0.0)
}

/// Fraction of sent packets that are useful, with go-back-0.
pub fn go_back_zero(p: f64, packets: f64, flight: f64) -> f64 {
    packets / go_back_zero_packets(p, packets, flight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_back_zero_is_practically_a_livelock() {
        let packets = go_back_zero_packets(1.0 / 256.0, 4000.0, 1.0);
        assert!((packets / 1.6e9 - 1.0).abs() < 0.05, "{packets:e}");
        assert!(go_back_zero(1.0 / 256.0, 4000.0, 1.0) < 1e-5);
    }

    #[test]
    fn nothing_is_wasted_without_loss() {
        assert!((go_back_n(0.0, 100.0) - 1.0).abs() < 1e-15);
        assert!((go_back_zero(0.0, 4000.0, 100.0) - 1.0).abs() < 1e-15);
        // One loss in a thousand, a hundred packets in flight: a tenth is wasted.
        assert!((go_back_n(1e-3, 100.0) - 0.909).abs() < 1e-3);
    }
}
