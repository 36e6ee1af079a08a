//! Congestion control: when a queue pair may send next, and how much may be outstanding.
//!
//! A host asks [`Controller::eligible`] and [`Controller::window`] before it polls a requester and reports what happens to
//! the connection. The hosts hold a [`Control`], which knows all controllers, so that nothing is called through a pointer.
//!
//! - [`FixedRate`]: a rate that never changes.
//! - [`dcqcn`]: the rate follows congestion notifications of the receiver, which sees the marks of switches.
//! - [`swift`]: the window follows the delay that the sender measures.

pub mod dcqcn;
mod fixed_rate;
mod pacer;
pub mod swift;

pub(crate) use pacer::Line;
use wiremend_units::{Rate, Time};

pub use dcqcn::Dcqcn;
pub use fixed_rate::FixedRate;
pub use swift::Swift;

/// A congestion control algorithm of one queue pair.
pub trait Controller {
    /// A packet starts to leave.
    fn on_transmit(&mut self, now: Time, sent: Sent);

    /// When the next packet may leave.
    fn eligible(&self) -> Time;

    /// All packets with numbers below `acknowledged` have arrived.
    fn on_ack(&mut self, _now: Time, _acknowledged: u64) {}

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

/// Which algorithm a queue pair has, and its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// As fast as the port takes packets.
    #[default]
    None,
    /// At this rate.
    FixedRate(Rate),
    /// By congestion notifications.
    Dcqcn(dcqcn::Parameters),
    /// By delay.
    Swift(swift::Parameters),
}

/// What a controller has to know of its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path {
    /// The rate of the sender's port.
    pub line: Rate,
    /// Switches on the way, as the TTL of packets that arrive tells.
    pub hops: u32,
    /// A full packet on the line.
    pub packet_bytes: u32,
}

impl Algorithm {
    /// The controller of a new queue pair.
    pub fn start(&self, path: &Path) -> Control {
        match self {
            Self::None => Control::Unlimited,
            Self::FixedRate(rate) => Control::FixedRate(FixedRate::new(*rate)),
            Self::Dcqcn(parameters) => Control::Dcqcn(Box::new(Dcqcn::new(*parameters, path.line))),
            Self::Swift(parameters) => Control::Swift(Box::new(Swift::new(*parameters, path))),
        }
    }
}

/// The controller of a queue pair.
#[derive(Clone, Debug, Default)]
pub enum Control {
    /// As fast as the port takes packets.
    #[default]
    Unlimited,
    /// Paced.
    FixedRate(FixedRate),
    /// Paced at a rate that follows congestion notifications.
    Dcqcn(Box<Dcqcn>),
    /// A window that follows delay.
    Swift(Box<Swift>),
}

impl Control {
    /// Whether acknowledgements mean anything to it.
    #[inline]
    pub fn has_window(&self) -> bool {
        matches!(self, Self::Swift(_))
    }
}

impl Controller for Control {
    #[inline]
    fn on_transmit(&mut self, now: Time, sent: Sent) {
        match self {
            Self::Unlimited => {}
            Self::FixedRate(control) => control.on_transmit(now, sent),
            Self::Dcqcn(control) => control.on_transmit(now, sent),
            Self::Swift(control) => control.on_transmit(now, sent),
        }
    }

    #[inline]
    fn eligible(&self) -> Time {
        match self {
            Self::Unlimited => Time::ZERO,
            Self::FixedRate(control) => control.eligible(),
            Self::Dcqcn(control) => control.eligible(),
            Self::Swift(control) => control.eligible(),
        }
    }

    fn on_ack(&mut self, now: Time, acknowledged: u64) {
        if let Self::Swift(control) = self {
            control.on_ack(now, acknowledged);
        }
    }

    fn on_nak(&mut self, now: Time) {
        if let Self::Swift(control) = self {
            control.on_nak(now);
        }
    }

    fn on_timeout(&mut self, now: Time) {
        if let Self::Swift(control) = self {
            control.on_timeout(now);
        }
    }

    fn on_cnp(&mut self, now: Time) {
        if let Self::Dcqcn(control) = self {
            control.on_cnp(now);
        }
    }

    #[inline]
    fn window(&self) -> u32 {
        match self {
            Self::Unlimited | Self::FixedRate(_) | Self::Dcqcn(_) => u32::MAX,
            Self::Swift(control) => control.window(),
        }
    }
}
