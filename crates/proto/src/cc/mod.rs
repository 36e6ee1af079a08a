//! Congestion control: when a queue pair may send next, and how much may be outstanding.
//!
//! A host asks [`Controller::eligible`] and [`Controller::window`] before it polls a requester and reports what happens to
//! the connection. An [`Algorithm`] makes the controller of each connection and says what it has to be told. Both are traits, so that other
//! programs can bring their own.
//!
//! - [`FixedRate`]: a rate that never changes.
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
pub use feedback::{Feedback, Hop};
pub use fixed_rate::FixedRate;
pub(crate) use pacer::Line;
pub use pacer::Pacer;
pub use swift::Swift;

/// A congestion control algorithm, with its parameters.
pub trait Algorithm: Debug + Send + Sync {
    /// The controller of a new queue pair.
    fn start(&self, path: &Path) -> Box<dyn Controller>;

    /// What its controllers have to be told; by default, nothing but what leaves.
    fn needs(&self) -> Needs {
        Needs::default()
    }
}

/// What an algorithm has to be told, or others have to do for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// [`Controller::on_ack`] and [`Controller::on_nak`] are called, and the window is asked for after them.
    pub acks: bool,
    /// [`Path::hops`] and [`Path::round_trip`] are filled in.
    pub path: bool,
    /// Receivers answer marked packets with congestion notifications, at most one in this time for a queue pair.
    pub cnp_interval: Option<Span>,
    /// What acknowledgements bring back.
    pub echo: Echo,
}

/// What acknowledgements bring back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Echo {
    /// Nothing: [`Ack::feedback`] is `None`.
    #[default]
    Nothing,
    /// The time of sending, and marks.
    Marks,
    /// The same, and the telemetry of switches ([`Feedback::hops`]).
    Telemetry,
}

/// The congestion control of one queue pair.
pub trait Controller: Debug + Send {
    /// A packet starts to leave.
    fn on_transmit(&mut self, now: Time, sent: Sent);

    /// When the next packet may leave.
    fn eligible(&self) -> Time;

    /// An acknowledgement came.
    fn on_ack(&mut self, _now: Time, _ack: &Ack<'_>) {}

    /// A NAK showed a loss.
    fn on_nak(&mut self, _now: Time) {}

    /// The retransmission timer expired.
    fn on_timeout(&mut self, _now: Time) {}

    /// A congestion notification came.
    fn on_cnp(&mut self, _now: Time) {}

    /// Packets that may be outstanding; [`u32::MAX`] if it sets no bound.
    fn window(&self) -> u32 {
        u32::MAX
    }
}

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// All packets with numbers below this have arrived.
    pub acknowledged: u64,
    /// What it brings back, if the algorithm [needs](Needs::echo) that. Some acknowledgements have nothing to tell: those of packets that
    /// a link has restored from parities.
    pub feedback: Option<&'a Feedback>,
}

/// A packet that leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// What it takes of the line, everything between two frames included.
    pub wire_bytes: u32,
    /// Its number on the connection, counted from 0 without end.
    pub number: u64,
    /// It, or another with its number, was sent before.
    pub again: bool,
}

impl Sent {
    /// The first packet of a connection.
    pub const fn new(wire_bytes: u32) -> Self {
        Self { wire_bytes, number: 0, again: false }
    }
}

/// What a controller has to know of its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path {
    /// The rate of the sender's port.
    pub line: Rate,
    /// A full packet on the line.
    pub packet_bytes: u32,
    /// Switches on the way, as the TTL of packets that arrive tells; 0 if nobody [needs](Needs::path) it.
    pub hops: u32,
    /// From the first bit of a full packet to its acknowledgement on the longest path of the empty network; 0 if nobody needs it.
    pub round_trip: Span,
}
