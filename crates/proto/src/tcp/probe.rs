//! Tail loss probes (RFC 8985 §7).

use wiremend_units::Time;

#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) at: Time,
    pub(super) due: bool,
    /// SND.NXT when a probe was sent, and whether the probe was a retransmission.
    sent: Option<(u64, bool)>,
}

/// What an ACK shows about a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ProbeVerdict {
    /// Undecided.
    Open,
    /// The probe carried new data, or data that was not missing.
    Needless,
    Repaired,
}

impl Probe {
    pub(super) const fn new() -> Self {
        Self { at: Time::MAX, due: false, sent: None }
    }

    /// Whether a probe is in flight; there is at most one.
    pub(super) fn is_in_flight(&self) -> bool {
        self.sent.is_some()
    }

    pub(super) fn on_send(&mut self, nxt: u64, retransmitted: bool) {
        self.sent = Some((nxt, retransmitted));
    }

    pub(super) fn cancel(&mut self) {
        (self.at, self.due) = (Time::MAX, false);
    }

    /// Resets the state after a retransmission timeout.
    pub(super) fn forget(&mut self) {
        *self = Self::new();
    }

    /// Handles an ACK (RFC 8985 §7.4.2). `duplicate`: it has neither new data nor SACK blocks.
    pub(super) fn on_ack(&mut self, ack: u64, dsack: bool, duplicate: bool) -> ProbeVerdict {
        let Some((end, retransmitted)) = self.sent.filter(|(end, _)| ack >= *end) else {
            return ProbeVerdict::Open;
        };
        if !retransmitted || dsack || duplicate {
            self.sent = None;
            return ProbeVerdict::Needless;
        }
        if ack > end {
            self.sent = None;
            return ProbeVerdict::Repaired;
        }
        ProbeVerdict::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8985 §7.4.2.
    #[test]
    fn ack_shows_whether_a_probe_repaired_a_loss() {
        let probe = |retransmitted| {
            let mut probe = Probe::new();
            probe.on_send(5_000, retransmitted);
            probe
        };
        assert_eq!(probe(true).on_ack(4_000, false, false), ProbeVerdict::Open);
        assert_eq!(probe(true).on_ack(5_000, true, false), ProbeVerdict::Needless, "both copies arrived");
        assert_eq!(probe(true).on_ack(5_000, false, true), ProbeVerdict::Needless);
        assert_eq!(probe(true).on_ack(6_000, false, false), ProbeVerdict::Repaired);
        assert_eq!(probe(false).on_ack(5_000, false, false), ProbeVerdict::Needless, "new data");
    }
}
