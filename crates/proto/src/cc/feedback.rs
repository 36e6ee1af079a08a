//! Feedback that acknowledgements carry to a sender: transmission time, congestion mark, in-band telemetry.
//!
//! The sender's NIC puts the transmission time into each packet. Switches append the state of the port that
//! the packet leaves by (in-band network telemetry, INT). The receiver returns both with the acknowledgement,
//! and whether the packet was marked.

use wiremend_units::{Bytes, Rate, Span, Time};

/// Feedback of an acknowledgement, for the newest packet that it covers.
#[derive(Clone, Debug, Default)]
pub struct Feedback {
    /// Time at which that packet left its sender.
    pub sent_at: Time,
    /// Whether a switch has marked that packet, or another one that the same acknowledgement covers.
    pub is_marked: bool,
    hops: Vec<HopTelemetry>,
    /// Whether the feedback is on its way back to the sender.
    is_echo: bool,
}

/// State of a switch port when a packet leaves by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HopTelemetry {
    /// Start of the packet's transmission.
    pub departed_at: Time,
    /// Bytes queued at the port when the packet arrived there.
    pub queue_bytes: Bytes,
    /// Bytes that the port has sent so far, with this packet, preambles and gaps between frames.
    pub sent_bytes: Bytes,
    /// Rate of the port.
    pub rate: Rate,
}

impl Feedback {
    /// Number of switches that can add telemetry; later switches on the path add none.
    pub const HOPS_MAX: usize = 16;

    /// Creates the feedback of a packet that is sent now.
    pub fn new(now: Time) -> Self {
        Self { sent_at: now, ..Self::default() }
    }

    /// Telemetry of the switches on the path to the receiver, in path order.
    pub fn hops(&self) -> &[HopTelemetry] {
        &self.hops
    }

    /// Returns the time from the packet's transmission until now.
    pub fn round_trip(&self, now: Time) -> Span {
        now.since(self.sent_at)
    }

    /// Handles the arrival of the packet at a switch port with this queue.
    pub fn on_queue(&mut self, queue: Bytes, rate: Rate) {
        if !self.is_echo && self.hops.len() < Self::HOPS_MAX {
            self.hops.push(HopTelemetry {
                departed_at: Time::MAX,
                queue_bytes: queue,
                sent_bytes: Bytes::ZERO,
                rate,
            });
        }
    }

    /// Handles the start of the packet's transmission at a switch.
    pub fn on_departure(&mut self, now: Time, sent: Bytes) {
        if !self.is_echo
            && let Some(hop) = self.hops.last_mut()
            && hop.departed_at == Time::MAX
        {
            (hop.departed_at, hop.sent_bytes) = (now, sent);
        }
    }

    /// Handles the arrival at the receiver, which returns the feedback with the acknowledgement.
    pub fn on_arrival(&mut self, is_marked: bool) {
        (self.is_marked, self.is_echo) = (is_marked, true);
    }
}
