//! IRN (Mittal et al., SIGCOMM 2018, §3.1): a NAK or a timeout starts a recovery, which sends each hole once.
//!
//! The first hole is sent at once; a later one counts as lost only if something behind it has arrived. Between and
//! after them new packets go out as the window permits. The recovery ends when everything that was sent before it
//! has arrived; until then a further NAK starts nothing, so that a retransmission that is lost waits for the timer.
//! After an expiry nothing is known to be under way, and all that has not arrived counts as lost, as in the widely
//! used port for ns-3; the paper does not say.

use wiremend_units::Time;

use super::{Heard, RecoveryPolicy};
use crate::sr::board::Board;
use crate::sr::config::Config;

#[derive(Clone, Debug, Default)]
pub(in crate::sr) struct Irn {
    /// A recovery is under way, which ends when everything before this number has arrived.
    until: Option<u64>,
    /// The first number that this recovery has not considered.
    cursor: u64,
    /// Everything before it that has not arrived is lost, whatever has arrived behind it.
    lost_before: u64,
}

impl Irn {
    fn start(&mut self, board: &Board, lost_before: u64) {
        *self = Self { until: Some(board.next), cursor: board.una, lost_before };
    }
}

impl RecoveryPolicy for Irn {
    fn on_sent(&mut self, _: &Board, _: Time, seq: u64, again: bool) {
        if again {
            self.cursor = seq + 1;
        }
    }

    fn on_heard(&mut self, _: &Config, board: &Board, _: Time, heard: &Heard) {
        self.until = self.until.filter(|until| board.una < *until);
        if heard.nak && self.until.is_none() && board.outstanding() > 0 {
            self.start(board, board.una + 1);
        }
    }

    fn on_expiry(&mut self, _: &Config, board: &Board, _: Time) {
        self.start(board, board.next);
    }

    fn again(&self, board: &Board) -> Option<u64> {
        self.until?;
        board.first_missing(self.cursor, board.reached.max(self.lost_before))
    }
}
