//! Probes for a lost tail (RFC 8985 §7).

use wiremend_units::Time;

/// What is known of probes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// When one is due.
    pub(super) at: Time,
    /// One is to be sent now.
    pub(super) due: bool,
    /// The next byte when one was sent, and whether it was sent again for it.
    sent: Option<(u64, bool)>,
}

/// What an acknowledgement says of a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// Nothing.
    Open,
    /// What it carried was not missing, or was new.
    Needless,
    /// It has repaired a loss that nothing else told of.
    Repaired,
}

impl Probe {
    pub(super) const fn new() -> Self {
        Self { at: Time::MAX, due: false, sent: None }
    }

    /// At most one is under way.
    pub(super) fn is_out(&self) -> bool {
        self.sent.is_some()
    }

    pub(super) fn on_send(&mut self, nxt: u64, again: bool) {
        self.sent = Some((nxt, again));
    }

    pub(super) fn cancel(&mut self) {
        (self.at, self.due) = (Time::MAX, false);
    }

    /// The timer has expired: what a probe tells comes too late.
    pub(super) fn forget(&mut self) {
        *self = Self::new();
    }

    /// RFC 8985 §7.4.2. `double`: an acknowledgement without news and without blocks.
    pub(super) fn on_ack(&mut self, ack: u64, twice: bool, double: bool) -> Verdict {
        let Some((end, again)) = self.sent.filter(|(end, _)| ack >= *end) else { return Verdict::Open };
        if !again || twice || double {
            self.sent = None;
            return Verdict::Needless;
        }
        if ack > end {
            self.sent = None;
            return Verdict::Repaired;
        }
        Verdict::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8985 §7.4.2.
    #[test]
    fn a_probe_that_repaired_a_loss_is_told_from_one_that_did_not() {
        let probe = |again| {
            let mut probe = Probe::new();
            probe.on_send(5_000, again);
            probe
        };
        assert_eq!(probe(true).on_ack(4_000, false, false), Verdict::Open);
        assert_eq!(probe(true).on_ack(5_000, true, false), Verdict::Needless, "both copies came");
        assert_eq!(probe(true).on_ack(5_000, false, true), Verdict::Needless);
        assert_eq!(probe(true).on_ack(6_000, false, false), Verdict::Repaired);
        assert_eq!(probe(false).on_ack(5_000, false, false), Verdict::Needless, "it was new");
    }
}
