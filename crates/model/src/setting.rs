//! Model parameters besides path and flow size.

use crate::bits::Corruption;
use crate::frame::FrameSizes;
use crate::mend_counts::MendCounts;

/// Probability that another flow follows on the same queue pair before the timer fires.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NextFlow {
    /// Probability that more data arrive while this flow waits: they reveal the gap, or bring the ACK (JCST
    /// §3.1).
    pub rescues: f64,
    /// Probability that a flow follows while dummies of the last one are outstanding: a gap among them delays
    /// it.
    pub follows: f64,
}

impl NextFlow {
    /// No next flow: each flow has its own queue pair.
    pub const NEVER: Self = Self { rescues: 0.0, follows: 0.0 };
    /// The next flow is posted when this one completes, as in a ping-pong.
    pub const CLOSED_LOOP: Self = Self { rescues: 0.0, follows: 1.0 };

    /// Flows arrive at random after gaps of this mean length, in the unit of `rto`.
    pub fn after(mean_gap: f64, rto: f64) -> Self {
        let within = -(-rto / mean_gap).exp_m1();
        Self { rescues: within, follows: within }
    }
}

/// Reaction of a NIC to a second copy of a NAK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NakReaction {
    /// Each copy triggers a retransmission, so the same packet may be sent twice: a scenario without
    /// `transport.resend_delay`.
    Each,
    /// Copies that arrive close together count as one: a NIC that fetches retransmissions from host memory,
    /// and a scenario whose `transport.resend_delay` exceeds the distance of the copies.
    Once,
    /// Unknown: the cost of a second retransmission counts, its benefit does not.
    Unknown,
}

/// Reaction of the requester's NIC to NAKs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Nic {
    /// Reaction to copies of a NAK.
    pub nak_reaction: NakReaction,
    /// Packets that it sends in a round trip. With that many behind a lost packet the port is busy when the
    /// NAK arrives, and copies that arrive before the current packet ends cause no second retransmission.
    pub flight_packets: f64,
}

impl Default for Nic {
    fn default() -> Self {
        Self { nak_reaction: NakReaction::Each, flight_packets: f64::INFINITY }
    }
}

/// All model parameters but the path and the flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ModelSetting {
    /// Frame sizes.
    pub sizes: FrameSizes,
    /// Effect of a corrupting link.
    pub corruption: Corruption,
    /// Dummies and copies.
    pub mend: MendCounts,
    /// The next flow on the queue pair.
    pub next: NextFlow,
    /// The requester's NIC.
    pub nic: Nic,
}

impl ModelSetting {
    /// WRITEs over links that corrupt a full frame with probability `beta`, one flow per queue pair.
    pub fn new(sizes: FrameSizes, beta: f64, mend: MendCounts) -> Self {
        let corruption = Corruption::from_full_frame_loss(beta, sizes.full());
        Self { sizes, corruption, mend, next: NextFlow::NEVER, nic: Nic::default() }
    }
}
