//! When to try Redis again, and what to say about it.

use wiremend_units::{Span, Time};

use crate::bus::{Fault, Unfit};

/// The server is tried again after this, then after twice as long, and so on.
const PAUSE_MIN: Span = Span::from_ms(500);
const PAUSE_MAX: Span = Span::from_ms(30_000);

/// How a server that cannot be reached is tried again.
pub(crate) struct Retry {
    at: Time,
    pause: Span,
    /// It was said that it cannot be reached.
    said: bool,
}

impl Default for Retry {
    fn default() -> Self {
        Self { at: Time::ZERO, pause: PAUSE_MIN, said: false }
    }
}

impl Retry {
    pub(crate) fn is_due(&self, now: Time) -> bool {
        now >= self.at
    }

    /// It answered. Whether that is news.
    pub(crate) fn on_success(&mut self) -> bool {
        self.pause = PAUSE_MIN;
        std::mem::take(&mut self.said)
    }

    /// It did not. What is to be said, the first time.
    pub(crate) fn on_failure(&mut self, now: Time, why: &Unfit) -> Option<String> {
        self.at = now.saturating_add(self.pause);
        self.pause = (self.pause + self.pause).min(PAUSE_MAX);
        if std::mem::replace(&mut self.said, true) {
            return None;
        }
        let advice = match why {
            Unfit::Fault(Fault::Refused(_)) => "; `wiremend monitor acl` makes its user",
            _ => "",
        };
        Some(format!("no word with Redis: {why}{advice}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_waits_longer_each_time_and_says_it_once() {
        let mut retry = Retry::default();
        let why = Unfit::Evicts("allkeys-lru".to_owned());
        let mut now = Time::ZERO;
        let mut waits = Vec::new();
        for round in 0..10 {
            assert_eq!(retry.on_failure(now, &why).is_some(), round == 0);
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
