//! The formulas of JCST: per packet, for Lω ≪ 1, with 0.06 for both 62/1086 and 68/1086.
//!
//! They are for comparison with the exact ones. `n` counts as in the paper: all NAKs, all retransmissions,
//! but only the *extra* packets behind a tail.

/// The paper's ratio of a header, an ACK or a NAK to a full packet.
pub const SMALL: f64 = 0.06;

/// Parameters of the theorems.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PaperModel {
    /// β: loss of a packet on a corrupting link.
    pub beta: f64,
    /// L: links of the path.
    pub links: f64,
    /// ω: probability that a link corrupts.
    pub omega: f64,
    /// E(1/S), with S in packets.
    pub mean_inverse: f64,
}

impl PaperModel {
    /// Theorem 2: loss γ of a header, and δ of an ACK or a NAK.
    pub fn small_loss(&self) -> f64 {
        SMALL * self.beta
    }

    /// Theorem 3: loss of a packet on the path.
    pub fn packet(&self) -> f64 {
        self.links * self.beta * self.omega
    }

    /// Theorem 4, and the first Theorem 8: loss of a packet and of all `n` NAKs.
    pub fn nak(&self, n: u32) -> f64 {
        SMALL.powi(n as i32) * self.power(n) * (self.links * self.omega).powi(2)
    }

    /// Theorem 5, and the second Theorem 8: loss of a packet and of all its `n` retransmissions.
    pub fn twice(&self, n: u32) -> f64 {
        self.links * self.omega * self.power(n)
    }

    /// Theorems 6 and 10: loss of a tail and of the `n` dummies behind it. (Theorem 6 omits the factor L.)
    pub fn tail_with_dummies(&self, n: u32) -> f64 {
        SMALL.powi(n as i32) * self.tail_with_copies(n)
    }

    /// Theorem 11: loss of a tail and of its `n` copies.
    pub fn tail_with_copies(&self, n: u32) -> f64 {
        self.mean_inverse * self.links * self.omega * self.power(n)
    }

    /// Theorems 7 and 12: loss of the ACKs of a tail and of `n` dummies or copies.
    pub fn tail_ack(&self, n: u32) -> f64 {
        SMALL.powi(n as i32 + 1) * self.tail_with_copies(n)
    }

    /// §4.1: bytes of `n − 1` copies of each NAK, relative to the traffic.
    pub fn cost_of_nak_copies(&self, n: u32) -> f64 {
        68.0 / 1086.0 * f64::from(n.saturating_sub(1)) * self.beta
    }

    /// §4.2: bytes of `n − 1` copies of each retransmission.
    pub fn cost_of_retransmission_copies(&self, n: u32) -> f64 {
        f64::from(n.saturating_sub(1)) * self.beta
    }

    /// §4.3: bytes of `n` dummies behind each flow.
    pub fn cost_of_dummies(&self, n: u32) -> f64 {
        self.mean_inverse * 62.0 / 1086.0 * f64::from(n)
    }

    /// §4.3: bytes of `n` copies of each tail.
    pub fn cost_of_tail_copies(&self, n: u32) -> f64 {
        self.mean_inverse * f64::from(n)
    }

    fn power(&self, n: u32) -> f64 {
        self.beta.powi(n as i32 + 1)
    }
}
