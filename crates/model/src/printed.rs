//! The formulas as JCST prints them: per packet, for Lω ≪ 1, with 62/1086 and 68/1086 both called 0.06.
//!
//! They are kept to be set beside the exact ones; what is wrong with them is said there. `n` counts as the paper
//! counts: all NAKs, all retransmissions, but only the *extra* packets behind a tail.

/// What the paper puts for the ratio of a header, an ACK or a NAK to a full packet.
pub const SMALL: f64 = 0.06;

/// The link and path of a theorem.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Printed {
    /// β: a packet is lost on a corrupting link.
    pub beta: f64,
    /// L: links of the path.
    pub links: f64,
    /// ω: a link corrupts.
    pub omega: f64,
    /// E(1/S), with S in packets.
    pub mean_inverse: f64,
}

impl Printed {
    /// Theorem 2: the loss γ of a header, and δ of an ACK or a NAK.
    pub fn small_loss(&self) -> f64 {
        SMALL * self.beta
    }

    /// Theorem 3: a packet is lost on the path.
    pub fn packet(&self) -> f64 {
        self.links * self.beta * self.omega
    }

    /// Theorem 4, and the first Theorem 8: packet and NAKs are lost, `n` NAKs in all.
    pub fn nak(&self, n: u32) -> f64 {
        SMALL.powi(n as i32) * self.power(n) * (self.links * self.omega).powi(2)
    }

    /// Theorem 5, and the second Theorem 8: a packet and all its `n` retransmissions are lost.
    pub fn twice(&self, n: u32) -> f64 {
        self.links * self.omega * self.power(n)
    }

    /// Theorems 6 and 10: a tail and the `n` dummies behind it are lost. (Theorem 6 leaves out the factor L.)
    pub fn tail_with_dummies(&self, n: u32) -> f64 {
        SMALL.powi(n as i32) * self.tail_with_repeats(n)
    }

    /// Theorem 11: a tail and its `n` repeats are lost.
    pub fn tail_with_repeats(&self, n: u32) -> f64 {
        self.mean_inverse * self.links * self.omega * self.power(n)
    }

    /// Theorems 7 and 12: the ACKs of a tail and of `n` dummies or repeats are lost.
    pub fn tail_ack(&self, n: u32) -> f64 {
        SMALL.powi(n as i32 + 1) * self.tail_with_repeats(n)
    }

    /// §4.1: bytes that `n − 1` copies of each NAK add, as a share of the traffic.
    pub fn cost_of_nak_copies(&self, n: u32) -> f64 {
        68.0 / 1086.0 * f64::from(n.saturating_sub(1)) * self.beta
    }

    /// §4.2: the same for `n − 1` copies of each retransmission.
    pub fn cost_of_retransmission_copies(&self, n: u32) -> f64 {
        f64::from(n.saturating_sub(1)) * self.beta
    }

    /// §4.3: the same for `n` dummies behind each flow.
    pub fn cost_of_dummies(&self, n: u32) -> f64 {
        self.mean_inverse * 62.0 / 1086.0 * f64::from(n)
    }

    /// §4.3: the same for `n` repeats of each tail.
    pub fn cost_of_tail_repeats(&self, n: u32) -> f64 {
        self.mean_inverse * f64::from(n)
    }

    fn power(&self, n: u32) -> f64 {
        self.beta.powi(n as i32 + 1)
    }
}
