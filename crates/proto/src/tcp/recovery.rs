//! Recovery: proportional rate reduction, and undo of spurious recoveries.

use super::cc::RecoveryState;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recovery {
    pub(super) state: RecoveryState,
    /// Recovery ends when this byte is acknowledged.
    pub(super) point: u64,
    reduction: Reduction,
    undo: Option<Undo>,
    /// Duplicate ACKs in a row and the bytes they stand for, without SACK (RFC 6582).
    pub(super) dup_acks: u32,
    pub(super) dup_acked_bytes: u64,
}

/// Proportional rate reduction (RFC 9937): the window falls to its threshold as data arrive.
#[derive(Clone, Copy, Debug, Default)]
struct Reduction {
    delivered: u64,
    sent: u64,
    at_start: u64,
}

/// State to restore if DSACKs show that all retransmissions were spurious.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    pub(super) window: u64,
    pub(super) threshold: u64,
    retransmits: u32,
    /// First byte it applies to.
    from: u64,
}

impl Recovery {
    pub(super) fn begin(&mut self, state: RecoveryState, point: u64, una: u64, window: u64, threshold: u64) {
        if self.state == RecoveryState::Open {
            self.undo = Some(Undo { window, threshold, retransmits: 0, from: una });
        }
        self.state = state;
        self.point = point;
        self.reduction = Reduction { delivered: 0, sent: 0, at_start: (point - una).max(1) };
    }

    #[inline]
    pub(super) fn on_send(&mut self, len: u16) {
        self.reduction.sent += len as u64;
    }

    pub(super) fn on_retransmit(&mut self, seq: u64) {
        let point = self.point;
        if let Some(undo) = self.undo.as_mut().filter(|undo| (undo.from..point).contains(&seq)) {
            undo.retransmits += 1;
        }
    }

    /// A DSACK arrived. Returns the state to restore if all retransmissions were spurious.
    pub(super) fn on_dsack(&mut self, seq: u64) -> Option<Undo> {
        let point = self.point;
        let undo =
            self.undo.as_mut().filter(|undo| undo.retransmits > 0 && (undo.from..point).contains(&seq))?;
        undo.retransmits -= 1;
        if undo.retransmits > 0 {
            return None;
        }
        self.undo.take()
    }

    /// Window during recovery (RFC 9937 §6), which ends at `threshold`. `safe`: the ACK made progress and
    /// showed no new loss. `first`: the ACK that started recovery.
    pub(super) fn window(
        &mut self,
        arrived: u64,
        pipe: u64,
        threshold: u64,
        mss: u64,
        safe: bool,
        first: bool,
    ) -> u64 {
        let reduction = &mut self.reduction;
        reduction.delivered += arrived;
        let more = if pipe > threshold {
            let due =
                (reduction.delivered as u128 * threshold as u128).div_ceil(reduction.at_start as u128) as u64;
            due.saturating_sub(reduction.sent)
        } else {
            let limit =
                reduction.delivered.saturating_sub(reduction.sent).max(arrived) + if safe { mss } else { 0 };
            limit.min(threshold - pipe)
        };
        // An empty path takes one segment in any case.
        (pipe + if first { more.max(mss) } else { more }).max(mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9937 §6: with 20 segments in flight and half as threshold, one segment leaves for two that arrive.
    #[test]
    fn window_falls_in_proportion_to_arrivals() {
        let mut recovery = Recovery::default();
        recovery.begin(RecoveryState::Recovery, 20_000, 0, 20_000, u64::MAX);
        let mut pipe = 19_000;
        let mut sent = 0;
        for nth in 0..18 {
            pipe -= 1_000;
            let window = recovery.window(1_000, pipe, 10_000, 1_000, false, nth == 0);
            if pipe + 1_000 <= window {
                recovery.on_send(1_000);
                pipe += 1_000;
                sent += 1;
            }
        }
        assert_eq!((sent, pipe), (9, 10_000));
    }

    /// A DSACK for each retransmission shows that no segment was lost.
    #[test]
    fn spurious_recovery_is_undone() {
        let mut recovery = Recovery::default();
        recovery.begin(RecoveryState::Recovery, 20_000, 0, 20_000, 40_000);
        recovery.on_retransmit(3_000);
        recovery.on_retransmit(5_000);
        assert!(recovery.on_dsack(3_000).is_none() && recovery.on_dsack(21_000).is_none());
        let undo = recovery.on_dsack(5_000).unwrap();
        assert_eq!((undo.window, undo.threshold), (20_000, 40_000));
        assert!(recovery.on_dsack(5_000).is_none());
    }
}
