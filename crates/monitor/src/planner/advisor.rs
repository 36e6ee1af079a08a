//! Decides which corrupting links to drain or protect, from the observations of all ports.

use std::collections::{BTreeMap, BTreeSet};

use wiremend_fleet::CapacityCount;
use wiremend_fleet::optimize::STEPS_MAX;
use wiremend_fleet::plan::{CorruptingLink, DrainPlanner, DrainRefusal, FabricState, ScopeCapacity};
use wiremend_units::{LinkId, SwitchId, Time};

use crate::name::Name;
use crate::planner::failure_brake::{BrakeChange, FailureBrake};
use crate::planner::holds::{Holds, LinkHold};
use crate::planner::named_fabric::{LinkEnd, NamedFabric};
use crate::redis::{Advice, AdvisedAction};

/// Limits of a planner.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PlannerLimits {
    /// Whether daemons in mode `advised` act on the advice.
    pub binding: bool,
    /// Share of its capacity to the top tier that every ToR, pod and domain must keep. The fabric may require
    /// other shares of single ToRs and pods.
    pub constraint: f64,
    /// How capacity is counted.
    pub count: CapacityCount,
    /// Maximum number of links of one switch protected at the same time.
    pub protected_per_switch_max: usize,
    /// Maximum number of links of the fabric protected at the same time.
    pub protected_max: usize,
}

impl Default for PlannerLimits {
    fn default() -> Self {
        Self {
            binding: false,
            constraint: 0.75,
            count: CapacityCount::Bandwidth,
            protected_per_switch_max: 4,
            protected_max: 256,
        }
    }
}

/// Counts of links by state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FabricSummary {
    /// Corrupting links.
    pub corrupting: usize,
    /// Links without a carrier.
    pub down: usize,
    /// Links to drain.
    pub drain: usize,
    /// Links to protect while they are in service.
    pub protect: usize,
    /// Corrupting links that can be neither drained nor protected.
    pub wait: usize,
    /// Nodes that reported failures within the window of the failure brake.
    pub failing_nodes: usize,
    /// Links that operators hold, with those under maintenance.
    pub held: usize,
    /// Nodes that reported too many failures.
    pub distrusted_nodes: usize,
}

/// Keeps the state of a fabric and computes the advice. It has no clock and no connection.
pub struct Advisor<'a> {
    fabric: &'a NamedFabric,
    limits: PlannerLimits,
    /// Corrupting links, with the loss received at the lower and at the upper end.
    corrupting: BTreeMap<LinkId, [f64; 2]>,
    /// Link ends without a carrier.
    down_ends: BTreeSet<LinkEnd>,
    /// Current advice, for links with any.
    link_advice: BTreeMap<LinkId, LinkAdvice>,
    /// Corrupting links without a decision, in the order of their failure.
    undecided: Vec<LinkId>,
    /// A link or carrier came back: the optimizer must run.
    returned: bool,
    /// A loss or carrier state changed since the last decision.
    changed: bool,
    brake: FailureBrake,
    holds: Holds,
    /// Links whose failure only a distrusted node reports, with the reason of their advice.
    newly_distrusted: BTreeMap<LinkId, String>,
}

/// Advice on a link.
#[derive(Clone, PartialEq, Debug)]
struct LinkAdvice {
    action: AdvisedAction,
    /// Whether frames received at the lower and at the upper end should be protected by the opposite end.
    protect: [bool; 2],
    reason: String,
    /// Why the link is not protected.
    unprotected_reason: Option<&'static str>,
    /// Only a distrusted node reports the failure, so nothing is done.
    distrusted: bool,
}

impl LinkAdvice {
    fn new(action: AdvisedAction, reason: String) -> Self {
        Self { action, protect: [false; 2], reason, unprotected_reason: None, distrusted: false }
    }

    fn reason(&self) -> String {
        match (self.action, self.unprotected_reason) {
            (AdvisedAction::Wait, Some(unprotected_reason)) => {
                format!("{}{REASON_SEPARATOR}{unprotected_reason}", self.reason)
            }
            _ => self.reason.clone(),
        }
    }
}

/// Part of the reason for links whose failure only a distrusted node reports.
const DISTRUSTED: &str = "check its counters";
const MUST_STAY: &str = ", and must stay: ";
/// Separates the reason why a link must stay from the reason why it is not protected.
const REASON_SEPARATOR: &str = "; ";

impl<'a> Advisor<'a> {
    /// Creates an advisor of a fabric without observations.
    pub fn new(fabric: &'a NamedFabric, limits: PlannerLimits) -> Self {
        Self {
            fabric,
            limits,
            corrupting: BTreeMap::new(),
            down_ends: BTreeSet::new(),
            link_advice: BTreeMap::new(),
            undecided: Vec::new(),
            returned: false,
            changed: false,
            brake: FailureBrake::new(fabric.tiers().link_count()),
            holds: Holds::default(),
            newly_distrusted: BTreeMap::new(),
        }
    }

    /// Restores the advice that an earlier planner stored for the lower and the upper end of a link.
    pub fn resume(&mut self, link: LinkId, lower: &Advice, upper: &Advice) {
        if lower.action == AdvisedAction::Nothing {
            return;
        }
        let reason = lower.reason.split(REASON_SEPARATOR).next().unwrap_or_default().to_owned();
        // Frames sent at one end are received at the other.
        let protect = [upper.protect, lower.protect];
        let distrusted = reason.contains(DISTRUSTED);
        let advice = LinkAdvice { protect, distrusted, ..LinkAdvice::new(lower.action, reason) };
        self.link_advice.insert(link, advice);
        self.changed = true;
    }

    /// Sets or clears the halt and the distrusted nodes, as stored by an earlier planner or cleared by an
    /// operator.
    pub fn set_halt(&mut self, on: bool, distrusted: &[Name]) {
        let tiers = self.fabric.tiers();
        self.brake.set(on, distrusted.iter().filter_map(|node| tiers.switch_by_name(node.as_str())));
        if !on && distrusted.is_empty() {
            // The links that failed during the halt are decided together.
            self.returned = true;
            self.link_advice.values_mut().for_each(|advice| advice.distrusted = false);
        }
    }

    /// Returns the nodes that reported too many failures.
    pub fn distrusted(&self) -> Vec<Name> {
        let name = |node| self.fabric.tiers().name(node).parse().ok();
        self.brake.distrusted().filter_map(name).collect()
    }

    /// Sets or ends an operator's hold of an end of a link. The advice on a held link stays as it is.
    pub fn set_hold(&mut self, end: LinkEnd, hold: Option<LinkHold>) {
        let was_out = self.holds.is_in_maintenance(end.link);
        if !self.holds.set(end, hold) {
            return;
        }
        self.changed = true;
        self.returned |= was_out && !self.holds.is_in_maintenance(end.link);
        if self.holds.is_held(end.link) {
            self.undecided.retain(|undecided| *undecided != end.link);
        } else if self.corrupting.contains_key(&end.link) && !self.link_advice.contains_key(&end.link) {
            self.undecided.push(end.link);
        }
    }

    /// Ends the holds whose time is over.
    pub fn end_holds(&mut self, now: Time) {
        let mut after = self.holds.clone();
        for end in after.take_ended(now) {
            self.set_hold(end, None);
        }
    }

    /// Returns whether there is advice on a link.
    pub fn has_advice(&self, link: LinkId) -> bool {
        self.link_advice.contains_key(&link)
    }

    /// Returns whether the planner is halted.
    pub fn is_halted(&self) -> bool {
        self.brake.is_on()
    }

    /// Returns the number of nodes with failures that halts the planner if exceeded.
    pub fn failing_nodes_max(&self) -> usize {
        self.brake.nodes_max()
    }

    /// Returns the reason of a halt.
    pub fn halt_reason(&self) -> String {
        format!(
            "more than {} nodes reported failures within 5 minutes: check the counters, then run `wiremend monitor release`",
            self.brake.nodes_max()
        )
    }

    /// Processes the loss received at an end; `None` if the link is healthy. `is_new` is false for
    /// observations that a new leader reads at its start, because these are not new failures. Returns
    /// whether this failure halts the planner or makes it distrust the node.
    pub fn on_observation(
        &mut self,
        now: Time,
        end: LinkEnd,
        loss: Option<f64>,
        is_new: bool,
    ) -> BrakeChange {
        let at = usize::from(end.upper);
        let loss = loss.unwrap_or(0.0);
        let known = self.corrupting.get(&end.link).copied();
        let mut losses = known.unwrap_or_default();
        if losses[at].to_bits() == loss.to_bits() {
            return BrakeChange::None;
        }
        losses[at] = loss;
        self.changed = true;
        if losses.iter().all(|loss| *loss <= 0.0) {
            self.corrupting.remove(&end.link);
            self.undecided.retain(|undecided| *undecided != end.link);
            self.newly_distrusted.remove(&end.link);
            return BrakeChange::None;
        }
        self.corrupting.insert(end.link, losses);
        if self.holds.is_held(end.link) {
            return BrakeChange::None;
        }
        // Both ends of a link are one failure, unless the first report came from a distrusted node.
        let is_distrusted = self.newly_distrusted.contains_key(&end.link)
            || self.link_advice.get(&end.link).is_some_and(|advice| advice.distrusted);
        if known.is_some() && !is_distrusted {
            return BrakeChange::None;
        }
        let node = self.fabric.switch(end);
        let links = self.fabric.tiers().port_count(node);
        let change = if is_new && !self.brake.is_distrusted(node) {
            self.brake.on_failure(now, node, links)
        } else {
            BrakeChange::None
        };
        if self.brake.is_distrusted(node) {
            if !self.link_advice.contains_key(&end.link) {
                self.distrust(end.link, node, links);
            }
        } else if is_distrusted {
            self.newly_distrusted.remove(&end.link);
            self.link_advice.remove(&end.link);
            self.undecided.push(end.link);
        } else if !self.link_advice.contains_key(&end.link) {
            self.undecided.push(end.link);
        }
        change
    }

    fn distrust(&mut self, link: LinkId, node: SwitchId, links: u32) {
        let reason = format!(
            "{} reported more than {} failures within 5 minutes: {DISTRUSTED}, then run `wiremend monitor release`",
            self.fabric.tiers().name(node),
            FailureBrake::node_links_max(links)
        );
        self.newly_distrusted.insert(link, reason);
    }

    /// Processes the carrier state of an end.
    pub fn on_carrier(&mut self, end: LinkEnd, down: bool) {
        let changed = if down { self.down_ends.insert(end) } else { self.down_ends.remove(&end) };
        if changed {
            self.changed = true;
            self.returned |= !down;
        }
    }

    /// Decides on all changes. Returns the changed advice by link end.
    pub fn decide(&mut self) -> Vec<(LinkEnd, Advice)> {
        if !std::mem::take(&mut self.changed) && self.undecided.is_empty() && !self.returned {
            return Vec::new();
        }
        let before = self.link_advice.clone();
        for (link, reason) in std::mem::take(&mut self.newly_distrusted) {
            let advice = LinkAdvice { distrusted: true, ..LinkAdvice::new(AdvisedAction::Wait, reason) };
            self.link_advice.insert(link, advice);
        }
        self.clear_healthy();
        if self.brake.is_on() {
            self.wait_while_halted();
        } else {
            self.drain();
            self.protect();
        }
        self.changes(&before)
    }

    /// Returns the current advice for a link end.
    pub fn advice(&self, end: LinkEnd) -> Advice {
        self.advice_for(end, self.link_advice.get(&end.link))
    }

    /// Iterates over all links with advice: link, action, reason and loss of the worse direction.
    pub fn advised(&self) -> impl Iterator<Item = (LinkId, AdvisedAction, String, f64)> + '_ {
        self.link_advice
            .iter()
            .map(|(link, advice)| (*link, advice.action, advice.reason(), self.loss(*link)))
    }

    /// Returns the counts of links by state.
    pub fn summary(&mut self, now: Time) -> FabricSummary {
        let count = |action| self.link_advice.values().filter(|advice| advice.action == action).count();
        FabricSummary {
            corrupting: self.corrupting.len(),
            down: self.down_ends.iter().map(|end| end.link).collect::<BTreeSet<_>>().len(),
            drain: count(AdvisedAction::Drain),
            protect: self.link_advice.values().filter(|advice| advice.protect != [false; 2]).count(),
            wait: count(AdvisedAction::Wait),
            failing_nodes: self.brake.failing_nodes(now),
            held: self.holds.links().collect::<BTreeSet<_>>().len(),
            distrusted_nodes: self.brake.distrusted().len(),
        }
    }

    /// Removes the advice of links that are healthy again, together with all links of their cable.
    fn clear_healthy(&mut self) {
        let (corrupting, tiers, holds) = (&self.corrupting, self.fabric.tiers(), &self.holds);
        let mut returned = false;
        self.link_advice.retain(|link, advice| {
            let stays = holds.is_held(*link)
                || corrupting.contains_key(link)
                || advice.action == AdvisedAction::Drain
                    && tiers.repaired_with(*link).iter().any(|mate| corrupting.contains_key(mate));
            returned |= !stays && advice.action == AdvisedAction::Drain;
            stays
        });
        self.returned |= returned;
    }

    /// Advises `wait` for links that fail during a halt.
    fn wait_while_halted(&mut self) {
        let reason = self.halt_reason();
        for link in self.undecided.drain(..) {
            self.link_advice.insert(link, LinkAdvice::new(AdvisedAction::Wait, reason.clone()));
        }
    }

    fn drain(&mut self) {
        let undecided = std::mem::take(&mut self.undecided);
        let returned = std::mem::take(&mut self.returned);
        if undecided.is_empty() && !returned {
            return;
        }
        let state = self.state();
        let PlannerLimits { constraint, count, .. } = self.limits;
        let mut planner = DrainPlanner::new(self.fabric.tiers(), &state, constraint, count);
        if returned {
            let advice = planner.advise(STEPS_MAX);
            for drain in &advice.drain {
                self.advise_drain(&drain.links);
            }
            for kept in &advice.keep {
                self.advise_keep(kept.corrupting.link, &kept.because);
            }
            let is_open =
                |link: &&LinkId| !self.link_advice.contains_key(link) && !self.holds.is_held(**link);
            let down_ends: Vec<LinkId> = self.corrupting.keys().filter(is_open).copied().collect();
            for link in down_ends {
                self.link_advice
                    .insert(link, LinkAdvice::new(AdvisedAction::Wait, "it has no carrier".to_owned()));
            }
            return;
        }
        for link in undecided {
            match planner.may_drain(link) {
                Ok(links) => {
                    planner.take_out(&links);
                    self.advise_drain(&links);
                }
                Err(DrainRefusal::TooLittle(because)) => self.advise_keep(link, &because),
                Err(DrainRefusal::AlreadyOut) => {
                    let advice = LinkAdvice::new(AdvisedAction::Wait, "it has no carrier".to_owned());
                    self.link_advice.entry(link).or_insert(advice);
                }
            }
        }
    }

    fn state(&self) -> FabricState {
        let is_drained = |link: &LinkId| {
            self.link_advice.get(link).is_some_and(|advice| advice.action == AdvisedAction::Drain)
        };
        let mut down: BTreeSet<LinkId> = self.down_ends.iter().map(|end| end.link).collect();
        down.extend(self.holds.links().filter(|link| self.holds.is_in_maintenance(*link)));
        let is_closed = |link: &LinkId| {
            self.holds.is_held(*link) || self.link_advice.get(link).is_some_and(|advice| advice.distrusted)
        };
        let draining =
            self.link_advice.keys().filter(|link| is_drained(link) && !down.contains(link)).copied();
        let corrupting = self
            .corrupting
            .keys()
            .filter(|link| !is_drained(link) && !down.contains(link) && !is_closed(link));
        FabricState {
            time_s: 0,
            draining: draining.collect(),
            corrupting: corrupting.map(|&link| CorruptingLink { link, loss: self.loss(link) }).collect(),
            down: down.into_iter().collect(),
            ..FabricState::default()
        }
    }

    fn advise_drain(&mut self, links: &[LinkId]) {
        for &link in links.iter().filter(|link| !self.holds.is_held(**link)) {
            let reason = if self.corrupting.contains_key(&link) {
                format!(
                    "it loses {:.1e}, and every ToR and pod keeps enough capacity without it",
                    self.loss(link)
                )
            } else {
                "it shares a cable with a corrupting link".to_owned()
            };
            self.link_advice.insert(link, LinkAdvice::new(AdvisedAction::Drain, reason));
        }
    }

    fn advise_keep(&mut self, link: LinkId, because: &ScopeCapacity) {
        // The first reason is kept, so that changing numbers cause no new advice.
        if self.link_advice.get(&link).is_some_and(|advice| advice.reason.contains(MUST_STAY)) {
            return;
        }
        let reason = format!(
            "it loses {:.1e}{MUST_STAY}{} would keep {}",
            self.loss(link),
            because.name(self.fabric.tiers()),
            because.numbers(self.limits.count)
        );
        self.link_advice.insert(link, LinkAdvice::new(AdvisedAction::Wait, reason));
    }

    /// Selects the links to protect, highest loss first, within the limits.
    fn protect(&mut self) {
        let mut worst: Vec<LinkId> =
            self.corrupting.keys().filter(|link| self.link_advice.contains_key(link)).copied().collect();
        // Links with equal loss are ordered by number, so that decisions are stable.
        worst.sort_by(|a, b| self.loss(*b).total_cmp(&self.loss(*a)).then(a.cmp(b)));
        let mut by_switch: BTreeMap<SwitchId, usize> = BTreeMap::new();
        let mut protected = 0;
        let is_closed = |link: &LinkId| self.holds.is_held(*link) || self.link_advice[link].distrusted;
        worst.retain(|link| !is_closed(link));
        for link in worst {
            let wanted = self.protectable(link);
            let senders: Vec<SwitchId> = [false, true]
                .into_iter()
                .filter(|upper| wanted[usize::from(*upper)])
                .map(|upper| self.fabric.switch(LinkEnd { link, upper }.other()))
                .collect();
            let per_switch_max = self.limits.protected_per_switch_max;
            let is_full = |switch: &SwitchId| by_switch.get(switch).copied().unwrap_or(0) >= per_switch_max;
            let no = if senders.is_empty() {
                Some("no relay runs on the sending port")
            } else if protected >= self.limits.protected_max {
                Some("the fabric's limit of protected links is reached")
            } else if senders.iter().any(is_full) {
                Some("the switch's limit of protected links is reached")
            } else {
                None
            };
            if no.is_none() {
                protected += 1;
                for switch in senders {
                    *by_switch.entry(switch).or_default() += 1;
                }
            }
            self.set_protection(link, wanted, no);
        }
    }

    fn set_protection(&mut self, link: LinkId, wanted: [bool; 2], unprotected_reason: Option<&'static str>) {
        let Some(advice) = self.link_advice.get_mut(&link) else { return };
        advice.protect = if unprotected_reason.is_some() { [false; 2] } else { wanted };
        advice.unprotected_reason = unprotected_reason;
        if advice.action != AdvisedAction::Drain {
            advice.action =
                if unprotected_reason.is_some() { AdvisedAction::Wait } else { AdvisedAction::Protect };
        }
    }

    /// Returns the directions that lose frames and have a relay at the sending end.
    fn protectable(&self, link: LinkId) -> [bool; 2] {
        let losses = self.corrupting.get(&link).copied().unwrap_or_default();
        [false, true].map(|upper| {
            losses[usize::from(upper)] > 0.0 && self.fabric.has_relay(LinkEnd { link, upper }.other())
        })
    }

    /// Returns the loss of the worse direction of a link.
    fn loss(&self, link: LinkId) -> f64 {
        self.corrupting.get(&link).map_or(0.0, |[low, high]| low.max(*high))
    }

    fn changes(&self, before: &BTreeMap<LinkId, LinkAdvice>) -> Vec<(LinkEnd, Advice)> {
        let links: BTreeSet<LinkId> = before.keys().chain(self.link_advice.keys()).copied().collect();
        let mut changes = Vec::new();
        for link in links {
            let (was, is) = (before.get(&link), self.link_advice.get(&link));
            if was == is {
                continue;
            }
            changes.extend([false, true].map(|upper| {
                let end = LinkEnd { link, upper };
                (end, self.advice_for(end, is))
            }));
        }
        changes
    }

    fn advice_for(&self, end: LinkEnd, advice: Option<&LinkAdvice>) -> Advice {
        let binding = self.limits.binding;
        match advice {
            None => Advice::nothing(binding),
            Some(advice) => {
                // Frames sent here are received at the other end.
                let protect = advice.protect[usize::from(end.other().upper)];
                Advice { action: advice.action, protect, binding, reason: advice.reason() }
            }
        }
    }
}
