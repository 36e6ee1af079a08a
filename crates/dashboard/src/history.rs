//! What happened to links: the audit streams of nodes and planners, by link.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wiremend_monitor::Name;
use wiremend_monitor::planner::{LinkEnd, NamedFabric};
use wiremend_monitor::redis::{
    ActionRecord, Advice, AdvisedAction, AuditEntry, HoldRecord, LinkAction, Observation, Record,
};
use wiremend_units::LinkId;

use crate::link_row::EndRecords;

/// Events of links, from audit streams.
#[derive(Clone, Debug, Default)]
pub struct History {
    links: BTreeMap<LinkId, Vec<Event>>,
    /// Id of the newest entry that was read, by stream; `None` is the planners'.
    newest: BTreeMap<Option<Name>, String>,
}

/// A record that was written.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// Time of the server in milliseconds since 1970.
    pub at_ms: u64,
    /// End of the link.
    pub end: LinkEnd,
    /// What was written.
    pub change: Change,
    /// Who wrote it.
    pub author: Author,
}

/// Who wrote a record.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The daemon of a node.
    Daemon(String),
    /// A planner.
    Planner,
    /// An operator.
    Operator(String),
    /// Who did it is not known; it was seen on this machine.
    Seen(String),
}

/// A written record.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// What the end observes.
    Observation(Observation),
    /// What the end does.
    Action(ActionRecord),
    /// What the planner advises.
    Advice(Advice),
    /// A hold.
    Hold(HoldRecord),
    /// A repair.
    Repair,
}

/// An event as JSON.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct EventRow {
    at_ms: u64,
    port: String,
    kind: &'static str,
    text: String,
    by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<f64>,
}

/// Maximum number of events that are kept of a link.
const EVENTS_MAX: usize = 400;
/// An entry further in the future was not written by a daemon.
const AHEAD_MAX_MS: u64 = 60_000;

impl History {
    /// Returns the id after which a stream is to be read.
    pub fn newest(&self, stream: Option<&Name>) -> Option<&str> {
        self.newest.get(&stream.cloned()).map(String::as_str)
    }

    /// Returns whether a stream was read.
    pub fn has(&self, stream: Option<&Name>) -> bool {
        self.newest.contains_key(&stream.cloned())
    }

    /// Adds entries of a stream, the newest first.
    pub fn add(
        &mut self,
        fabric: &NamedFabric,
        stream: Option<&Name>,
        entries: Vec<AuditEntry>,
        now_ms: u64,
    ) {
        let id = entries
            .first()
            .map_or_else(|| self.newest(stream).unwrap_or("0-0").to_owned(), |newest| newest.id.clone());
        self.newest.insert(stream.cloned(), id);
        let mut changed: Vec<LinkId> = Vec::new();
        for entry in entries.into_iter().rev() {
            if entry.at_ms > now_ms.saturating_add(AHEAD_MAX_MS) {
                continue;
            }
            let (Some(end), Some(change)) = (fabric.end(&entry.port), Change::parse(&entry)) else {
                continue;
            };
            let author = match (entry.by, stream) {
                (Some(operator), _) => Author::Operator(operator),
                (None, Some(node)) => Author::Daemon(node.to_string()),
                (None, None) => Author::Planner,
            };
            self.links.entry(end.link).or_default().push(Event { at_ms: entry.at_ms, end, change, author });
            changed.push(end.link);
        }
        for link in changed {
            let events = self.links.entry(link).or_default();
            events.sort_by_key(|event| event.at_ms);
            let surplus = events.len().saturating_sub(EVENTS_MAX);
            events.drain(..surplus);
        }
    }

    /// Adds an event.
    pub(crate) fn push(&mut self, event: Event) {
        let events = self.links.entry(event.end.link).or_default();
        events.push(event);
        let surplus = events.len().saturating_sub(EVENTS_MAX);
        events.drain(..surplus);
    }

    /// Returns the events of a link, the oldest first.
    pub fn of_link(&self, link: LinkId) -> &[Event] {
        self.links.get(&link).map_or(&[], Vec::as_slice)
    }

    /// Returns the links with events.
    pub fn links(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.links.keys().copied()
    }

    /// Returns the newest events of all links, the newest first.
    pub fn newest_events(&self, count: usize) -> Vec<&Event> {
        let mut all: Vec<&Event> = self.links.values().flatten().collect();
        all.sort_by_key(|event| std::cmp::Reverse((event.at_ms, event.end)));
        all.truncate(count);
        all
    }

    /// Returns the records of both ends of a link at a time.
    pub fn records_at(&self, link: LinkId, at_ms: u64) -> [EndRecords; 2] {
        let mut ends = [EndRecords::default(), EndRecords::default()];
        for event in self.of_link(link).iter().take_while(|event| event.at_ms <= at_ms) {
            let end = &mut ends[usize::from(event.end.upper)];
            match &event.change {
                Change::Observation(record) => end.observation = Some(*record),
                Change::Action(record) => end.action = Some(record.clone()),
                Change::Advice(record) => end.advice = Some(record.clone()),
                Change::Hold(record) => end.hold = Some(record.clone()),
                Change::Repair => {}
            }
        }
        ends
    }

    /// Returns since when an end observes corruption, and whether a healthy observation before it is known.
    pub fn corrupts_since(&self, end: LinkEnd, at_ms: u64) -> Option<(u64, bool)> {
        let mut since = None;
        let events = self.of_link(end.link).iter().rev();
        for event in events.filter(|event| event.at_ms <= at_ms && event.end == end) {
            let Change::Observation(observation) = &event.change else { continue };
            if observation.corrupting.is_none() {
                return since.map(|since| (since, true));
            }
            since = Some(event.at_ms);
        }
        since.map(|since| (since, false))
    }

    /// Returns the newest event of a link until a time that changes what is done about it.
    pub fn last_act(&self, link: LinkId, at_ms: u64) -> Option<&Event> {
        let is_act = |event: &&Event| event.at_ms <= at_ms && !matches!(event.change, Change::Observation(_));
        self.of_link(link).iter().rev().find(is_act)
    }
}

impl Author {
    /// Returns the name for readers.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Daemon(node) => format!("daemon of {node}"),
            Self::Planner => "planner".to_owned(),
            Self::Operator(name) => name.clone(),
            Self::Seen(node) => node.clone(),
        }
    }
}

impl Event {
    /// Returns the event for a page.
    pub(crate) fn row(&self, fabric: &NamedFabric) -> EventRow {
        let loss = match &self.change {
            Change::Observation(observation) => Some(observation.corrupting.map_or(0.0, |seen| seen.loss)),
            _ => None,
        };
        EventRow {
            at_ms: self.at_ms,
            port: fabric.name(self.end).to_string(),
            kind: self.change.kind(),
            text: self.change.text(),
            by: self.author.text(),
            loss,
        }
    }
}

impl Change {
    fn parse(entry: &AuditEntry) -> Option<Self> {
        match entry.kind.as_str() {
            Observation::KIND => parsed(&entry.body).map(Self::Observation),
            ActionRecord::KIND => parsed(&entry.body).map(Self::Action),
            Advice::KIND => parsed(&entry.body).map(Self::Advice),
            HoldRecord::KIND => parsed(&entry.body).map(Self::Hold),
            "repair" => Some(Self::Repair),
            _ => None,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Observation(_) => "observation",
            Self::Action(_) => "action",
            Self::Advice(_) => "advice",
            Self::Hold(_) => "hold",
            Self::Repair => "repair",
        }
    }

    /// Returns a sentence.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Observation(Observation { down: true, .. }) => "no carrier".to_owned(),
            Self::Observation(Observation { corrupting: Some(seen), .. }) => {
                format!(
                    "corrupts: {} of {} frames, loss {:.1e} ({:.1e} to {:.1e})",
                    seen.errors, seen.frames, seen.loss, seen.low, seen.high
                )
            }
            Self::Observation(Observation { forecast: Some(loss), .. }) => {
                format!("FEC predicts a loss of {loss:.1e}")
            }
            Self::Observation(_) => "clean".to_owned(),
            Self::Action(ActionRecord { action, .. }) => match action {
                LinkAction::Nothing => "not protected".to_owned(),
                LinkAction::Protect { copies: 1 } => "protected, 1 copy".to_owned(),
                LinkAction::Protect { copies } => format!("protected, {copies} copies"),
                LinkAction::Decline { reason } => format!("not protected: {reason}"),
            },
            Self::Advice(Advice { action: AdvisedAction::Nothing, .. }) => "no advice any more".to_owned(),
            Self::Advice(Advice { action, reason, .. }) => format!("advice: {}: {reason}", action.name()),
            Self::Hold(HoldRecord { until_ms: 0, .. }) => "hold ended".to_owned(),
            Self::Hold(HoldRecord { why, maintenance: true, .. }) => format!("maintenance: {why}"),
            Self::Hold(HoldRecord { why, .. }) => format!("held: {why}"),
            Self::Repair => "repair reported".to_owned(),
        }
    }
}

fn parsed<R: Record + DeserializeOwned>(body: &str) -> Option<R> {
    serde_json::from_str::<R>(body).ok().filter(R::is_valid)
}
