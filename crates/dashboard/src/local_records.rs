//! The records of a machine without Redis, read from its ports and relays.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tracing::warn;
use wiremend_monitor::PortName;
use wiremend_monitor::redis::{ActionRecord, LinkAction};
use wiremend_monitor::service::LocalNode;
use wiremend_units::LinkId;

use crate::collector::Collector;
use crate::history::{Author, Change, Event};
use crate::link_counters::Entries;
use crate::link_row::EndRecords;

/// Reads the ports of this machine and keeps what they counted.
pub(crate) struct LocalRecords {
    node: LocalNode,
    /// By link: counters, the oldest first.
    counters: BTreeMap<LinkId, Entries>,
    read_at: Option<Instant>,
    counted_at: Option<Instant>,
}

/// Time between two entries of counters, and their number: an hour.
const COUNTED_EVERY: Duration = Duration::from_secs(10);
const ENTRIES_MAX: usize = 360;

impl LocalRecords {
    pub(crate) fn new(node: LocalNode) -> Self {
        Self { node, counters: BTreeMap::new(), read_at: None, counted_at: None }
    }

    /// What a link counted, at this end and at the other one, of which nothing is known.
    pub(crate) fn counters(&self, link: LinkId) -> [Entries; 2] {
        [self.counters.get(&link).cloned().unwrap_or_default(), Entries::new()]
    }

    /// Reads the ports if they are due. Returns whether they were.
    pub(crate) fn turn(&mut self, collector: &mut Collector<'_>) -> bool {
        let is_due = |last: Option<Instant>, every| last.is_none_or(|last| last.elapsed() >= every);
        if !is_due(self.read_at, self.node.config().poll) {
            return false;
        }
        self.read_at = Some(Instant::now());
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        for message in self.node.read() {
            warn!(event = "counters", "{message}");
        }
        let counts = is_due(self.counted_at, COUNTED_EVERY);
        if counts {
            self.counted_at = Some(Instant::now());
        }
        for at in 0..self.node.config().links.len() {
            let name = &self.node.config().node;
            let port = PortName { node: name.clone(), port: self.node.config().links[at].port.clone() };
            let Some(end) = collector.fabric().end(&port) else { continue };
            let author = Author::Seen(name.to_string());
            let before = collector.records().get(&end.link).map(|ends| ends[0].clone()).unwrap_or_default();
            let observation = self.node.observation(at);
            let action = ActionRecord { observation_version: 0, action: self.node.action(at) };
            let renewed_ms = if observation.is_some() { Some(now_ms) } else { before.renewed_ms };
            let mut changes = Vec::new();
            changes.extend(
                observation.filter(|seen| before.observation != Some(*seen)).map(Change::Observation),
            );
            let is_first = before.action.is_none() && action.action == LinkAction::Nothing;
            if before.action.as_ref() != Some(&action) && !is_first {
                changes.push(Change::Action(action.clone()));
            }
            let observation = observation.or(before.observation);
            let records =
                EndRecords { observation, action: Some(action), renewed_ms, ..EndRecords::default() };
            let events = changes.into_iter().map(|change| Event {
                at_ms: now_ms,
                end,
                change,
                author: author.clone(),
            });
            collector.set(now_ms, end.link, [records, EndRecords::default()], events);
            if counts && let Some(record) = self.node.counters(at) {
                let entries = self.counters.entry(end.link).or_default();
                entries.push((now_ms, record));
                let surplus = entries.len().saturating_sub(ENTRIES_MAX);
                entries.drain(..surplus);
            }
        }
        true
    }
}
