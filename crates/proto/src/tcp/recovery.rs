//! How losses are dealt with: when the window is reduced, how much is sent meanwhile, and whether it was needless.

use super::cc::State;

/// The state of recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recovery {
    pub(super) state: State,
    /// It is over when this byte is acknowledged.
    pub(super) point: u64,
    reduction: Reduction,
    undo: Option<Undo>,
    /// Duplicate acknowledgements in a row, and bytes that they stand for, where the receiver tells no more (RFC 6582).
    pub(super) doubles: u32,
    pub(super) doubled_bytes: u64,
}

/// Proportional rate reduction (RFC 9937): the window falls to its threshold as data arrive.
#[derive(Clone, Copy, Debug, Default)]
struct Reduction {
    delivered: u64,
    sent: u64,
    at_start: u64,
}

/// What to return to if all that was sent again turns out to have come twice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    pub(super) window: u64,
    pub(super) threshold: u64,
    resends: u32,
    /// The first byte that it is about.
    from: u64,
}

impl Recovery {
    pub(super) fn begin(&mut self, state: State, point: u64, una: u64, window: u64, threshold: u64) {
        if self.state == State::Open {
            self.undo = Some(Undo { window, threshold, resends: 0, from: una });
        }
        self.state = state;
        self.point = point;
        self.reduction = Reduction { delivered: 0, sent: 0, at_start: (point - una).max(1) };
    }

    /// A segment was sent.
    #[inline]
    pub(super) fn on_send(&mut self, len: u16) {
        self.reduction.sent += len as u64;
    }

    /// A segment was sent again.
    pub(super) fn on_resend(&mut self, seq: u64) {
        let point = self.point;
        if let Some(undo) = self.undo.as_mut().filter(|undo| (undo.from..point).contains(&seq)) {
            undo.resends += 1;
        }
    }

    /// The receiver tells of something that came twice. Says what to return to if nothing that was sent again was missing.
    pub(super) fn on_twice(&mut self, seq: u64) -> Option<Undo> {
        let point = self.point;
        let undo = self.undo.as_mut().filter(|undo| undo.resends > 0 && (undo.from..point).contains(&seq))?;
        undo.resends -= 1;
        if undo.resends > 0 {
            return None;
        }
        self.undo.take()
    }

    /// The window while losses are repaired (RFC 9937 §6): so much that in the end it is `threshold`. `safe`: the acknowledgement
    /// brings progress and no new loss. `first`: this is where recovery begins.
    pub(super) fn window(
        &mut self,
        arrived: u64,
        pipe: u64,
        threshold: u64,
        mss: u64,
        safe: bool,
        first: bool,
    ) -> u64 {
        let of = &mut self.reduction;
        of.delivered += arrived;
        let more = if pipe > threshold {
            let due = (of.delivered as u128 * threshold as u128).div_ceil(of.at_start as u128) as u64;
            due.saturating_sub(of.sent)
        } else {
            let limit = of.delivered.saturating_sub(of.sent).max(arrived) + if safe { mss } else { 0 };
            limit.min(threshold - pipe)
        };
        // An empty path takes a segment in any case.
        (pipe + if first { more.max(mss) } else { more }).max(mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9937 §6: 20 segments under way, the threshold is half: one segment leaves for two that arrive, and the window ends at it.
    #[test]
    fn the_window_falls_in_proportion() {
        let mut recovery = Recovery::default();
        recovery.begin(State::Recovery, 20_000, 0, 20_000, u64::MAX);
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

    /// What was sent again and came twice was not missing.
    #[test]
    fn a_needless_recovery_is_undone() {
        let mut recovery = Recovery::default();
        recovery.begin(State::Recovery, 20_000, 0, 20_000, 40_000);
        recovery.on_resend(3_000);
        recovery.on_resend(5_000);
        assert!(recovery.on_twice(3_000).is_none() && recovery.on_twice(21_000).is_none());
        let undo = recovery.on_twice(5_000).unwrap();
        assert_eq!((undo.window, undo.threshold), (20_000, 40_000));
        assert!(recovery.on_twice(5_000).is_none());
    }
}
