//! What acknowledgements bring back to a sender besides that packets have arrived.
//!
//! A NIC that wants it puts the time of sending into each packet; switches append what they know of the port that the packet leaves by
//! (in-band network telemetry, INT); the receiver returns both with the acknowledgement, and whether the packet was marked.

use wiremend_units::{Bytes, Rate, Span, Time};

/// What comes back with an acknowledgement, of the newest packet that it answers.
#[derive(Clone, Debug, Default)]
pub struct Feedback {
    /// When that packet left its sender.
    pub sent_at: Time,
    /// A switch has marked it, or another that the same acknowledgement answers.
    pub is_marked: bool,
    hops: Vec<Hop>,
    /// It is on its way back.
    is_echo: bool,
}

/// What a switch says of the port that a packet leaves it by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// When the packet began to leave.
    pub at: Time,
    /// What waited at the port before it when it came.
    pub queue: Bytes,
    /// Bytes that the port has sent so far, this packet included, with all that lies between two frames.
    pub sent: Bytes,
    /// The rate of the port.
    pub rate: Rate,
}

impl Feedback {
    /// Switches that can say something; those after them are left out.
    pub const HOPS_MAX: usize = 16;

    /// For a packet that leaves now.
    pub fn new(now: Time) -> Self {
        Self { sent_at: now, ..Self::default() }
    }

    /// The switches on the way to the receiver, in their order, as far as they say something.
    pub fn hops(&self) -> &[Hop] {
        &self.hops
    }

    /// How long it took from leaving until now.
    pub fn round_trip(&self, now: Time) -> Span {
        now.since(self.sent_at)
    }

    /// The packet comes to a port of a switch, where this waits before it.
    pub fn on_queue(&mut self, queue: Bytes, rate: Rate) {
        if !self.is_echo && self.hops.len() < Self::HOPS_MAX {
            self.hops.push(Hop { at: Time::MAX, queue, sent: Bytes::ZERO, rate });
        }
    }

    /// The packet begins to leave a switch.
    pub fn on_departure(&mut self, now: Time, sent: Bytes) {
        if !self.is_echo
            && let Some(hop) = self.hops.last_mut()
            && hop.at == Time::MAX
        {
            (hop.at, hop.sent) = (now, sent);
        }
    }

    /// The packet has arrived, and goes back with the acknowledgement.
    pub fn on_arrival(&mut self, is_marked: bool) {
        (self.is_marked, self.is_echo) = (is_marked, true);
    }
}
