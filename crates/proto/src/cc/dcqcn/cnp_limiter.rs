//! The notification point of DCQCN: which marks cause a congestion notification.

use wiremend_units::{Span, Time};

/// Limits the congestion notifications of one queue pair: one for the first mark, then at most one per
/// interval (Zhu et al. §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CnpLimiter {
    open_at: Time,
}

impl CnpLimiter {
    /// Handles a marked packet. Returns whether to send a congestion notification.
    pub fn on_mark(&mut self, now: Time, interval: Span) -> bool {
        let is_due = self.open_at <= now;
        if is_due {
            self.open_at = now.saturating_add(interval);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mark_per_interval_causes_a_notification() {
        let mut limiter = CnpLimiter::default();
        let sends_cnp = |us: u64| limiter.on_mark(Time::from_ns(us * 1_000), Span::from_us(50));
        assert_eq!(
            [3, 4, 52, 53, 54, 200, 249, 250].map(sends_cnp),
            [true, false, false, true, false, true, false, true]
        );
    }
}
