//! Congestion control: when a queue pair may send next, and how much may be outstanding.
//!
//! A host asks [`Controller::eligible`] before it polls a requester and reports what happens to the connection. The
//! hosts hold a [`Control`], which knows all controllers, so that nothing is called through a pointer.

mod fixed_rate;

use wiremend_units::Time;

pub use fixed_rate::FixedRate;

/// A congestion control algorithm of one queue pair.
pub trait Controller {
    /// A packet that takes `wire_bytes` of the line, everything between two frames included, starts to leave.
    fn on_transmit(&mut self, now: Time, wire_bytes: u32);

    /// When the next packet may leave.
    fn eligible(&self) -> Time;

    /// So many packets were acknowledged.
    fn on_ack(&mut self, _now: Time, _packets: u32) {}

    /// A NAK showed a loss.
    fn on_nak(&mut self, _now: Time) {}

    /// The retransmission timer expired.
    fn on_timeout(&mut self, _now: Time) {}

    /// A congestion notification came.
    fn on_cnp(&mut self, _now: Time) {}

    /// Packets that may be outstanding.
    fn window(&self) -> u32 {
        u32::MAX
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
}

impl Controller for Control {
    #[inline]
    fn on_transmit(&mut self, now: Time, wire_bytes: u32) {
        match self {
            Self::Unlimited => {}
            Self::FixedRate(control) => control.on_transmit(now, wire_bytes),
        }
    }

    #[inline]
    fn eligible(&self) -> Time {
        match self {
            Self::Unlimited => Time::ZERO,
            Self::FixedRate(control) => control.eligible(),
        }
    }

    #[inline]
    fn on_ack(&mut self, now: Time, packets: u32) {
        match self {
            Self::Unlimited => {}
            Self::FixedRate(control) => control.on_ack(now, packets),
        }
    }

    fn on_nak(&mut self, now: Time) {
        match self {
            Self::Unlimited => {}
            Self::FixedRate(control) => control.on_nak(now),
        }
    }

    fn on_timeout(&mut self, now: Time) {
        match self {
            Self::Unlimited => {}
            Self::FixedRate(control) => control.on_timeout(now),
        }
    }

    fn on_cnp(&mut self, now: Time) {
        match self {
            Self::Unlimited => {}
            Self::FixedRate(control) => control.on_cnp(now),
        }
    }

    #[inline]
    fn window(&self) -> u32 {
        match self {
            Self::Unlimited => u32::MAX,
            Self::FixedRate(control) => control.window(),
        }
    }
}
