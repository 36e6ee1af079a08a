//! How much of a link is left for data when losses make a sender go back (claims V1 and V2).

/// The share of sent packets that count, with go-back-N, loss `p` per packet and `flight` packets in a round trip.
/// Each loss wastes what was sent until the NAK came: the packet itself and those behind it.
pub fn go_back_n(p: f64, flight: f64) -> f64 {
    (1.0 - p) / (1.0 - p + p * flight.max(1.0))
}

/// Packets sent until a message of `packets` is through with go-back-0, where each loss starts it again:
/// ((1 − p)^−m − 1)/p, and what is sent from each loss until its NAK comes, `flight` at most.
pub fn go_back_zero_packets(p: f64, packets: f64, flight: f64) -> f64 {
    if p <= 0.0 {
        return packets;
    }
    let failures = (-packets * (-p).ln_1p()).exp_m1();
    failures / p + failures * (flight.min(packets) - 1.0).max(0.0)
}

/// The share of sent packets that count, with go-back-0.
pub fn go_back_zero(p: f64, packets: f64, flight: f64) -> f64 {
    packets / go_back_zero_packets(p, packets, flight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_back_zero_is_a_livelock_in_all_but_name() {
        let packets = go_back_zero_packets(1.0 / 256.0, 4000.0, 1.0);
        assert!((packets / 1.6e9 - 1.0).abs() < 0.05, "{packets:e}");
        assert!(go_back_zero(1.0 / 256.0, 4000.0, 1.0) < 1e-5);
    }

    #[test]
    fn nothing_is_wasted_without_loss() {
        assert!((go_back_n(0.0, 100.0) - 1.0).abs() < 1e-15);
        assert!((go_back_zero(0.0, 4000.0, 100.0) - 1.0).abs() < 1e-15);
        // One loss in a thousand, a hundred packets in flight: a tenth is sent for nothing.
        assert!((go_back_n(1e-3, 100.0) - 0.909).abs() < 1e-3);
    }
}
