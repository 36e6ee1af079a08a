//! The receiver's part: which marks become notifications.

use wiremend_units::{Span, Time};

/// Limits the notifications of one queue pair: the first mark is told of at once, and then no other for an interval
/// (Zhu et al. §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Notification {
    open_at: Time,
}

impl Notification {
    /// A marked packet has come. Whether the sender is to be told.
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
    fn one_mark_in_an_interval_is_told_of() {
        let mut notification = Notification::default();
        let told = |us: u64| notification.on_mark(Time::from_ns(us * 1_000), Span::from_us(50));
        assert_eq!(
            [3, 4, 52, 53, 54, 200, 249, 250].map(told),
            [true, false, false, true, false, true, false, true]
        );
    }
}
