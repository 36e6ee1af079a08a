//! Nothing but the timer: what has not arrived when it expires is sent again, once for each expiry.
//!
//! It never takes disorder for loss, and it never notices a loss early.

use wiremend_units::Time;

use super::{Heard, RecoveryPolicy};
use crate::sr::board::Board;
use crate::sr::config::Config;

#[derive(Clone, Debug, Default)]
pub(in crate::sr) struct TimeoutOnly {
    /// Where sending again has come to.
    cursor: u64,
    /// Everything before it that has not arrived is lost.
    lost_before: u64,
}

impl RecoveryPolicy for TimeoutOnly {
    fn on_sent(&mut self, _: &Board, _: Time, seq: u64, again: bool) {
        if again {
            self.cursor = seq + 1;
        }
    }

    fn on_heard(&mut self, _: &Config, _: &Board, _: Time, _: &Heard) {}

    fn on_expiry(&mut self, _: &Config, board: &Board, _: Time) {
        *self = Self { cursor: board.una, lost_before: board.next };
    }

    fn again(&self, board: &Board) -> Option<u64> {
        board.first_missing(self.cursor, self.lost_before)
    }
}
