//! The daemon of a node: reads its ports, publishes observations, and protects links whose other end
//! observes loss.
//!
//! One cycle [reads](Daemon::read_ports) the ports and, if Redis is reachable, [synchronizes](Daemon::sync)
//! with the stored records. Without Redis the daemon keeps reading ports, leaves all protection unchanged,
//! and publishes changes once Redis is back.

use std::time::Duration;

use wiremend_units::{Span, Time};

use crate::counter_delta::MaxFrameRate;
use crate::decision::{ActionConfig, DaemonMode, LinkConfig, LinkInput, Protector, decide};
use crate::detector::{LinkVerdict, Thresholds};
use crate::forecast::{ForecastChange, LossForecaster};
use crate::name::PortName;
use crate::port_monitor::{PortMonitor, PortReading};
use crate::redis::{
    ActionRecord, Advice, Lease, LinkAction, Observation, PutOutcome, Records, RedisError, RepairRecord,
    Store, Versioned,
};

/// The interface to the machine that the daemon runs on.
pub trait Machine {
    /// Reads the port of link number `at`; `None` if it is unreadable now.
    fn read(&mut self, at: usize) -> Option<PortReading>;

    /// Returns whether link number `at` is protected; `Err` with the reason if the relay does not answer.
    fn current_action(&mut self, at: usize) -> Result<LinkAction, String>;

    /// Applies an action to link number `at`. Must be idempotent.
    fn apply(&mut self, at: usize, action: &LinkAction) -> Result<(), String>;
}

/// An event for the log.
#[derive(Clone, PartialEq, Debug)]
pub enum DaemonEvent {
    /// The verdict on a received direction changed.
    VerdictChanged {
        /// Link number.
        link: usize,
        /// The new verdict.
        verdict: LinkVerdict,
    },
    /// The loss forecast of a port crossed the threshold.
    ForecastChanged {
        /// Link number.
        link: usize,
        /// The change.
        change: ForecastChange,
    },
    /// An action was applied to a link.
    Acted {
        /// Link number.
        link: usize,
        /// The action.
        action: LinkAction,
    },
    /// An action failed.
    ActionFailed {
        /// Link number.
        link: usize,
        /// Reason.
        reason: String,
    },
    /// Another daemon holds the lease of this node.
    LeaseRefused,
    /// Number of invalid records read.
    InvalidRecords(u64),
}

/// The daemon of one node.
pub struct Daemon {
    links: Vec<LinkState>,
    act: ActionConfig,
    holder: String,
    counts: ActionCounts,
    lease: Option<(Lease, Time)>,
    reread_at: Time,
    /// Time of the next verification of the own records. Notifications do not postpone it.
    verify_at: Time,
    resumed: bool,
    lease_refused: bool,
}

/// A link and its state.
struct LinkState {
    link: LinkConfig,
    port: PortMonitor,
    forecaster: LossForecaster,
    /// Number of successive readings without a carrier.
    readings_down: u32,
    /// The observation to publish.
    observation: Observation,
    /// The stored observation.
    published: Option<Observation>,
    /// The stored action record.
    published_action: Option<ActionRecord>,
    /// The last observation read from the other end.
    peer_observation: Option<Versioned<Observation>>,
    /// The last advice read.
    advice: Option<Advice>,
}

impl LinkState {
    fn input(&self) -> LinkInput<'_> {
        LinkInput {
            link: &self.link,
            peer_observation: self.peer_observation.as_ref(),
            advice: self.advice.as_ref(),
        }
    }
}

/// Counts of a daemon's actions since its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ActionCounts {
    /// Actions applied to links.
    pub actions: u64,
    /// Failed actions.
    pub failures: u64,
    /// Invalid records of other nodes.
    pub invalid_records: u64,
}

impl Daemon {
    /// A port counts as down after this many readings without a carrier.
    const DOWN_READINGS_MIN: u32 = 2;
    /// Length of the lease for writing a node's records.
    pub const LEASE: Duration = Duration::from_secs(15);
    const LEASE_RENEWED: Span = Span::from_ms(5_000);
    /// Records are read at least this often, with or without notifications.
    pub const REREAD: Span = Span::from_ms(30_000);

    /// Creates a daemon. `holder` distinguishes two daemons of one node and survives a restart.
    pub fn new(links: Vec<LinkConfig>, thresholds: Thresholds, act: ActionConfig, holder: String) -> Self {
        let state = |link| LinkState {
            link,
            port: PortMonitor::new(thresholds, MaxFrameRate::ANY_SPEED),
            forecaster: LossForecaster::new(thresholds.loss),
            readings_down: 0,
            observation: Observation::default(),
            published: None,
            published_action: None,
            peer_observation: None,
            advice: None,
        };
        Self {
            links: links.into_iter().map(state).collect(),
            counts: ActionCounts::default(),
            act,
            holder,
            lease: None,
            reread_at: Time::ZERO,
            verify_at: Time::ZERO,
            resumed: false,
            lease_refused: false,
        }
    }

    /// Returns the number of links.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// Returns the port monitor of link number `at`.
    pub fn port(&self, at: usize) -> &PortMonitor {
        &self.links[at].port
    }

    /// Returns the loss forecaster of link number `at`.
    pub fn forecaster(&self, at: usize) -> &LossForecaster {
        &self.links[at].forecaster
    }

    /// Returns the last published action of link number `at`.
    pub fn action(&self, at: usize) -> Option<&LinkAction> {
        self.links[at].published_action.as_ref().map(|action_record| &action_record.action)
    }

    /// Returns whether the port of link number `at` has no carrier.
    pub fn is_down(&self, at: usize) -> bool {
        self.links[at].observation.down
    }

    /// Returns whether this daemon holds the lease of its node.
    pub fn holds_lease(&self) -> bool {
        self.lease.is_some()
    }

    /// Returns the counts of actions.
    pub fn counts(&self) -> ActionCounts {
        self.counts
    }

    /// Reads all ports.
    pub fn read_ports(&mut self, machine: &mut impl Machine) -> Vec<DaemonEvent> {
        let mut events = Vec::new();
        for (link, state) in self.links.iter_mut().enumerate() {
            let Some(reading) = machine.read(link) else { continue };
            state.readings_down = if reading.up { 0 } else { state.readings_down.saturating_add(1) };
            state.observation.down = state.readings_down >= Self::DOWN_READINGS_MIN;
            let change = state.forecaster.on_reading(reading.fec);
            events.extend(change.map(|change| DaemonEvent::ForecastChanged { link, change }));
            let Some(verdict) = state.port.on_reading(reading) else { continue };
            state.observation.corrupting = match verdict {
                LinkVerdict::Raised(estimate) | LinkVerdict::Moved(estimate) => Some(estimate),
                LinkVerdict::Cleared { .. } => None,
            };
            events.push(DaemonEvent::VerdictChanged { link, verdict });
        }
        events
    }

    /// Forgets all assumptions about stored records, after a connection to Redis was lost or opened.
    pub fn on_connection_change(&mut self) {
        self.lease = None;
        for state in &mut self.links {
            (state.published, state.published_action) = (None, None);
        }
        (self.reread_at, self.verify_at) = (Time::ZERO, Time::ZERO);
    }

    /// Publishes changes, reads other nodes' records if `notified` or due, and applies the actions.
    pub fn sync(
        &mut self,
        now: Time,
        store: &mut Store,
        machine: &mut impl Machine,
        notified: bool,
    ) -> Result<Vec<DaemonEvent>, RedisError> {
        let mut events = Vec::new();
        let Some(lease) = self.renew_lease(now, store)? else {
            if !std::mem::replace(&mut self.lease_refused, true) {
                events.push(DaemonEvent::LeaseRefused);
            }
            return Ok(events);
        };
        self.lease_refused = false;
        self.resume(store)?;
        let is_due = notified || now >= self.reread_at;
        if is_due {
            self.read_repairs(store, &mut events)?;
        }
        if now >= self.verify_at {
            self.verify_published(store)?;
            self.verify_at = now.saturating_add(Self::REREAD);
        }
        if !self.publish(store, lease)? {
            self.lease = None;
            return Ok(events);
        }
        if is_due {
            let peers: Vec<PortName> = self.links.iter().map(|state| state.link.peer.clone()).collect();
            let Records { records, invalid } = store.get::<Observation>(&peers)?;
            for (state, seen) in self.links.iter_mut().zip(records) {
                state.peer_observation = seen;
            }
            self.reread_at = now.saturating_add(Self::REREAD);
            let invalid_advice = self.read_advice(store)?;
            if invalid + invalid_advice > 0 {
                self.counts.invalid_records += invalid + invalid_advice;
                events.push(DaemonEvent::InvalidRecords(invalid + invalid_advice));
            }
        }
        self.act(store, lease, machine, &mut events)?;
        Ok(events)
    }

    fn renew_lease(&mut self, now: Time, store: &mut Store) -> Result<Option<Lease>, RedisError> {
        if let Some((lease, renewed)) = self.lease
            && now < renewed.saturating_add(Self::LEASE_RENEWED)
        {
            return Ok(Some(lease));
        }
        let lease = store.lease(&self.holder, Self::LEASE)?;
        self.lease = lease.map(|lease| (lease, now));
        Ok(lease)
    }

    /// Restores the verdicts that this node published before a restart.
    fn resume(&mut self, store: &mut Store) -> Result<(), RedisError> {
        if self.resumed {
            return Ok(());
        }
        let stored = store.get::<Observation>(&self.own_ports(store))?;
        for (state, stored) in self.links.iter_mut().zip(stored.records) {
            let Some(Observation { corrupting, last_repair, .. }) = stored.map(|stored| stored.record) else {
                continue;
            };
            state.observation.last_repair = last_repair;
            if let Some(estimate) = corrupting.filter(|_| !state.port.is_corrupting()) {
                state.port.resume(estimate.loss);
                state.observation.corrupting = corrupting;
            }
        }
        self.resumed = true;
        Ok(())
    }

    /// Clears the verdict of every repaired link.
    fn read_repairs(&mut self, store: &mut Store, events: &mut Vec<DaemonEvent>) -> Result<(), RedisError> {
        let repairs = store.get::<RepairRecord>(&self.own_ports(store))?;
        for (link, (state, repair)) in self.links.iter_mut().zip(repairs.records).enumerate() {
            let Some(number) = repair.map(|repair| repair.version) else { continue };
            if number <= state.observation.last_repair {
                continue;
            }
            state.observation = Observation { corrupting: None, last_repair: number, ..state.observation };
            events
                .extend(state.port.on_repair().map(|verdict| DaemonEvent::VerdictChanged { link, verdict }));
        }
        Ok(())
    }

    /// Reads the own records again: another client may have changed them, or the server may have lost them.
    fn verify_published(&mut self, store: &mut Store) -> Result<(), RedisError> {
        let own = self.own_ports(store);
        let stored = store.get::<Observation>(&own)?.records;
        let stored_action = store.get::<ActionRecord>(&own)?.records;
        for (state, (stored, stored_action)) in
            self.links.iter_mut().zip(stored.into_iter().zip(stored_action))
        {
            state.published = stored.map(|stored| stored.record);
            state.published_action = stored_action.map(|stored| stored.record);
        }
        Ok(())
    }

    /// Reads the advice for this node's ports and returns the number of invalid records.
    fn read_advice(&mut self, store: &mut Store) -> Result<u64, RedisError> {
        if self.act.mode != DaemonMode::Advised {
            return Ok(0);
        }
        let Records { records, invalid } = store.get::<Advice>(&self.own_ports(store))?;
        for (state, stored) in self.links.iter_mut().zip(records) {
            state.advice = stored.map(|stored| stored.record);
        }
        Ok(invalid)
    }

    fn own_ports(&self, store: &Store) -> Vec<PortName> {
        let own = |state: &LinkState| PortName { node: store.node().clone(), port: state.link.port.clone() };
        self.links.iter().map(own).collect()
    }

    /// Publishes changed observations. Returns `false` if another daemon holds a newer lease of this node.
    fn publish(&mut self, store: &mut Store, lease: Lease) -> Result<bool, RedisError> {
        for LinkState { link, observation, published, .. } in &mut self.links {
            if *published == Some(*observation) {
                continue;
            }
            match store.put(lease, &link.port, observation, &link.peer.node)? {
                PutOutcome::Stored(_) => *published = Some(*observation),
                PutOutcome::StaleLease => return Ok(false),
            }
        }
        Ok(true)
    }

    fn act(
        &mut self,
        store: &mut Store,
        lease: Lease,
        machine: &mut impl Machine,
        events: &mut Vec<DaemonEvent>,
    ) -> Result<(), RedisError> {
        let input: Vec<LinkInput<'_>> = self.links.iter().map(LinkState::input).collect();
        for (link, action_record) in decide(&input, &self.act).into_iter().enumerate() {
            let Some(action_record) = action_record else { continue };
            let action_record = match self.apply_action(link, action_record.clone(), machine) {
                Ok(Some(action)) => {
                    self.counts.actions += 1;
                    events.push(DaemonEvent::Acted { link, action });
                    action_record
                }
                Ok(None) => action_record,
                Err(reason) => {
                    let reason: String = reason.chars().take(120).collect();
                    let action_record = ActionRecord {
                        action: LinkAction::Decline { reason: reason.clone() },
                        ..action_record
                    };
                    if self.links[link].published_action.as_ref() != Some(&action_record) {
                        self.counts.failures += 1;
                        events.push(DaemonEvent::ActionFailed { link, reason });
                    }
                    action_record
                }
            };
            if self.links[link].published_action.as_ref() == Some(&action_record) {
                continue;
            }
            let LinkConfig { port, peer, .. } = &self.links[link].link;
            if store.put(lease, port, &action_record, &peer.node)? == PutOutcome::StaleLease {
                self.lease = None;
                return Ok(());
            }
            self.links[link].published_action = Some(action_record);
        }
        Ok(())
    }

    /// Applies an action unless it is already in effect. Returns the action if it was applied.
    fn apply_action(
        &self,
        link: usize,
        action_record: ActionRecord,
        machine: &mut impl Machine,
    ) -> Result<Option<LinkAction>, String> {
        if self.links[link].link.protect == Protector::None || self.act.mode == DaemonMode::Observe {
            return Ok(None);
        }
        let wanted = match action_record.action {
            LinkAction::Decline { .. } => LinkAction::Nothing,
            action => action,
        };
        if machine.current_action(link)? == wanted {
            return Ok(None);
        }
        machine.apply(link, &wanted)?;
        Ok(Some(wanted))
    }
}
