//! Timeout only: each expiry retransmits once all packets that have not arrived.
//!
//! This policy never mistakes reordering for loss, and it never detects a loss before the timeout.

use wiremend_units::Time;

use super::{AckEvent, RecoveryPolicy};
use crate::sr::config::Config;
use crate::sr::scoreboard::Scoreboard;

#[derive(Clone, Debug, Default)]
pub(in crate::sr) struct TimeoutOnly {
    /// Next number to examine for retransmission.
    cursor: u64,
    /// Missing packets before this number are lost.
    lost_before: u64,
}

impl RecoveryPolicy for TimeoutOnly {
    fn on_sent(&mut self, _: &Scoreboard, _: Time, seq: u64, retransmission: bool) {
        if retransmission {
            self.cursor = seq + 1;
        }
    }

    fn on_ack(&mut self, _: &Config, _: &Scoreboard, _: Time, _: &AckEvent) {}

    fn on_expiry(&mut self, _: &Config, scoreboard: &Scoreboard, _: Time) {
        *self = Self { cursor: scoreboard.una, lost_before: scoreboard.next };
    }

    fn next_retransmission(&self, scoreboard: &Scoreboard) -> Option<u64> {
        scoreboard.first_missing(self.cursor, self.lost_before)
    }
}
