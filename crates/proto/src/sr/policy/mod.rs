//! Recovery policies: how the requester of each scheme detects losses and what it retransmits.
//!
//! The [`Requester`](super::Requester) handles messages, windows, the retransmission timer and completions.
//! It reports transmissions, arrivals and timer expiries to a policy and asks the policy what to retransmit.
//! Policies differ in their state, which [`super::StateBytes`] counts.

mod irn;
mod mp_rdma;
mod rack_tlp;
mod timeout_only;

use std::fmt::Debug;

use wiremend_units::{Span, Time};

use super::config::Config;
use super::packet::Acknowledgement;
use super::scheme::Scheme;
use super::scoreboard::Scoreboard;
use irn::Irn;
use mp_rdma::MpRdma;
use rack_tlp::RackTlp;
use timeout_only::TimeoutOnly;

/// The policy of a connection.
#[derive(Debug)]
pub(super) enum Policy {
    Irn(Irn),
    TimeoutOnly(TimeoutOnly),
    RackTlp(Box<RackTlp>),
    MpRdma(Box<MpRdma>),
    Custom(Box<dyn RecoveryPolicy>),
}

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

macro_rules! each {
    ($policy:expr, $inner:ident => $call:expr) => {
        match $policy {
            Policy::Irn($inner) => $call,
            Policy::TimeoutOnly($inner) => $call,
            Policy::RackTlp($inner) => $call,
            Policy::MpRdma($inner) => $call,
            Policy::Custom($inner) => $call,
        }
    };
}

impl Policy {
    pub(super) fn new(config: &Config) -> Self {
        match &config.scheme {
            Scheme::Irn => Self::Irn(Irn::default()),
            Scheme::TimeoutOnly => Self::TimeoutOnly(TimeoutOnly::default()),
            Scheme::RackTlp => Self::RackTlp(Box::default()),
            Scheme::MpRdma => Self::MpRdma(Box::new(MpRdma::new(config))),
            Scheme::Custom(other) => Self::Custom(other.new_policy(config)),
        }
    }

    /// Probes sent for an unacknowledged tail.
    pub(super) fn probes(&self) -> u32 {
        if let Self::RackTlp(rack) = self { rack.probes } else { 0 }
    }

    /// Bytes of NIC state for a connection with this configuration.
    pub(super) fn state_bytes(config: &Config) -> u64 {
        let window = u64::from(config.base.window);
        match &config.scheme {
            Scheme::Irn => size_of::<Irn>() as u64 + window.div_ceil(8),
            Scheme::TimeoutOnly => size_of::<TimeoutOnly>() as u64 + window.div_ceil(8),
            Scheme::RackTlp => {
                size_of::<RackTlp>() as u64 + window.div_ceil(8) + window * RackTlp::PACKET_BYTES
            }
            Scheme::MpRdma => MpRdma::STATE_BYTES,
            Scheme::Custom(other) => other.state_bytes(window),
        }
    }
}

impl RecoveryPolicy for Policy {
    fn on_sent(&mut self, scoreboard: &Scoreboard, now: Time, seq: u64, retransmission: bool) {
        each!(self, policy => policy.on_sent(scoreboard, now, seq, retransmission));
    }

    fn on_ack(&mut self, config: &Config, scoreboard: &Scoreboard, now: Time, event: &AckEvent) {
        each!(self, policy => policy.on_ack(config, scoreboard, now, event));
    }

    fn on_expiry(&mut self, config: &Config, scoreboard: &Scoreboard, now: Time) {
        each!(self, policy => policy.on_expiry(config, scoreboard, now));
    }

    fn next_retransmission(&self, scoreboard: &Scoreboard) -> Option<u64> {
        each!(self, policy => policy.next_retransmission(scoreboard))
    }

    fn rto(&self, config: &Config, scoreboard: &Scoreboard) -> Span {
        each!(self, policy => policy.rto(config, scoreboard))
    }

    fn window(&self) -> Option<u64> {
        each!(self, policy => policy.window())
    }

    fn next_path(&mut self, config: &Config, seq: u64) -> u16 {
        each!(self, policy => policy.next_path(config, seq))
    }

    fn next_timeout(&self) -> Time {
        each!(self, policy => policy.next_timeout())
    }

    fn on_timer(&mut self, config: &Config, scoreboard: &Scoreboard, now: Time) -> bool {
        each!(self, policy => policy.on_timer(config, scoreboard, now))
    }
}
