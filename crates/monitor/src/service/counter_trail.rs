//! Writes the counters of links that need attention.

use tracing::warn;
use wiremend_units::{Span, Time};

use super::local_machine::LocalMachine;
use crate::daemon::Daemon;
use crate::redis::{RedisError, Store};

/// Writes the counters of links.
#[derive(Default)]
pub(super) struct CounterTrail {
    links: Vec<Schedule>,
    /// Whether the rules of this connection's user do not allow the streams.
    is_refused: bool,
}

/// When the counters of a link are written. The first two entries are close, so that there is something to compare;
/// later ones are rarer, so that a stream of bounded length spans a day.
#[derive(Default)]
struct Schedule(Option<Next>);

struct Next {
    due: Time,
    interval: Span,
    /// The link needs no attention any more: one last entry shows how it was left.
    is_last: bool,
}

const INTERVAL_MIN: Span = Span::from_ms(2_000);
const INTERVAL_MAX: Span = Span::from_ms(300_000);

impl CounterTrail {
    /// Writes what is due. A server whose rules for this node are older than the streams is no failure.
    pub(super) fn write(
        &mut self,
        now: Time,
        daemon: &Daemon,
        machine: &mut LocalMachine,
        store: &mut Store,
    ) -> Result<(), RedisError> {
        if self.is_refused || !daemon.holds_lease() {
            return Ok(());
        }
        self.links.resize_with(daemon.link_count(), Schedule::default);
        for (at, next) in self.links.iter_mut().enumerate() {
            if !next.is_due(now, daemon.needs_attention(at)) {
                continue;
            }
            let Some(record) = machine.counters(at) else { continue };
            match store.add_counters(machine.port(at), &record) {
                Ok(()) => {}
                Err(RedisError::Refused(why)) if why.starts_with("NOPERM") => {
                    warn!(
                        event = "counters",
                        "counters of links are not stored: {why}; run `wiremend monitor acl` for this node again"
                    );
                    self.is_refused = true;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Schedule {
    /// Returns whether an entry is due, and plans the next one.
    fn is_due(&mut self, now: Time, needs_attention: bool) -> bool {
        if needs_attention {
            let first = Next { due: now, interval: INTERVAL_MIN, is_last: false };
            self.0.get_or_insert(first).is_last = false;
        }
        let Some(next) = &mut self.0 else { return false };
        if !needs_attention && !next.is_last {
            (next.is_last, next.due) = (true, now.saturating_add(INTERVAL_MIN));
        }
        if now < next.due {
            return false;
        }
        if next.is_last {
            self.0 = None;
        } else {
            next.due = now.saturating_add(next.interval);
            next.interval = (next.interval * 2).min(INTERVAL_MAX);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Schedule, Time};

    /// Seconds from 0 to 20 at which an entry is due, if the link needs attention in these seconds.
    fn due_seconds(needs_attention: impl Fn(u64) -> bool) -> Vec<u64> {
        let mut schedule = Schedule::default();
        (0..=20)
            .filter(|second| schedule.is_due(Time::from_ns(second * 1_000_000_000), needs_attention(*second)))
            .collect()
    }

    #[test]
    fn entries_become_rarer_and_one_follows_the_end() {
        assert!(due_seconds(|_| false).is_empty());
        assert_eq!(due_seconds(|_| true), [0, 2, 6, 14]);
        assert_eq!(due_seconds(|second| second < 8), [0, 2, 6, 10]);
        assert_eq!(due_seconds(|second| second != 8), [0, 2, 6, 10], "attention again before the last entry");
        assert_eq!(due_seconds(|second| second == 0 || second > 5), [0, 3, 6, 8, 12, 20], "and after it");
    }
}
