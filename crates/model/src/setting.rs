//! The circumstances of a flow: everything but its path and its size.

use crate::bits::Corruption;
use crate::frame::Sizes;
use crate::mend::Mend;

/// What else comes on the same queue pair before the timer fires.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Next {
    /// The chance that more data come while this flow still waits: they show the gap, or bring the ACK (JCST §3.1).
    pub rescues: f64,
    /// The chance that a flow comes while dummies of the last one still wait: a gap among them holds it up.
    pub follows: f64,
}

impl Next {
    /// Nothing: each flow has a queue pair to itself.
    pub const NEVER: Self = Self { rescues: 0.0, follows: 0.0 };
    /// The next flow is posted at once when this one completes, and never before: ping-pong.
    pub const CLOSED_LOOP: Self = Self { rescues: 0.0, follows: 1.0 };

    /// Flows come at random, after gaps of this mean length, in the unit of `rto`.
    pub fn after(mean_gap: f64, rto: f64) -> Self {
        let within = -(-rto / mean_gap).exp_m1();
        Self { rescues: within, follows: within }
    }
}

/// What a second copy of a NAK does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rewind {
    /// Each acts at once, so that the same packet may be sent twice: a scenario with no `transport.resend_delay`.
    Each,
    /// Copies that come close together count as one: a NIC that fetches what it sends again from its host's memory, and
    /// a scenario with a `transport.resend_delay` that is longer than the copies are apart.
    Once,
    /// One does not know which: a second repeat costs, and nothing relies on it.
    Unknown,
}

/// How the requester's NIC turns around.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Nic {
    /// What it does with copies of a NAK.
    pub rewind: Rewind,
    /// Packets that it sends in a round trip. With so many behind a lost packet the port is busy when the NAK comes,
    /// and copies that come before the packet under way has ended make no second repeat.
    pub flight_packets: f64,
}

impl Default for Nic {
    fn default() -> Self {
        Self { rewind: Rewind::Each, flight_packets: f64::INFINITY }
    }
}

/// Everything but the path and the flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setting {
    /// Frame sizes.
    pub sizes: Sizes,
    /// What a corrupting link does.
    pub corruption: Corruption,
    /// What is done about it.
    pub mend: Mend,
    /// What follows.
    pub next: Next,
    /// Who sends.
    pub nic: Nic,
}

impl Setting {
    /// WRITEs over links that corrupt a full frame with probability `beta`, nothing else on the queue pair.
    pub fn new(sizes: Sizes, beta: f64, mend: Mend) -> Self {
        let corruption = Corruption::of_full_frame(beta, sizes.full());
        Self { sizes, corruption, mend, next: Next::NEVER, nic: Nic::default() }
    }
}
