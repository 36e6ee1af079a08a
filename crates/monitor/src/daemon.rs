//! The daemon of a node: reads its ports, publishes observations, and protects links whose other end
//! observes loss.
//!
//! One cycle [reads](Daemon::read_ports) the ports and, if Redis is reachable, [synchronizes](Daemon::sync)
//! with the stored records. Without Redis the daemon keeps reading ports, leaves all protection unchanged,
//! and publishes changes once Redis is back.

mod attention;
mod reconfigure;

use std::time::Duration;

use wiremend_units::{Span, Time};

use crate::counter_delta::MaxFrameRate;
use crate::daemon_event::DaemonEvent;
use crate::decision::{ActionConfig, DaemonMode, LinkConfig, LinkInput, Protector, decide};
use crate::detector::{LinkVerdict, Thresholds};
use crate::forecast::LossForecaster;
use crate::name::{Name, PortName};
use crate::port_monitor::{PortMonitor, PortReading};
use crate::protection_damper::ProtectionDamper;
use crate::redis::{
    ActionRecord, Advice, HoldRecord, Lease, LinkAction, Observation, PutOutcome, Records, RedisError,
    RepairRecord, Store, Versioned,
};

/// The interface to the machine that the daemon runs on.
pub trait Machine {
    /// Reads the port of link number `at`; `None` if it is unreadable now.
    fn read(&mut self, at: usize) -> Option<PortReading>;

    /// Returns the state of the relay of link number `at`; `Err` with the reason if it does not answer.
    fn relay_state(&mut self, at: usize) -> Result<RelayState, String>;

    /// Applies an action to link number `at`. Must be idempotent.
    fn apply(&mut self, at: usize, action: &LinkAction) -> Result<(), String>;
}

/// The state of a relay.
#[derive(Clone, PartialEq, Debug)]
pub struct RelayState {
    /// The protection in effect: `Nothing` or `Protect`.
    pub action: LinkAction,
    /// Id of the process. Another process is a restarted relay, without the settings of the earlier one.
    pub process: u32,
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
    /// Number of successive readings that failed.
    readings_missed: u32,
    /// Whether the observation is known: the port was read, or an earlier daemon published it.
    known: bool,
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
    /// Whether the daemon at the other end is silent, so that its observation has expired.
    peer_silent: bool,
    /// An operator's hold, and its end.
    hold: Option<(HoldRecord, Time)>,
    /// Whether the hold must still be stored.
    hold_unsaved: bool,
    /// The last known state of the relay.
    relay: Option<RelayState>,
    damper: ProtectionDamper,
}

impl LinkState {
    fn input(&self) -> LinkInput<'_> {
        LinkInput {
            link: &self.link,
            peer_observation: self.peer_observation.as_ref().filter(|_| !self.peer_silent),
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
    /// A port counts as unread after this many failed readings.
    const UNREAD_READINGS_MIN: u32 = 3;
    /// Length of the lease for writing a node's records.
    pub const LEASE: Duration = Duration::from_secs(15);
    const LEASE_RENEWED: Span = Span::from_ms(5_000);
    /// Records are read at least this often, with or without notifications.
    pub const REREAD: Span = Span::from_ms(30_000);
    /// A daemon is silent if its lease ended longer ago than this.
    pub const SILENCE: Duration = Duration::from_mins(1);

    /// Creates a daemon. `holder` distinguishes two daemons of one node and survives a restart.
    pub fn new(links: Vec<LinkConfig>, thresholds: Thresholds, act: ActionConfig, holder: String) -> Self {
        let state = |link| LinkState {
            link,
            port: PortMonitor::new(thresholds, MaxFrameRate::ANY_SPEED),
            forecaster: LossForecaster::new(thresholds.loss),
            readings_down: 0,
            readings_missed: 0,
            known: false,
            observation: Observation::default(),
            published: None,
            published_action: None,
            peer_observation: None,
            advice: None,
            peer_silent: false,
            hold: None,
            hold_unsaved: false,
            relay: None,
            damper: ProtectionDamper::default(),
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

    /// Returns whether the counters of link number `at` cannot be read.
    pub fn is_unread(&self, at: usize) -> bool {
        self.links[at].readings_missed >= Self::UNREAD_READINGS_MIN
    }

    /// Returns whether an operator holds link number `at`.
    pub fn is_held(&self, at: usize) -> bool {
        self.links[at].hold.is_some()
    }

    /// Returns whether the daemon at the other end of link number `at` is silent.
    pub fn is_peer_silent(&self, at: usize) -> bool {
        self.links[at].peer_silent
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
            let was_unread = state.readings_missed >= Self::UNREAD_READINGS_MIN;
            let reading = machine.read(link);
            state.readings_missed =
                if reading.is_some() { 0 } else { state.readings_missed.saturating_add(1) };
            let unread = state.readings_missed >= Self::UNREAD_READINGS_MIN;
            if unread != was_unread {
                events.push(DaemonEvent::PortUnread { link, unread });
            }
            let Some(reading) = reading else { continue };
            state.known = true;
            state.readings_down = if reading.up { 0 } else { state.readings_down.saturating_add(1) };
            state.observation.down = state.readings_down >= Self::DOWN_READINGS_MIN;
            let change = state.forecaster.on_reading(reading.fec);
            state.observation.forecast = state.forecaster.raised_loss();
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
        if is_due {
            self.save_holds(now, store)?;
            self.read_holds(now, store, &mut events)?;
        }
        if now >= self.verify_at {
            self.verify_published(store)?;
            self.read_silence(store, &mut events)?;
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
                let repair =
                    |seen: &Option<Versioned<Observation>>| seen.as_ref().map(|seen| seen.record.last_repair);
                if repair(&seen) != repair(&state.peer_observation) {
                    state.damper.on_repair(now);
                }
                state.peer_observation = seen;
            }
            self.reread_at = now.saturating_add(Self::REREAD);
            let invalid_advice = self.read_advice(store)?;
            if invalid + invalid_advice > 0 {
                self.counts.invalid_records += invalid + invalid_advice;
                events.push(DaemonEvent::InvalidRecords(invalid + invalid_advice));
            }
        }
        self.act(now, store, lease, machine, &mut events)?;
        self.save_holds(now, store)?;
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
            state.known = true;
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

    /// Reads the holds of the own ports. They end by the server's clock.
    fn read_holds(
        &mut self,
        now: Time,
        store: &mut Store,
        events: &mut Vec<DaemonEvent>,
    ) -> Result<(), RedisError> {
        let Records { records, .. } = store.get::<HoldRecord>(&self.own_ports(store))?;
        let server_ms = store.time_ms()?;
        for (link, (state, stored)) in self.links.iter_mut().zip(records).enumerate() {
            let hold = stored.map(|stored| stored.record).and_then(|record| {
                let left = Span::from_ms(record.left_ms(server_ms)?);
                Some((record, now.saturating_add(left)))
            });
            let why = hold.as_ref().map(|(record, _)| record.why.clone());
            if why != state.hold.as_ref().map(|(record, _)| record.why.clone()) {
                events.push(DaemonEvent::HoldChanged { link, why });
            }
            state.hold = hold;
        }
        Ok(())
    }

    /// Reads which daemons at the other ends are silent. Their observations have expired: protection stays
    /// as it is.
    fn read_silence(&mut self, store: &mut Store, events: &mut Vec<DaemonEvent>) -> Result<(), RedisError> {
        let nodes: Vec<Name> = self.links.iter().map(|state| state.link.peer.node.clone()).collect();
        let live = store.are_live(&nodes, Self::SILENCE)?;
        for (link, (state, live)) in self.links.iter_mut().zip(live).enumerate() {
            let silent = live == Some(false);
            if std::mem::replace(&mut state.peer_silent, silent) != silent {
                events.push(DaemonEvent::PeerSilent { link, silent });
            }
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
        for LinkState { link, observation, published, known, .. } in &mut self.links {
            // A port that was never read is not healthy: nobody knows.
            if *published == Some(*observation) || !*known {
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
        now: Time,
        store: &mut Store,
        lease: Lease,
        machine: &mut impl Machine,
        events: &mut Vec<DaemonEvent>,
    ) -> Result<(), RedisError> {
        self.end_holds(now, events);
        for (link, action_record) in self.damped(now).into_iter().enumerate() {
            let Some(wanted) = action_record else { continue };
            let action = match self.apply_action(link, &wanted.action, machine) {
                Ok(Outcome::Unchanged(action)) => action,
                Ok(Outcome::Applied(action)) => {
                    self.counts.actions += 1;
                    events.push(DaemonEvent::Acted { link, action: action.clone() });
                    action
                }
                Ok(Outcome::ChangedByHand(action)) => {
                    self.hold_for_operator(now, link, &action);
                    let hold = self.act.manual_hold;
                    events.push(DaemonEvent::ChangedByHand { link, action: action.clone(), hold });
                    action
                }
                Err(reason) => {
                    let reason: String = reason.chars().take(120).collect();
                    let action = LinkAction::Decline { reason: reason.clone() };
                    let failed = ActionRecord { action: action.clone(), ..wanted };
                    if self.links[link].published_action.as_ref() != Some(&failed) {
                        self.counts.failures += 1;
                        events.push(DaemonEvent::ActionFailed { link, reason });
                    }
                    action
                }
            };
            let action_record = ActionRecord { action, ..wanted };
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

    fn end_holds(&mut self, now: Time, events: &mut Vec<DaemonEvent>) {
        for (link, state) in self.links.iter_mut().enumerate() {
            if state.hold.take_if(|(_, until)| now >= *until).is_some() {
                events.push(DaemonEvent::HoldChanged { link, why: None });
            }
        }
    }

    /// Returns the decisions of this turn, with the end of protection delayed for links that flap.
    fn damped(&mut self, now: Time) -> Vec<Option<ActionRecord>> {
        let input: Vec<LinkInput<'_>> = self.links.iter().map(LinkState::input).collect();
        let mut decided = decide(&input, &self.act);
        let loss: Vec<f64> = input.iter().map(LinkInput::loss).collect();
        let mut order: Vec<usize> = (0..decided.len()).collect();
        // Links that are protected keep their place among `protected_max` until their delay ends.
        order.sort_by(|&a, &b| {
            let is_new = |at: usize| self.links[at].damper.level() == 0;
            is_new(a).cmp(&is_new(b)).then(loss[b].total_cmp(&loss[a]))
        });
        let mut protected = 0;
        for at in order {
            let (Some(record), state) = (&mut decided[at], &mut self.links[at]) else { continue };
            if state.hold.is_some() {
                continue;
            }
            let wanted = match record.action {
                LinkAction::Protect { copies } => copies,
                _ => 0,
            };
            if state.damper.level() == 0 && wanted > 0 && protected >= self.act.protected_max {
                let reason = "another link stays protected until its hold-down ends".to_owned();
                record.action = LinkAction::Decline { reason };
                continue;
            }
            let copies = state.damper.damp(now, wanted, self.act.hold_down);
            protected += usize::from(copies > 0);
            if copies > wanted {
                record.action = LinkAction::Protect { copies };
            }
        }
        decided
    }

    /// Leaves a link alone for a while.
    fn hold_for_operator(&mut self, now: Time, link: usize, action: &LinkAction) {
        let why = match action {
            LinkAction::Protect { copies } => format!("changed by hand: protected with {copies} copies"),
            _ => "changed by hand: not protected".to_owned(),
        };
        let hold = HoldRecord { why, ..HoldRecord::ended() };
        let state = &mut self.links[link];
        state.hold = Some((hold, now.saturating_add(self.act.manual_hold)));
        state.hold_unsaved = true;
    }

    /// Stores the holds of this daemon, so that they survive its restart.
    fn save_holds(&mut self, now: Time, store: &mut Store) -> Result<(), RedisError> {
        for state in self.links.iter_mut().filter(|state| state.hold_unsaved) {
            if let Some((hold, until)) = &mut state.hold {
                let left_ms = until.since(now.min(*until)).as_ns() / 1_000_000;
                hold.until_ms = store.time_ms()?.saturating_add(left_ms);
                store.put_hold(&state.link.port, hold, None)?;
            }
            state.hold_unsaved = false;
        }
        Ok(())
    }

    /// Applies an action unless it is already in effect or the link is held. Detects changes by hand: the
    /// same relay process has other settings than before.
    fn apply_action(
        &mut self,
        link: usize,
        decided: &LinkAction,
        machine: &mut impl Machine,
    ) -> Result<Outcome, String> {
        let state = &mut self.links[link];
        if state.link.protect == Protector::None || self.act.mode == DaemonMode::Observe {
            return Ok(Outcome::Unchanged(decided.clone()));
        }
        let wanted = match decided {
            LinkAction::Decline { .. } => &LinkAction::Nothing,
            action => action,
        };
        let current = machine.relay_state(link)?;
        let before = state.relay.replace(current.clone());
        if let Some((hold, _)) = &state.hold {
            return Ok(Outcome::Unchanged(match (&current.action, wanted) {
                (LinkAction::Nothing, LinkAction::Protect { .. }) => {
                    LinkAction::Decline { reason: format!("held: {}", hold.why) }
                }
                _ => current.action,
            }));
        }
        let changed =
            before.is_some_and(|before| before.process == current.process && before.action != current.action);
        if changed && self.act.manual_hold > Span::ZERO {
            return Ok(Outcome::ChangedByHand(current.action));
        }
        if current.action == *wanted {
            return Ok(Outcome::Unchanged(decided.clone()));
        }
        let applied = machine.apply(link, wanted);
        state.relay = machine.relay_state(link).ok();
        applied?;
        Ok(Outcome::Applied(wanted.clone()))
    }
}

/// What happened to the protection of a link. The action is the one to publish.
enum Outcome {
    Unchanged(LinkAction),
    Applied(LinkAction),
    ChangedByHand(LinkAction),
}
