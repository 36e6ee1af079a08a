//! IRN (Mittal et al., SIGCOMM 2018, §3.1): a NAK or a timeout starts a recovery, which sends each missing
//! packet once.
//!
//! The first missing packet is sent at once; a later one counts as lost only if a packet after it has
//! arrived. Between and after retransmissions, new packets are sent as the window permits. The recovery ends
//! when everything sent before it has arrived; until then another NAK has no effect, so a lost retransmission
//! waits for the timer. After an expiry all packets that have not arrived count as lost, as in the widely
//! used ns-3 port; the paper does not specify this.

use wiremend_units::Time;

use super::{AckEvent, RecoveryPolicy};
use crate::sr::config::Config;
use crate::sr::scoreboard::Scoreboard;

#[derive(Clone, Debug, Default)]
pub(in crate::sr) struct Irn {
    /// A recovery is in progress; it ends when everything before this number has arrived.
    recovery_end: Option<u64>,
    /// First number that this recovery has not examined.
    cursor: u64,
    /// Missing packets before this number are lost even if no later packet has arrived.
    lost_before: u64,
}

impl Irn {
    fn start_recovery(&mut self, scoreboard: &Scoreboard, lost_before: u64) {
        *self = Self { recovery_end: Some(scoreboard.next), cursor: scoreboard.una, lost_before };
    }
}

impl RecoveryPolicy for Irn {
    fn on_sent(&mut self, _: &Scoreboard, _: Time, seq: u64, retransmission: bool) {
        if retransmission {
            self.cursor = seq + 1;
        }
    }

    fn on_ack(&mut self, _: &Config, scoreboard: &Scoreboard, _: Time, event: &AckEvent) {
        self.recovery_end = self.recovery_end.filter(|recovery_end| scoreboard.una < *recovery_end);
        if event.nak && self.recovery_end.is_none() && scoreboard.outstanding() > 0 {
            self.start_recovery(scoreboard, scoreboard.una + 1);
        }
    }

    fn on_expiry(&mut self, _: &Config, scoreboard: &Scoreboard, _: Time) {
        self.start_recovery(scoreboard, scoreboard.next);
    }

    fn next_retransmission(&self, scoreboard: &Scoreboard) -> Option<u64> {
        self.recovery_end?;
        scoreboard.first_missing(self.cursor, scoreboard.arrived_end.max(self.lost_before))
    }
}
