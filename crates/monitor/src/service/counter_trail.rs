//! Writes the counters of links that need attention.

use tracing::warn;
use wiremend_units::{Span, Time};

use super::local_machine::LocalMachine;
use crate::daemon::Daemon;
use crate::redis::{RedisError, Store};

/// When the counters of each link are written next. The first two entries are close, so that there is something to
/// compare; later ones are rarer, so that a stream of bounded length spans a day.
#[derive(Default)]
pub(super) struct CounterTrail {
    links: Vec<Option<Next>>,
    /// Whether the rules of this connection's user do not allow the streams.
    is_refused: bool,
}

struct Next {
    due: Time,
    interval: Span,
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
        self.links.resize_with(daemon.link_count(), || None);
        for (at, next) in self.links.iter_mut().enumerate() {
            if !daemon.needs_attention(at) {
                *next = None;
                continue;
            }
            let Next { due, interval } = next.get_or_insert(Next { due: now, interval: INTERVAL_MIN });
            if now < *due {
                continue;
            }
            *due = now.saturating_add(*interval);
            *interval = (*interval * 2).min(INTERVAL_MAX);
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
