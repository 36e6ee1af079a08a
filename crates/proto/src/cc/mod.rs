//! Congestion control: when a queue pair may send next, and how much may be outstanding.
//!
//! A host queries [`Controller::eligible`] and [`Controller::window`] before it polls a requester, and
//! reports the events of the connection. An [`Algorithm`] creates the controller of each connection and
//! states which events it needs. Both are traits, so that other programs can add algorithms.
//!
//! - [`FixedRate`]: a constant rate.
//! - [`dcqcn`]: the rate follows congestion notifications of the receiver, which sees the marks of switches.
//! - [`swift`]: the window follows the delay that the sender measures.

pub mod dcqcn;
mod feedback;
mod fixed_rate;
mod pacer;
pub mod swift;

use std::fmt::Debug;

use wiremend_units::{Rate, Span, Time};

pub use dcqcn::Dcqcn;
pub use feedback::{Feedback, HopTelemetry};
pub use fixed_rate::FixedRate;
pub use pacer::Pacer;
pub(crate) use pacer::Serializer;
pub use swift::Swift;

/// A congestion control algorithm with its parameters.
pub trait Algorithm: Debug + Send + Sync {
    /// Creates the controller of a new queue pair.
    fn new_controller(&self, path: &PathProperties) -> Box<dyn Controller>;

    /// Events and information that its controllers need; by default only transmissions.
    fn needs(&self) -> Needs {
        Needs::default()
    }
}

/// Events and information that an algorithm needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Whether the host calls [`Controller::on_ack`] and [`Controller::on_nak`], and reads the window after
    /// each.
    pub acks: bool,
    /// Whether the host sets [`PathProperties::hops`] and [`PathProperties::round_trip`].
    pub path: bool,
    /// If set, receivers send congestion notifications for marked packets, at most one per queue pair in this
    /// time.
    pub cnp_interval: Option<Span>,
    /// Feedback that acknowledgements carry.
    pub ack_feedback: AckFeedback,
}

/// Feedback that acknowledgements carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AckFeedback {
    /// None: [`Ack::feedback`] is `None`.
    #[default]
    None,
    /// Transmission time and congestion marks.
    Marks,
    /// Transmission time, marks and the telemetry of switches ([`Feedback::hops`]).
    Telemetry,
}

/// The congestion control of one queue pair.
pub trait Controller: Debug + Send {
    /// Handles the start of a packet's transmission.
    fn on_transmit(&mut self, now: Time, sent: SentPacket);

    /// Earliest time of the next transmission.
    fn eligible(&self) -> Time;

    /// Handles an acknowledgement.
    fn on_ack(&mut self, _now: Time, _ack: &Ack<'_>) {}

    /// Handles a NAK that reports a loss.
    fn on_nak(&mut self, _now: Time) {}

    /// Handles an expiry of the retransmission timer.
    fn on_timeout(&mut self, _now: Time) {}

    /// Handles a congestion notification.
    fn on_cnp(&mut self, _now: Time) {}

    /// Rate at which it lets packets go, as of the last one; `None` if only a window limits them. For reports.
    fn sending_rate(&self) -> Option<Rate> {
        None
    }

    /// Packets that may be outstanding; [`u32::MAX`]: no limit.
    fn window(&self) -> u32 {
        u32::MAX
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// All packets with lower numbers have arrived.
    pub acknowledged: u64,
    /// Feedback, if the algorithm [needs](Needs::ack_feedback) it. Packets that a link has restored from
    /// parities have none.
    pub feedback: Option<&'a Feedback>,
}

/// A transmitted packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentPacket {
    /// Bytes on the wire, including preamble and gap between frames.
    pub wire_bytes: u32,
    /// Number of the packet in the connection, from 0 without wrapping.
    pub number: u64,
    /// Whether this packet number was sent before.
    pub is_retransmission: bool,
}

impl SentPacket {
    /// Describes the first packet of a connection.
    pub const fn new(wire_bytes: u32) -> Self {
        Self { wire_bytes, number: 0, is_retransmission: false }
    }
}

/// Properties of a connection's path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathProperties {
    /// Rate of the sender's port.
    pub line_rate: Rate,
    /// Bytes of a full packet on the wire.
    pub packet_bytes: u32,
    /// Switches on the path, derived from the TTL of received packets; 0 if no algorithm [needs](Needs::path)
    /// it.
    pub hops: u32,
    /// Time from the first bit of a full packet to its acknowledgement on the longest path of the empty
    /// network; 0 if no algorithm needs it.
    pub round_trip: Span,
}
