//! The interface between a requester and the loss recovery of its scheme.

use std::fmt::Debug;

use wiremend_units::{Span, Time};

use super::config::Config;
use super::packet::Acknowledgement;
use super::scoreboard::Scoreboard;

/// An acknowledgement, after the scoreboard was updated.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// Oldest missing number before this acknowledgement.
    pub una_before: u64,
    /// Number of the acknowledged packet, if it is valid and the responder kept the packet.
    pub arrived: Option<u64>,
    /// Whether that packet was not known to have arrived.
    pub newly_arrived: bool,
    /// Whether it is a NAK for a packet that is still missing.
    pub nak: bool,
    /// The acknowledgement itself.
    pub ack: Acknowledgement,
    /// Path of the packet.
    pub path: u16,
}

/// The loss recovery of a requester. Schemes leave some methods empty.
pub trait RecoveryPolicy: Debug + Send {
    /// Handles the transmission of a packet.
    fn on_sent(&mut self, scoreboard: &Scoreboard, now: Time, seq: u64, retransmission: bool);

    /// Handles an acknowledgement after the scoreboard was updated.
    fn on_ack(&mut self, config: &Config, scoreboard: &Scoreboard, now: Time, event: &AckEvent);

    /// Handles an expiry of the retransmission timer.
    fn on_expiry(&mut self, config: &Config, scoreboard: &Scoreboard, now: Time);

    /// Returns the next number to retransmit.
    fn next_retransmission(&self, scoreboard: &Scoreboard) -> Option<u64>;

    /// Returns the retransmission timeout.
    fn rto(&self, config: &Config, scoreboard: &Scoreboard) -> Span {
        let few = scoreboard.outstanding() <= u64::from(config.rto_low_packets);
        if few { config.rto_low } else { config.rto_high }
    }

    /// Limit of numbers beyond the oldest missing one, if the policy sets one.
    fn window(&self) -> Option<u64> {
        None
    }

    /// Returns the path of the next packet.
    fn next_path(&mut self, _config: &Config, _seq: u64) -> u16 {
        0
    }

    /// Time of the next call to [`Self::on_timer`].
    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    /// Handles an expiry of the policy's own timer. Returns whether the retransmission timer restarts.
    fn on_timer(&mut self, _config: &Config, _scoreboard: &Scoreboard, _now: Time) -> bool {
        false
    }
}
