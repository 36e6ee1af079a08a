//! What an end of a protected link goes by. All times and sizes follow from the link's rate, its longest frame and its round
//! trip, unless they are set.

use wiremend_units::{Bytes, Rate, Span};

use super::LossRate;

/// What an end goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Of the link.
    pub rate: Rate,
    /// The longest frame, from MAC header to FCS.
    pub frame_bytes_max: Bytes,
    /// The loss that may remain.
    pub target: LossRate,
    /// How many copies of what is asked for.
    pub copies: CopyCount,
    /// Dummies behind a tail: one more than the longest burst that is to be noticed without a timer.
    pub dummies: u8,
    /// Times that a notification and a change of pause are sent, for links that corrupt in both directions.
    pub control_copies: u8,
    /// Room for frames that are not acknowledged.
    pub tx_bytes_max: Bytes,
    /// Room for frames that wait for an earlier one.
    pub rx_bytes_max: Bytes,
    /// The round trip, if it is not to be measured.
    pub rtt: Option<Span>,
    /// `ackNoTimeout`: how long a frame is waited for; by default it follows from the round trip.
    pub give_up: Option<Span>,
    /// The sender is paused when so much waits in the reordering buffer, and resumed at so much.
    pub pause_at: Option<Bytes>,
    /// See `pause_at`.
    pub resume_at: Option<Bytes>,
    /// No backpressure at all, to show what it is for (LG §4.2).
    pub backpressure: bool,
    /// Retransmissions may take this share of what is sent; in percent.
    pub resend_share_percent: u8,
}

/// How many copies of a frame that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyCount {
    /// So many.
    Fixed(u8),
    /// By LG Eq. 2 from the loss that is measured; from this one as long as nothing was measured.
    Measured(LossRate),
}

/// Why a configuration cannot work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {}

impl Config {
    /// Whether it can work.
    pub fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}
