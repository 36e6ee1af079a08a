//! Simulation of the decisions of one disable rule over a trace.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use wiremend_fabric::tiers::{PathCounts, ScopeAmounts as _, ScopeId};
use wiremend_units::{LinkId, SwitchId};

use crate::metrics::{Meter, Shares, State};
use crate::min_tree::MinTree;
use crate::optimize::{Candidate, select, take_down_if_allowed};
use crate::penalty::Penalty;
use crate::pod_capacity::{ONE, share};
use crate::policy::{DisableRule, Objective};
use crate::protection_view::{LinkHealth, ProtectionView};
use crate::required::RequiredCapacity;
use crate::run::FleetSetup;
use crate::trace::CorruptionEvent;
use crate::trace_time::TraceTime;

/// Counters over the whole trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunCounters {
    /// All corruption events.
    pub events: u64,
    /// Events on links that were already out.
    pub skipped: u64,
    /// Links that returned from repair.
    pub recoveries: u64,
    /// Returned links whose repair failed.
    pub relapses: u64,
    /// Links that the fast checker kept in service.
    pub refused: u64,
    /// Links that the fast checker took out.
    pub disabled_on_arrival: u64,
    /// Links that the optimizer took out.
    pub disabled_by_optimizer: u64,
    /// Largest number of candidates of one optimization.
    pub candidates_max: u64,
    /// Optimizations that reached the step limit.
    pub cut_off: u64,
}

/// The corruption of a link: its event in the trace, and how often its repair has failed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Corruption {
    event: u32,
    attempts: u32,
}

/// A corrupting link in service.
#[derive(Clone, Copy)]
struct ActiveLink {
    link: LinkId,
    corruption: Corruption,
    /// A ToR that needs the link. As long as it gets no paths, the link must stay.
    needed_by: ScopeId,
}

/// The state of one disable rule, with a view for each kind of protection.
pub(crate) struct PolicyRun<'a> {
    setup: &'a FleetSetup<'a>,
    disable_rule: DisableRule,
    paths: PathCounts<'a>,
    required: RequiredCapacity,
    /// Corrupting links in service, by domain and number. Links of different domains share no ToR.
    active: Vec<Vec<ActiveLink>>,
    domains: Vec<u32>,
    /// ToRs that got paths by the last return, ascending.
    gained: Vec<ScopeId>,
    /// Links under repair: time of return, order of departure, link.
    repairs: BinaryHeap<Reverse<(TraceTime, u64, LinkId, Corruption)>>,
    /// Links that wait for a technician.
    waiting: VecDeque<(LinkId, Corruption)>,
    sent: u64,
    pub(crate) views: Vec<(ProtectionView<'a>, Meter)>,
    pub(crate) counters: RunCounters,
    tor_places: Vec<u32>,
    totals: Vec<u64>,
    least_paths: MinTree,
    paths_sum: u128,
    disabled: u32,
    active_count: u32,
}

impl<'a> PolicyRun<'a> {
    pub(crate) fn new(
        setup: &'a FleetSetup<'a>,
        disable_rule: DisableRule,
        views: Vec<ProtectionView<'a>>,
    ) -> Self {
        let tiers = setup.tiers;
        let mut paths = PathCounts::new(tiers);
        let tors = tiers.tors();
        let mut tor_places = vec![0; tiers.switch_count() as usize];
        for (tor, place) in tors.iter().zip(0..) {
            tor_places[tor.index()] = place;
        }
        let by_switch = tiers.domains();
        let domains: Vec<u32> = tiers.links().map(|link| by_switch[tiers.link(link).lower.index()]).collect();
        let domain_count = domains.iter().max().map_or(0, |last| last + 1) as usize;
        let mut run = Self {
            setup,
            disable_rule,
            required: required_paths(&mut paths, setup.constraint),
            active: vec![Vec::new(); domain_count],
            domains,
            gained: Vec::new(),
            repairs: BinaryHeap::new(),
            waiting: VecDeque::new(),
            sent: 0,
            views: Vec::new(),
            counters: RunCounters::default(),
            tor_places,
            totals: tors.iter().map(|tor| paths.count(*tor)).collect(),
            least_paths: MinTree::new(&vec![ONE; tors.len()]),
            paths_sum: u128::from(ONE) * tors.len() as u128,
            disabled: 0,
            active_count: 0,
            paths,
        };
        for view in views {
            let state = run.state(&view);
            run.views.push((view, Meter::new(setup.window, state, setup.record)));
        }
        run
    }

    /// Simulates the whole trace and the repairs after it. Returns `false` if `keep_going` stopped it.
    pub(crate) fn simulate(&mut self, keep_going: &dyn Fn(f64) -> bool) -> bool {
        /// Number of events between two calls of `keep_going`.
        const EVENTS_PER_CALL: usize = 4096;
        let events = self.setup.trace.events();
        for (number, event) in events.iter().enumerate() {
            // At equal times recoveries come first.
            while let Some(Reverse((at, _, link, corruption))) =
                self.repairs.peek().copied().filter(|next| next.0.0 <= event.at)
            {
                self.repairs.pop();
                self.recover(at, link, corruption);
            }
            self.arrive(number as u32, event);
            if number.is_multiple_of(EVENTS_PER_CALL) && !keep_going(number as f64 / events.len() as f64) {
                return false;
            }
        }
        while let Some(Reverse((at, _, link, corruption))) = self.repairs.pop() {
            self.recover(at, link, corruption);
        }
        let end = self.setup.window.end;
        for (_, meter) in &mut self.views {
            meter.advance(end);
        }
        true
    }

    fn arrive(&mut self, number: u32, event: &CorruptionEvent) {
        self.counters.events += 1;
        let CorruptionEvent { at, link, .. } = *event;
        if !self.paths.is_up(link) {
            self.counters.skipped += 1;
            return;
        }
        self.corrupt(at, link, Corruption { event: number, attempts: 0 });
        self.record_state(at);
    }

    fn recover(&mut self, at: TraceTime, link: LinkId, corruption: Corruption) {
        self.counters.recoveries += 1;
        let (_, helped) = self.setup.repair.draw(self.setup.seed, corruption.event, corruption.attempts);
        self.paths.bring_up(link);
        self.count_paths();
        self.gained.clear();
        self.gained.extend_from_slice(self.paths.changed());
        self.disabled -= 1;
        self.update_views(link, LinkHealth::Out, LinkHealth::Healthy);
        if let Some((next, corruption)) = self.waiting.pop_front() {
            self.send_repair(at, next, corruption);
        }
        if !helped {
            self.counters.relapses += 1;
            self.corrupt(at, link, Corruption { attempts: corruption.attempts + 1, ..corruption });
        }
        self.optimize(at, self.domains[link.index()]);
        self.record_state(at);
    }

    fn event(&self, corruption: Corruption) -> &'a CorruptionEvent {
        &self.setup.trace.events()[corruption.event as usize]
    }

    fn health(&self, corruption: Corruption) -> LinkHealth {
        let CorruptionEvent { loss, loss_back, .. } = *self.event(corruption);
        LinkHealth::Corrupting { loss, loss_back }
    }

    fn active(&mut self, link: LinkId) -> &mut Vec<ActiveLink> {
        &mut self.active[self.domains[link.index()] as usize]
    }

    /// Starts the corruption of a link in service, or changes its loss, and takes it out if its rule does so
    /// at once: then this corruption never counts.
    fn corrupt(&mut self, at: TraceTime, link: LinkId, corruption: Corruption) {
        let decision = self.take_down_on_arrival(link);
        let active = self.active(link);
        let place = active.binary_search_by_key(&link, |active| active.link);
        let before = place.ok().map(|place| active[place].corruption);
        let health = before.map_or(LinkHealth::Healthy, |before| self.health(before));
        match (decision, place) {
            (Ok(()), place) => {
                if let Ok(place) = place {
                    self.active(link).remove(place);
                    self.active_count -= 1;
                }
                self.counters.disabled_on_arrival += 1;
                self.take_out(at, link, corruption, health);
                return;
            }
            (Err(needed_by), Ok(place)) => {
                self.active(link)[place] = ActiveLink { link, corruption, needed_by };
            }
            (Err(needed_by), Err(place)) => {
                self.active(link).insert(place, ActiveLink { link, corruption, needed_by });
                self.active_count += 1;
            }
        }
        self.update_views(link, health, self.health(corruption));
    }

    /// Takes a link down that starts to corrupt, or returns a ToR that needs it.
    fn take_down_on_arrival(&mut self, link: LinkId) -> Result<(), ScopeId> {
        match self.disable_rule {
            DisableRule::Never => Err(ScopeId::tor(self.setup.tiers.link(link).lower)),
            DisableRule::Always => {
                self.paths.take_down(link);
                Ok(())
            }
            DisableRule::CorrOpt(_) => {
                let decision = take_down_if_allowed(&mut self.paths, &self.required, link);
                self.counters.refused += u64::from(decision.is_err());
                decision
            }
        }
    }

    /// Takes out the links of a domain that the optimizer selects. Other domains are unchanged.
    fn optimize(&mut self, at: TraceTime, domain: u32) {
        let DisableRule::CorrOpt(objective) = self.disable_rule else { return };
        let active = &self.active[domain as usize];
        self.counters.candidates_max = self.counters.candidates_max.max(active.len() as u64);
        if active.is_empty() {
            return;
        }
        self.gained.sort_unstable();
        let may_fit = |active: &&ActiveLink| self.gained.binary_search(&active.needed_by).is_ok();
        let mut candidates: Vec<ActiveLink> = active.iter().filter(may_fit).copied().collect();
        // A candidate that does not fit alone does not fit with others.
        candidates.retain(|candidate| !self.must_stay(candidate.link));
        let taken = match candidates.len() {
            0 => return,
            1 => vec![0],
            _ => self.best_of(&candidates, objective),
        };
        // One after the other, so that each one's changes are counted.
        for ActiveLink { link, corruption, .. } in taken.iter().map(|place| candidates[*place]) {
            self.paths.take_down(link);
            self.counters.disabled_by_optimizer += 1;
            self.active(link).retain(|active| active.link != link);
            self.active_count -= 1;
            self.take_out(at, link, corruption, self.health(corruption));
        }
        for (place, candidate) in candidates.into_iter().enumerate() {
            let is_decided = taken.binary_search(&place).is_ok() || self.must_stay(candidate.link);
            assert!(is_decided, "all links that fit were taken");
        }
    }

    /// Returns whether a ToR needs a corrupting link in service, and notes the ToR.
    fn must_stay(&mut self, link: LinkId) -> bool {
        match take_down_if_allowed(&mut self.paths, &self.required, link) {
            Ok(()) => {
                self.paths.bring_up(link);
                false
            }
            Err(tor) => {
                for active in self.active(link).iter_mut().filter(|active| active.link == link) {
                    active.needed_by = tor;
                }
                true
            }
        }
    }

    /// Selects the best of these candidates; returns their positions.
    fn best_of(&mut self, candidates: &[ActiveLink], objective: Objective) -> Vec<usize> {
        let item = |candidate: &ActiveLink| {
            let CorruptionEvent { loss, loss_back, .. } = *self.event(candidate.corruption);
            let (residual_loss, speed) = self.views[0].0.residual(candidate.link, loss, loss_back);
            let value = objective.value(loss + loss_back, residual_loss, speed);
            Candidate { links: vec![candidate.link], value: Penalty::from_loss(value).raw().max(1) }
        };
        let items: Vec<Candidate> = candidates.iter().map(item).collect();
        let choice = select(&mut self.paths, &self.required, &items, self.setup.steps_max);
        self.counters.cut_off += u64::from(choice.bound > choice.value);
        for taken in &choice.taken {
            self.paths.bring_up(candidates[*taken].link);
        }
        choice.taken
    }

    /// Marks a link with this health as out and sends it for repair.
    fn take_out(&mut self, at: TraceTime, link: LinkId, corruption: Corruption, health: LinkHealth) {
        self.count_paths();
        self.disabled += 1;
        self.update_views(link, health, LinkHealth::Out);
        match self.setup.repair.technicians {
            Some(most) if self.repairs.len() >= most as usize => self.waiting.push_back((link, corruption)),
            _ => self.send_repair(at, link, corruption),
        }
    }

    fn send_repair(&mut self, at: TraceTime, link: LinkId, corruption: Corruption) {
        let Corruption { event, attempts } = corruption;
        let (drawn, _) = self.setup.repair.draw(self.setup.seed, event, attempts);
        let lasts = self.event(corruption).repair.unwrap_or(drawn);
        self.repairs.push(Reverse((at.after(lasts), self.sent, link, corruption)));
        self.sent += 1;
    }

    fn count_paths(&mut self) {
        for tor in self.paths.changed() {
            let place = self.tor_places[tor.index()] as usize;
            let now = share(self.paths.count(SwitchId(tor.index() as u32)), self.totals[place]);
            self.paths_sum = self.paths_sum + u128::from(now) - u128::from(self.least_paths.get(place));
            self.least_paths.set(place, now);
        }
    }

    fn update_views(&mut self, link: LinkId, before: LinkHealth, after: LinkHealth) {
        for (view, _) in &mut self.views {
            view.change(link, before, after);
        }
    }

    fn record_state(&mut self, at: TraceTime) {
        for place in 0..self.views.len() {
            let state = self.state(&self.views[place].0);
            self.views[place].1.set_state(at, state);
        }
    }

    fn state(&self, view: &ProtectionView<'_>) -> State {
        let shares = Shares {
            least_paths: self.least_paths.least(),
            mean_paths: (self.paths_sum / self.totals.len().max(1) as u128) as u64,
            least_capacity: view.capacities.least(),
            mean_capacity: view.capacities.mean(),
            disabled: self.disabled,
            active: self.active_count,
            most_per_pipe: view.pipes.most(),
        };
        State { penalty: view.penalty(), shares }
    }
}

/// Returns the paths that every ToR must keep: the share of the setup, or its own.
fn required_paths(paths: &mut PathCounts<'_>, constraint: f64) -> RequiredCapacity {
    let mut required = RequiredCapacity::new(paths, constraint);
    let tiers = paths.tiers();
    let own = tiers.constraints();
    if own.tors.is_empty() && own.pods.is_empty() {
        return required;
    }
    for tor in tiers.tors() {
        let share = own.share_of_tor(tiers, *tor).unwrap_or(constraint);
        required.set(ScopeId::tor(*tor), paths.count(*tor), share);
    }
    required
}
