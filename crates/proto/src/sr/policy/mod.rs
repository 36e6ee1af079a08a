//! How a scheme notices losses and what it sends again: the requester's half of each.
//!
//! The [`Requester`](super::Requester) does what all schemes have in common: messages, windows, the retransmission
//! timer, completions. It tells a policy what was sent, what arrived and that the timer expired, and asks
//! what to send again. Policies differ in what they remember, and that is what [`super::StateBytes`] counts.

mod irn;
mod mp_rdma;
mod rack_tlp;
mod timeout_only;

use std::fmt::Debug;

use wiremend_units::{Span, Time};

use super::board::Board;
use super::config::Config;
use super::packet::Acknowledgement;
use super::scheme::Scheme;
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
    Other(Box<dyn RecoveryPolicy>),
}

/// What an acknowledgement says, after the board has learned it.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    /// The oldest number that was missing before.
    pub una_before: u64,
    /// The packet that the responder has answered, if it kept it and that makes sense.
    pub arrived: Option<u64>,
    /// That packet was not known to have arrived.
    pub is_news: bool,
    /// It asks for what is missing, and that is missing still.
    pub nak: bool,
    /// What was said of the packet itself.
    pub said: Acknowledgement,
    /// The path of the packet.
    pub path: u16,
}

/// What a requester does about losses. Every method has a meaning for every scheme; most schemes leave some empty.
pub trait RecoveryPolicy: Debug + Send {
    /// A packet leaves: for the first time if `again` is false.
    fn on_sent(&mut self, board: &Board, now: Time, seq: u64, again: bool);

    /// An acknowledgement came, which the board knows of.
    fn on_heard(&mut self, config: &Config, board: &Board, now: Time, heard: &Heard);

    /// The retransmission timer expired.
    fn on_expiry(&mut self, config: &Config, board: &Board, now: Time);

    /// The number to send again next.
    fn again(&self, board: &Board) -> Option<u64>;

    /// The retransmission timeout.
    fn rto(&self, config: &Config, board: &Board) -> Span {
        let few = board.outstanding() <= u64::from(config.rto_low_packets);
        if few { config.rto_low } else { config.rto_high }
    }

    /// How many numbers beyond the oldest missing one may be in use, if it has a view.
    fn window(&self) -> Option<u64> {
        None
    }

    /// Which path the next packet takes.
    fn path(&mut self, _config: &Config, _seq: u64) -> u16 {
        0
    }

    /// When [`Self::on_timer`] wants to be called.
    fn due(&self) -> Time {
        Time::MAX
    }

    /// A timer of its own has expired. Says whether the retransmission timer starts anew.
    fn on_timer(&mut self, _config: &Config, _board: &Board, _now: Time) -> bool {
        false
    }
}

macro_rules! each {
    ($policy:expr, $of:ident => $call:expr) => {
        match $policy {
            Policy::Irn($of) => $call,
            Policy::TimeoutOnly($of) => $call,
            Policy::RackTlp($of) => $call,
            Policy::MpRdma($of) => $call,
            Policy::Other($of) => $call,
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
            Scheme::Other(other) => Self::Other(other.start(config)),
        }
    }

    /// Probes sent for a tail that was not acknowledged.
    pub(super) fn probes(&self) -> u32 {
        if let Self::RackTlp(rack) = self { rack.probes } else { 0 }
    }

    /// Bytes that a NIC keeps of it for a connection with that configuration.
    pub(super) fn state_bytes(config: &Config) -> u64 {
        let window = u64::from(config.base.window);
        match &config.scheme {
            Scheme::Irn => size_of::<Irn>() as u64 + window.div_ceil(8),
            Scheme::TimeoutOnly => size_of::<TimeoutOnly>() as u64 + window.div_ceil(8),
            Scheme::RackTlp => {
                size_of::<RackTlp>() as u64 + window.div_ceil(8) + window * RackTlp::PACKET_BYTES
            }
            Scheme::MpRdma => MpRdma::STATE_BYTES,
            Scheme::Other(other) => other.state_bytes(window),
        }
    }
}

impl RecoveryPolicy for Policy {
    fn on_sent(&mut self, board: &Board, now: Time, seq: u64, again: bool) {
        each!(self, policy => policy.on_sent(board, now, seq, again));
    }

    fn on_heard(&mut self, config: &Config, board: &Board, now: Time, heard: &Heard) {
        each!(self, policy => policy.on_heard(config, board, now, heard));
    }

    fn on_expiry(&mut self, config: &Config, board: &Board, now: Time) {
        each!(self, policy => policy.on_expiry(config, board, now));
    }

    fn again(&self, board: &Board) -> Option<u64> {
        each!(self, policy => policy.again(board))
    }

    fn rto(&self, config: &Config, board: &Board) -> Span {
        each!(self, policy => policy.rto(config, board))
    }

    fn window(&self) -> Option<u64> {
        each!(self, policy => policy.window())
    }

    fn path(&mut self, config: &Config, seq: u64) -> u16 {
        each!(self, policy => policy.path(config, seq))
    }

    fn due(&self) -> Time {
        each!(self, policy => policy.due())
    }

    fn on_timer(&mut self, config: &Config, board: &Board, now: Time) -> bool {
        each!(self, policy => policy.on_timer(config, board, now))
    }
}
