//! Reconnection to Redis with exponential backoff.

use wiremend_units::{Span, Time};

use crate::redis::{RedisError, UnusableServer};

/// First delay; it doubles with each failure.
const DELAY_MIN: Span = Span::from_ms(500);
const DELAY_MAX: Span = Span::from_ms(30_000);

/// State of the reconnection.
pub(crate) struct Retry {
    at: Time,
    delay: Span,
    /// Whether the failure was reported.
    reported: bool,
}

impl Default for Retry {
    fn default() -> Self {
        Self { at: Time::ZERO, delay: DELAY_MIN, reported: false }
    }
}

impl Retry {
    pub(crate) fn is_due(&self, now: Time) -> bool {
        now >= self.at
    }

    /// Resets the delay. Returns whether a failure had been reported.
    pub(crate) fn on_success(&mut self) -> bool {
        self.delay = DELAY_MIN;
        std::mem::take(&mut self.reported)
    }

    /// Doubles the delay. Returns a message for the first failure.
    pub(crate) fn on_failure(&mut self, now: Time, reason: &UnusableServer) -> Option<String> {
        self.at = now.saturating_add(self.delay);
        self.delay = (self.delay + self.delay).min(DELAY_MAX);
        if std::mem::replace(&mut self.reported, true) {
            return None;
        }
        let advice = match reason {
            UnusableServer::Redis(RedisError::Refused(_)) => "; create the user with `wiremend monitor acl`",
            _ => "",
        };
        Some(format!("cannot use Redis: {reason}{advice}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_and_the_failure_is_reported_once() {
        let mut retry = Retry::default();
        let reason = UnusableServer::Evicts("allkeys-lru".to_owned());
        let mut now = Time::ZERO;
        let mut waits = Vec::new();
        for round in 0..10 {
            assert_eq!(retry.on_failure(now, &reason).is_some(), round == 0);
            let mut later = now;
            while !retry.is_due(later) {
                later = later.saturating_add(Span::from_ms(500));
            }
            waits.push(later.since(now).as_ns() / 1_000_000);
            now = later;
        }
        assert_eq!(waits, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 30_000]);
        assert!(retry.on_success() && !retry.on_success());
    }
}
