//! Reads the records of a fabric from Redis and keeps them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use wiremend_monitor::planner::{LinkEnd, NamedFabric};
use wiremend_monitor::redis::{
    ActionRecord, Advice, AdvisedAction, CounterRecord, HoldRecord, Observation, PlannerStore, Record,
    RedisError,
};
use wiremend_monitor::{Daemon, Name, PortName};
use wiremend_units::LinkId;

use crate::fabric_view::FabricView;
use crate::history::{Event, History};
use crate::link_row::{EndRecords, LinkRow};

/// The records of the links with something to see.
pub struct Collector<'a> {
    fabric: &'a NamedFabric,
    /// Links with something to see, with the records of the lower and of the upper end.
    links: BTreeMap<LinkId, [EndRecords; 2]>,
    halt: Option<String>,
    history: History,
    /// Next link that is read although no message names it.
    position: u32,
    /// Time of the server at the last turn, in milliseconds since 1970.
    now_ms: u64,
    /// When the leases were read last.
    leases_ms: u64,
}

/// Number of links per batch of reads.
const BATCH: usize = 1024;
/// Every link is read again in this many turns, because messages may be lost.
const TURNS_PER_SWEEP: u32 = 240;
/// Time between two reads of leases and of the planners' audit stream.
const LEASES_INTERVAL_MS: u64 = 5_000;
/// In fabrics of up to this many nodes the audit streams of all nodes are followed, in others those of links with
/// something to see, and those of links whose page was opened.
const ALL_NODES_MAX: usize = 256;
/// Audit streams that one turn reads for the first time.
const NEW_STREAMS_MAX: usize = 32;

impl<'a> Collector<'a> {
    /// A collector that has read nothing.
    pub fn new(fabric: &'a NamedFabric) -> Self {
        Self {
            fabric,
            links: BTreeMap::new(),
            halt: None,
            history: History::default(),
            position: 0,
            now_ms: 0,
            leases_ms: 0,
        }
    }

    /// The fabric.
    pub fn fabric(&self) -> &'a NamedFabric {
        self.fabric
    }

    /// The events of links.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Time of the server at the last turn, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// The records of a link with something to see.
    pub(crate) fn records(&self) -> &BTreeMap<LinkId, [EndRecords; 2]> {
        &self.links
    }

    /// Reads everything, after a connection. Messages may have been lost before.
    pub fn read_all(&mut self, store: &mut PlannerStore) -> Result<(), RedisError> {
        self.now_ms = store.time_ms()?;
        let all: Vec<LinkId> = self.fabric.tiers().links().collect();
        for links in all.chunks(BATCH) {
            self.read(store, links)?;
        }
        self.read_leases(store)?;
        let nodes: Vec<Name> = self.streams();
        self.read_audit(store, &nodes, usize::MAX)
    }

    /// Waits up to `within` for changes and reads them, and a part of what did not change. Returns whether
    /// something may have changed.
    pub fn turn(&mut self, store: &mut PlannerStore, within: Duration) -> Result<bool, RedisError> {
        let ports = store.all_changed_ports(within)?;
        self.now_ms = store.time_ms()?;
        let changed: BTreeSet<LinkId> =
            ports.iter().filter_map(|port| Some(self.fabric.end(port)?.link)).collect();
        let links = self.due(&changed);
        self.read(store, &links)?;
        let is_due = self.now_ms >= self.leases_ms.saturating_add(LEASES_INTERVAL_MS);
        if is_due {
            self.read_leases(store)?;
        }
        let mut nodes: BTreeSet<Name> = changed.iter().flat_map(|link| self.nodes_of(*link)).collect();
        if is_due {
            nodes.extend(self.streams());
        }
        if !nodes.is_empty() {
            self.read_audit(store, &nodes.into_iter().collect::<Vec<_>>(), NEW_STREAMS_MAX)?;
        }
        Ok(is_due || !changed.is_empty())
    }

    /// The state now.
    pub fn view(&self) -> FabricView {
        let rows = self.links.iter().map(|(link, records)| self.row(*link, records, self.now_ms)).collect();
        self.view_of(rows, self.now_ms, self.halt.clone())
    }

    /// The state at an earlier time, by the audit streams.
    pub fn view_at(&self, at_ms: u64) -> FabricView {
        let rows = self.history.links().filter_map(|link| {
            let mut records = self.history.records_at(link, at_ms);
            // Nobody knows whether a daemon was silent then.
            for end in &mut records {
                end.renewed_ms = Some(at_ms);
            }
            let is_notable = records.iter().any(|end| end.is_notable(at_ms));
            is_notable.then(|| self.row(link, &records, at_ms))
        });
        self.view_of(rows.collect(), at_ms, None)
    }

    /// The row of a link, whether or not there is something to see.
    pub fn link(&self, link: LinkId) -> LinkRow {
        let records = self.links.get(&link).cloned().unwrap_or_default();
        self.row(link, &records, self.now_ms)
    }

    /// Returns whether there is something to see at a link; leases of nodes are read for these only.
    pub fn is_watched(&self, link: LinkId) -> bool {
        self.links.contains_key(&link)
    }

    fn row(&self, link: LinkId, records: &[EndRecords; 2], at_ms: u64) -> LinkRow {
        LinkRow::new(self.fabric, link, records, &self.history, at_ms)
    }

    fn view_of(&self, rows: Vec<LinkRow>, at_ms: u64, halt: Option<String>) -> FabricView {
        FabricView::new(at_ms, self.fabric.tiers().link_count() as usize, halt, rows)
    }

    /// The links that are read in this turn. One that was told about and is due by itself is read once.
    fn due(&mut self, changed: &BTreeSet<LinkId>) -> Vec<LinkId> {
        let links: BTreeSet<LinkId> = changed.iter().copied().chain(self.swept()).collect();
        links.into_iter().collect()
    }

    /// The links whose turn it is to be read without a message.
    fn swept(&mut self) -> Vec<LinkId> {
        let count = self.fabric.tiers().link_count();
        let from = self.position;
        let to = (from + count.div_ceil(TURNS_PER_SWEEP)).min(count);
        self.position = if to == count { 0 } else { to };
        (from..to).map(LinkId).collect()
    }

    /// Reads the records of these links, each of which is named once.
    fn read(&mut self, store: &mut PlannerStore, links: &[LinkId]) -> Result<(), RedisError> {
        let ports = self.ports(links);
        let observations = records::<Observation>(store, &ports)?;
        let holds = records::<HoldRecord>(store, &ports)?;
        // Both ends have the same advice.
        let lower: Vec<PortName> = ports.iter().step_by(2).cloned().collect();
        let advice = records::<Advice>(store, &lower)?;
        let mut notable = Vec::new();
        let ends = observations.chunks_exact(2).zip(holds.chunks_exact(2)).zip(advice);
        for (link, ((observations, holds), advice)) in links.iter().zip(ends) {
            let known = self.links.remove(link);
            let renewed_ms = known.as_ref().map(|ends| ends.each_ref().map(|end| end.renewed_ms));
            let ends = [0, 1].map(|at| EndRecords {
                observation: observations[at],
                hold: holds[at].clone(),
                advice: advice.clone().filter(|advice| advice.action != AdvisedAction::Nothing),
                action: None,
                renewed_ms: renewed_ms.and_then(|ends| ends[at]),
            });
            if known.is_some() || ends.iter().any(|end| end.is_notable(self.now_ms)) {
                self.links.insert(*link, ends);
                notable.push(*link);
            }
        }
        let actions = records::<ActionRecord>(store, &self.ports(&notable))?;
        for (link, actions) in notable.iter().zip(actions.chunks_exact(2)) {
            let ends = self.links.get_mut(link).expect("each link is named once");
            for (end, action) in ends.iter_mut().zip(actions) {
                end.action.clone_from(action);
            }
            if !ends.iter().any(|end| end.is_notable(self.now_ms)) {
                self.links.remove(link);
            }
        }
        Ok(())
    }

    fn read_leases(&mut self, store: &mut PlannerStore) -> Result<(), RedisError> {
        self.leases_ms = self.now_ms;
        self.halt = store.halt()?.filter(|halt| halt.halted || !halt.nodes.is_empty()).map(|halt| {
            let nodes: Vec<&str> = halt.nodes.iter().map(Name::as_str).collect();
            if nodes.is_empty() {
                halt.reason
            } else {
                format!("{} (not trusted: {})", halt.reason, nodes.join(", "))
            }
        });
        let nodes: Vec<Name> = self
            .links
            .keys()
            .flat_map(|link| self.nodes_of(*link))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let renewals = store.renewals_ms(&nodes, Daemon::LEASE)?;
        let renewals: BTreeMap<Name, Option<u64>> = nodes.into_iter().zip(renewals).collect();
        for (link, ends) in &mut self.links {
            for (upper, end) in [false, true].into_iter().zip(ends) {
                let node = &self.fabric.name(LinkEnd { link: *link, upper }).node;
                end.renewed_ms = renewals.get(node).copied().flatten();
            }
        }
        Ok(())
    }

    /// The nodes whose audit streams are of interest.
    fn streams(&self) -> Vec<Name> {
        let all = self.fabric.nodes();
        if all.len() <= ALL_NODES_MAX {
            return all.into_iter().collect();
        }
        let of_links: BTreeSet<Name> = self.links.keys().flat_map(|link| self.nodes_of(*link)).collect();
        of_links.into_iter().collect()
    }

    /// Reads the planners' audit stream and those of these nodes; of those that were never read at most `new_max`.
    fn read_audit(
        &mut self,
        store: &mut PlannerStore,
        nodes: &[Name],
        new_max: usize,
    ) -> Result<(), RedisError> {
        let mut new = 0;
        for stream in [None].into_iter().chain(nodes.iter().map(Some)) {
            if !self.history.has(stream) {
                new += 1;
                if new > new_max {
                    continue;
                }
            }
            let entries = store.audit(stream, self.history.newest(stream))?;
            self.history.add(self.fabric, stream, entries, self.now_ms);
        }
        Ok(())
    }

    /// Sets the records of a link that were read elsewhere, and what changed.
    pub(crate) fn set(
        &mut self,
        now_ms: u64,
        link: LinkId,
        ends: [EndRecords; 2],
        events: impl Iterator<Item = Event>,
    ) {
        self.now_ms = now_ms;
        self.links.insert(link, ends);
        events.for_each(|event| self.history.push(event));
    }

    /// Reads the audit streams of both ends of a link if they were never read, so that every link has a history.
    pub(crate) fn read_history(&mut self, store: &mut PlannerStore, link: LinkId) -> Result<(), RedisError> {
        let nodes: Vec<Name> =
            self.nodes_of(link).into_iter().filter(|node| !self.history.has(Some(node))).collect();
        self.read_audit(store, &nodes, usize::MAX)
    }

    /// Reads the counters of both ends of a link.
    pub(crate) fn read_counters(
        &self,
        store: &mut PlannerStore,
        link: LinkId,
    ) -> Result<[Vec<(u64, CounterRecord)>; 2], RedisError> {
        let of = |upper| self.fabric.name(LinkEnd { link, upper });
        Ok([store.counters(of(false))?, store.counters(of(true))?])
    }

    fn nodes_of(&self, link: LinkId) -> [Name; 2] {
        [false, true].map(|upper| self.fabric.name(LinkEnd { link, upper }).node.clone())
    }

    fn ports(&self, links: &[LinkId]) -> Vec<PortName> {
        let ends = links.iter().flat_map(|link| [false, true].map(|upper| LinkEnd { link: *link, upper }));
        ends.map(|end| self.fabric.name(end).clone()).collect()
    }
}

fn records<R: Record>(store: &mut PlannerStore, ports: &[PortName]) -> Result<Vec<Option<R>>, RedisError> {
    Ok(store.get::<R>(ports)?.records.into_iter().map(|stored| Some(stored?.record)).collect())
}

#[cfg(test)]
mod tests {
    use wiremend_monitor::planner::{FabricSource, PlannerConfig};

    use super::*;

    /// With two links the sweep reads one in each turn, so every second message is about the link that is due.
    #[test]
    fn a_link_that_is_told_about_and_due_is_read_once() {
        let link = |at: u32| format!("[[link]]\na = \"leaf-1:eth{at}\"\nb = \"spine-1:eth{at}\"\n");
        let text = "[redis]\naddress = \"/none\"\n[[switch]]\nname = \"leaf-1\"\nlevel = 0\n\
                    [[switch]]\nname = \"spine-1\"\nlevel = 1\n";
        let text = [text.to_owned(), link(0), link(1)].concat();
        let FabricSource::Inline(tiers) = PlannerConfig::parse(&text).unwrap().fabric else { unreachable!() };
        let fabric = NamedFabric::new(*tiers, &[]).unwrap();
        let mut collector = Collector::new(&fabric);
        let told = BTreeSet::from([LinkId(0)]);
        assert_eq!(collector.due(&told), [LinkId(0)], "told about and due");
        assert_eq!(collector.due(&told), [LinkId(0), LinkId(1)], "told about, and another one is due");
        assert_eq!(collector.due(&told), [LinkId(0)], "the sweep begins again");
    }
}
