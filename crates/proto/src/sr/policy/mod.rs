//! Recovery policies: how the requester of each scheme detects losses and what it retransmits.
//!
//! The [`Requester`](super::Requester) handles messages, windows, the retransmission timer and completions.
//! It reports transmissions, arrivals and timer expiries to a policy and asks the policy what to retransmit.
//! Policies differ in their state, which [`super::StateBytes`] counts.

mod irn;
mod mp_rdma;
mod rack_tlp;
mod timeout_only;

use wiremend_units::{Span, Time};

use super::config::Config;
use super::recovery_policy::{AckEvent, RecoveryPolicy};
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
