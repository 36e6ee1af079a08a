//! Connects the advisor to Redis: leader's lease, observations of all ports, advice.

use std::collections::BTreeSet;
use std::time::Duration;

use wiremend_units::{LinkId, Span, Time};

use crate::daemon::Daemon;
use crate::name::{Name, PortName};
use crate::planner::advisor::{Advisor, FabricSummary, PlannerLimits};
use crate::planner::failure_brake::BrakeChange;
use crate::planner::holds::LinkHold;
use crate::planner::named_fabric::{LinkEnd, NamedFabric};
use crate::redis::{
    Advice, AdvisedAction, HaltRecord, HoldRecord, Lease, Observation, PlannerStore, PutOutcome, Records,
    RedisError,
};

/// An event for the log.
#[derive(Clone, PartialEq, Debug)]
pub enum PlannerEvent {
    /// This planner became the leader.
    Leading,
    /// Another planner is the leader.
    Following,
    /// The advice on a link changed.
    Advised {
        /// The link.
        link: LinkId,
        /// Advised action.
        action: AdvisedAction,
        /// Reason.
        reason: String,
    },
    /// Too many nodes reported failures at once: the planner is halted.
    Halted(String),
    /// A node reported too many failures: its new ones are not acted on.
    Distrusted(Name),
    /// The daemon of a node fell silent, or reports again.
    NodeSilent {
        /// The node.
        node: Name,
        /// Whether it is silent.
        silent: bool,
    },
    /// An operator released the halt.
    Released,
}

/// A planner and its role.
pub struct PlannerLeader<'a> {
    fabric: &'a NamedFabric,
    limits: PlannerLimits,
    holder: String,
    advisor: Advisor<'a>,
    lease: Option<(Lease, Time)>,
    role: Role,
    /// Advice that is decided but not stored yet.
    unpublished: Vec<(LinkEnd, Advice)>,
    halt_unpublished: bool,
    /// Set after a change of leader: all advice is published again, because the stored advice may be
    /// another leader's.
    publish_all: bool,
    /// Position of the sweep over all ports.
    sweep_position: usize,
    swept_at: Time,
    invalid_records: u64,
    nodes: Vec<Name>,
    /// Nodes whose daemon is silent. Their observations have expired.
    silent: BTreeSet<Name>,
    /// Number of nodes that never had a daemon.
    unmonitored: usize,
    silence_at: Time,
    distrusted: Vec<Name>,
}

/// A change of the stored advice on a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdviceChange {
    /// The link.
    pub link: LinkId,
    /// The stored advice for one of its ends.
    pub before: Advice,
    /// The advice that a planner would store.
    pub after: Advice,
}

/// Role among the planners.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Not known yet.
    Unknown,
    /// Another planner is the leader.
    Following,
    /// This planner is the leader and has read all records.
    Leading,
}

impl<'a> PlannerLeader<'a> {
    /// Length of the leader's lease.
    pub const LEASE: Duration = Duration::from_secs(15);
    const LEASE_RENEWED: Span = Span::from_ms(5_000);
    /// All ports are read at least this often, independent of the audit stream.
    pub const REREAD: Span = Span::from_ms(30_000);
    /// Minimum number of ports per step of the sweep.
    const SWEEP_PORTS: usize = 2048;

    /// Creates a planner of a fabric. `holder` distinguishes planners and stays the same after a restart.
    pub fn new(fabric: &'a NamedFabric, limits: PlannerLimits, holder: String) -> Self {
        Self {
            fabric,
            limits,
            holder,
            advisor: Advisor::new(fabric, limits),
            lease: None,
            role: Role::Unknown,
            unpublished: Vec::new(),
            halt_unpublished: false,
            publish_all: false,
            sweep_position: 0,
            swept_at: Time::ZERO,
            invalid_records: 0,
            nodes: fabric.nodes().into_iter().collect(),
            silent: BTreeSet::new(),
            unmonitored: 0,
            silence_at: Time::ZERO,
            distrusted: Vec::new(),
        }
    }

    /// Returns how the stored advice would change if a planner with these limits became the leader. Writes
    /// nothing.
    pub fn dry_run(
        fabric: &'a NamedFabric,
        limits: PlannerLimits,
        store: &mut PlannerStore,
    ) -> Result<Vec<AdviceChange>, RedisError> {
        let mut leader = Self::new(fabric, limits, String::new());
        leader.start_leading(Time::ZERO, store, &mut Vec::new())?;
        leader.advisor.decide();
        let stored = store.get::<Advice>(fabric.names())?.records;
        let mut changes: Vec<AdviceChange> = Vec::new();
        for (end, stored) in fabric.ends().zip(stored) {
            let after = leader.advisor.advice(end);
            let before = stored.map_or_else(|| Advice::nothing(after.binding), |stored| stored.record);
            let is_same = before.action == after.action && before.protect == after.protect;
            let is_known = changes.last().is_some_and(|change| change.link == end.link);
            if !(is_known || is_same && before.binding == after.binding) {
                changes.push(AdviceChange { link: end.link, before, after });
            }
        }
        Ok(changes)
    }

    /// Returns the nodes whose daemon is silent.
    pub fn silent(&self) -> &BTreeSet<Name> {
        &self.silent
    }

    /// Returns the number of nodes that never had a daemon.
    pub fn unmonitored(&self) -> usize {
        self.unmonitored
    }

    /// Returns whether this planner is the leader.
    pub fn is_leading(&self) -> bool {
        self.lease.is_some()
    }

    /// Returns whether the planner is halted.
    pub fn is_halted(&self) -> bool {
        self.advisor.is_halted()
    }

    /// Returns the advisor.
    pub fn advisor(&self) -> &Advisor<'a> {
        &self.advisor
    }

    /// Returns the counts of links by state.
    pub fn summary(&mut self, now: Time) -> FabricSummary {
        self.advisor.summary(now)
    }

    /// Returns the number of invalid records read.
    pub fn invalid_records(&self) -> u64 {
        self.invalid_records
    }

    /// Gives up the role after a lost connection. The next leader reads all records.
    pub fn on_connection_change(&mut self) {
        self.lease = None;
        self.role = Role::Unknown;
    }

    /// Waits up to `within` for changed ports, decides, and publishes changed advice.
    pub fn run_once(
        &mut self,
        now: Time,
        store: &mut PlannerStore,
        within: Duration,
    ) -> Result<Vec<PlannerEvent>, RedisError> {
        let mut events = Vec::new();
        let Some(lease) = self.renew_lease(now, store, &mut events)? else {
            // A follower only advances its position in the stream.
            store.changed_ports(within)?;
            return Ok(events);
        };
        if self.role != Role::Leading {
            self.start_leading(now, store, &mut events)?;
        }
        if now >= self.silence_at {
            self.read_silence(now, store, &mut events)?;
        }
        self.advisor.end_holds(now);
        self.check_release(store, &mut events)?;
        let changed = store.changed_ports(if self.unpublished.is_empty() {
            within
        } else {
            Duration::from_millis(1)
        })?;
        let ports: Vec<PortName> =
            changed.into_iter().filter(|port| self.fabric.end(port).is_some()).collect();
        self.read(now, store, &ports, true)?;
        self.sweep(now, store)?;
        self.decide(&mut events);
        self.publish(store, lease)?;
        Ok(events)
    }

    fn renew_lease(
        &mut self,
        now: Time,
        store: &mut PlannerStore,
        events: &mut Vec<PlannerEvent>,
    ) -> Result<Option<Lease>, RedisError> {
        if let Some((lease, renewed)) = self.lease
            && now < renewed.saturating_add(Self::LEASE_RENEWED)
        {
            return Ok(Some(lease));
        }
        let held = store.lease(&self.holder, Self::LEASE)?;
        match (held, self.lease.map(|(lease, _)| lease)) {
            (Some(new), Some(old)) if new == old => {}
            (Some(_), _) => {
                self.role = Role::Unknown;
                events.push(PlannerEvent::Leading);
            }
            (None, _) => {
                if std::mem::replace(&mut self.role, Role::Following) != Role::Following {
                    events.push(PlannerEvent::Following);
                }
            }
        }
        self.lease = held.map(|lease| (lease, now));
        Ok(held)
    }

    /// Reads all records. Advice of an earlier leader stays in effect.
    fn start_leading(
        &mut self,
        now: Time,
        store: &mut PlannerStore,
        events: &mut Vec<PlannerEvent>,
    ) -> Result<(), RedisError> {
        self.advisor = Advisor::new(self.fabric, self.limits);
        self.unpublished.clear();
        self.resume(store)?;
        if let Some(halt) = store.halt()? {
            self.advisor.set_halt(halt.halted, &halt.nodes);
        }
        self.distrusted = self.advisor.distrusted();
        self.read_silence(now, store, events)?;
        let all = self.fabric.names().to_vec();
        self.read(now, store, &all, false)?;
        (self.sweep_position, self.swept_at) = (0, now);
        self.role = Role::Leading;
        Ok(())
    }

    fn resume(&mut self, store: &mut PlannerStore) -> Result<(), RedisError> {
        let name = |link, upper| self.fabric.name(LinkEnd { link, upper }).clone();
        let links: Vec<LinkId> = self.fabric.tiers().links().collect();
        let lower: Vec<PortName> = links.iter().map(|link| name(*link, false)).collect();
        let stored: Vec<(LinkId, Advice)> = links
            .into_iter()
            .zip(store.get::<Advice>(&lower)?.records)
            .filter_map(|(link, record)| Some((link, record?.record)))
            .collect();
        let upper: Vec<PortName> = stored.iter().map(|(link, _)| name(*link, true)).collect();
        let upper = store.get::<Advice>(&upper)?.records;
        for ((link, lower), upper) in stored.into_iter().zip(upper) {
            let upper =
                upper.map_or_else(|| Advice { protect: false, ..lower.clone() }, |stored| stored.record);
            self.advisor.resume(link, &lower, &upper);
        }
        self.publish_all = true;
        Ok(())
    }

    fn check_release(
        &mut self,
        store: &mut PlannerStore,
        events: &mut Vec<PlannerEvent>,
    ) -> Result<(), RedisError> {
        let is_braking = self.advisor.is_halted() || !self.distrusted.is_empty();
        if is_braking
            && !self.halt_unpublished
            && store.halt()?.is_some_and(|halt| !halt.halted && halt.nodes.is_empty())
        {
            self.advisor.set_halt(false, &[]);
            self.distrusted.clear();
            events.push(PlannerEvent::Released);
        }
        Ok(())
    }

    /// Reads which nodes are silent.
    fn read_silence(
        &mut self,
        now: Time,
        store: &mut PlannerStore,
        events: &mut Vec<PlannerEvent>,
    ) -> Result<(), RedisError> {
        self.silence_at = now.saturating_add(Self::REREAD);
        self.unmonitored = 0;
        let live = store.are_live(&self.nodes, Daemon::SILENCE)?;
        for (node, live) in self.nodes.iter().zip(live) {
            self.unmonitored += usize::from(live.is_none());
            let silent = live == Some(false);
            let has_changed =
                if silent { self.silent.insert(node.clone()) } else { self.silent.remove(node) };
            if has_changed {
                events.push(PlannerEvent::NodeSilent { node: node.clone(), silent });
            }
        }
        Ok(())
    }

    /// Reads the holds and observations of these ports.
    fn read(
        &mut self,
        now: Time,
        store: &mut PlannerStore,
        ports: &[PortName],
        is_new: bool,
    ) -> Result<(), RedisError> {
        if ports.is_empty() {
            return Ok(());
        }
        let holds = store.get::<HoldRecord>(ports)?;
        let server_ms = store.time_ms()?;
        for (port, record) in ports.iter().zip(holds.records) {
            let Some(end) = self.fabric.end(port) else { continue };
            let hold = record.and_then(|stored| {
                let left = Span::from_ms(stored.record.left_ms(server_ms)?);
                Some(LinkHold { until: now.saturating_add(left), maintenance: stored.record.maintenance })
            });
            self.advisor.set_hold(end, hold);
        }
        let Records { records, invalid } = store.get::<Observation>(ports)?;
        self.invalid_records += invalid + holds.invalid;
        for (port, record) in ports.iter().zip(records) {
            let Some(end) = self.fabric.end(port) else { continue };
            // The observation of a silent node has expired: it is no reason for new advice.
            if self.silent.contains(&port.node) && !self.advisor.has_advice(end.link) {
                continue;
            }
            let observation = record.map_or_else(Observation::default, |stored| stored.record);
            self.advisor.on_carrier(end, observation.down);
            let loss = observation.corrupting.map(|estimate| estimate.loss);
            self.halt_unpublished |= self.advisor.on_observation(now, end, loss, is_new) != BrakeChange::None;
        }
        Ok(())
    }

    /// Reads all ports again, one part per call.
    fn sweep(&mut self, now: Time, store: &mut PlannerStore) -> Result<(), RedisError> {
        let names = self.fabric.names();
        let passed = now.since(self.swept_at.min(now)).as_ns() as f64;
        let due = (names.len() as f64 * passed / Self::REREAD.as_ns() as f64) as usize;
        if due < Self::SWEEP_PORTS.min(names.len()) {
            return Ok(());
        }
        let from = self.sweep_position;
        let to = (from + Self::SWEEP_PORTS.max(due.min(4 * Self::SWEEP_PORTS))).min(names.len());
        let ports = names[from..to].to_vec();
        self.read(now, store, &ports, true)?;
        self.sweep_position = if to == names.len() { 0 } else { to };
        self.swept_at = now;
        Ok(())
    }

    fn decide(&mut self, events: &mut Vec<PlannerEvent>) {
        if self.halt_unpublished {
            if self.advisor.is_halted() {
                events.push(PlannerEvent::Halted(self.advisor.halt_reason()));
            }
            let distrusted = self.advisor.distrusted();
            let is_new = |node: &&Name| !self.distrusted.contains(node);
            events.extend(distrusted.iter().filter(is_new).cloned().map(PlannerEvent::Distrusted));
            self.distrusted = distrusted;
        }
        for (end, advice) in self.advisor.decide() {
            if !end.upper {
                let Advice { action, reason, .. } = advice.clone();
                events.push(PlannerEvent::Advised { link: end.link, action, reason });
            }
            self.unpublished.push((end, advice));
        }
        if std::mem::take(&mut self.publish_all) {
            let links: Vec<LinkId> = self.advisor.advised().map(|(link, ..)| link).collect();
            let ends = links.into_iter().flat_map(|link| [false, true].map(|upper| LinkEnd { link, upper }));
            self.unpublished.extend(ends.map(|end| (end, self.advisor.advice(end))));
        }
    }

    fn publish(&mut self, store: &mut PlannerStore, lease: Lease) -> Result<(), RedisError> {
        if self.halt_unpublished {
            let halted = self.advisor.is_halted();
            let reason = if halted { self.advisor.halt_reason() } else { String::new() };
            let halt = HaltRecord { halted, reason, nodes: self.distrusted.clone() };
            if store.put_halt(lease, &halt)? == PutOutcome::StaleLease {
                self.on_connection_change();
                return Ok(());
            }
            self.halt_unpublished = false;
        }
        if self.unpublished.is_empty() {
            return Ok(());
        }
        let named: Vec<(PortName, Advice)> = self
            .unpublished
            .iter()
            .map(|(end, advice)| (self.fabric.name(*end).clone(), advice.clone()))
            .collect();
        if store.put_advice(lease, &named)? == PutOutcome::StaleLease {
            self.on_connection_change();
            return Ok(());
        }
        self.unpublished.clear();
        Ok(())
    }
}
