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
    /// The failure that was reported last.
    reported: Option<String>,
}

impl Default for Retry {
    fn default() -> Self {
        Self { at: Time::ZERO, delay: DELAY_MIN, reported: None }
    }
}

impl Retry {
    pub(crate) fn is_due(&self, now: Time) -> bool {
        now >= self.at
    }

    /// Resets the delay. Returns whether a failure had been reported.
    pub(crate) fn on_success(&mut self) -> bool {
        self.delay = DELAY_MIN;
        self.reported.take().is_some()
    }

    /// Doubles the delay. Returns a message for the first failure and for each failure of another kind: a
    /// server that restarts first closes the connection and may then refuse the user.
    pub(crate) fn on_failure(&mut self, now: Time, reason: &UnusableServer) -> Option<String> {
        self.at = now.saturating_add(self.delay);
        self.delay = (self.delay + self.delay).min(DELAY_MAX);
        let text = format!("cannot use Redis: {reason}{}", remedy(reason));
        if self.reported.as_ref() == Some(&text) {
            return None;
        }
        self.reported = Some(text.clone());
        Some(text)
    }
}

/// Returns what to do about a refusal.
fn remedy(reason: &UnusableServer) -> &'static str {
    let UnusableServer::Redis(RedisError::Refused(reason)) = reason else { return "" };
    match reason.split(' ').next() {
        Some("WRONGPASS" | "NOAUTH") => {
            "; create the user with `wiremend monitor acl`, and set `aclfile` in redis.conf, without which \
             users are gone after a restart of Redis"
        }
        Some("NOPERM") => "; the rules of the user are of another version: run `wiremend monitor acl` again",
        Some("OOM") => "; raise `maxmemory`, or find out which keys grow",
        _ => "",
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

    /// A restarted server without its users.
    #[test]
    fn another_failure_is_reported_with_its_remedy() {
        let mut retry = Retry::default();
        let closed = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into();
        let refused = |reason: &str| UnusableServer::Redis(RedisError::Refused(reason.to_owned()));
        let mut report = |reason: UnusableServer| retry.on_failure(Time::ZERO, &reason).unwrap_or_default();
        assert!(report(closed()).contains("end of file"));
        let told = report(refused("WRONGPASS invalid username-password pair or user is disabled."));
        assert!(
            told.contains("WRONGPASS") && told.contains("monitor acl") && told.contains("aclfile"),
            "{told}"
        );
        assert_eq!(report(refused("WRONGPASS invalid username-password pair or user is disabled.")), "");
        let told = report(refused("NOPERM this user has no permissions"));
        assert!(told.contains("NOPERM") && told.contains("again"), "{told}");
    }
}
