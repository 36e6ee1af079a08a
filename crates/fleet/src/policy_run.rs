//! Simulation of the decisions of one disable rule over a trace.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use wiremend_fabric::tiers::{PathCounts, ScopeAmounts as _, ScopeId};
use wiremend_units::{LinkId, SwitchId};

use crate::min_tree::{PartMinimums, PartPlace};
use crate::optimize::{Candidate, select, take_down_if_allowed};
use crate::parts::Parts;
use crate::penalty::Penalty;
use crate::pipe_counts::Pipes;
use crate::pod_capacity::{ONE, share};
use crate::policy::{DisableRule, Objective, Protection};
use crate::protection_view::{LinkHealth, ProtectionView};
use crate::required::RequiredCapacity;
use crate::run::FleetSetup;
use crate::timeline::{Cause, PartLog, Timeline, Totals};
use crate::trace::CorruptionEvent;
use crate::trace_time::{TraceSpan, TraceTime};

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

/// The corruption of a link. It has what is needed of its event, because events are spread over the trace.
#[derive(Clone, Copy)]
struct Corruption {
    /// Number of the event in the trace.
    event: u32,
    /// How often its repair has failed.
    attempts: u32,
    loss: f64,
    loss_back: f64,
    repair: Option<TraceSpan>,
}

/// A corrupting link in service.
#[derive(Clone, Copy)]
struct ActiveLink {
    link: LinkId,
    corruption: Corruption,
    /// A ToR that needs the link. As long as it gets no paths, the link must stay.
    needed_by: ScopeId,
}

/// A link under repair.
#[derive(Clone, Copy)]
struct Repair {
    returns_at: TraceTime,
    /// Number of repairs sent before in its part.
    sent: u64,
    link: LinkId,
    corruption: Corruption,
    /// The change of its part with which it left.
    sent_by: u32,
}

impl Corruption {
    fn new(number: u32, CorruptionEvent { loss, loss_back, repair, .. }: CorruptionEvent) -> Self {
        Self { event: number, attempts: 0, loss, loss_back, repair }
    }

    fn health(&self) -> LinkHealth {
        LinkHealth::Corrupting { loss: self.loss, loss_back: self.loss_back }
    }
}

/// By time, then in the order in which they were sent.
impl Ord for Repair {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.returns_at, self.sent).cmp(&(other.returns_at, other.sent))
    }
}

impl PartialOrd for Repair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Repair {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Repair {}

/// A ToR: where its share of its paths is, and how many it has in a clean fabric.
#[derive(Clone, Copy, Default)]
struct TorPaths {
    place: PartPlace,
    total: u64,
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
    parts: Parts,
    /// The part that is simulated.
    part: usize,
    /// Links under repair, by part.
    repairs: Vec<BinaryHeap<Reverse<Repair>>>,
    /// Events to simulate, by part.
    arrivals: Vec<Vec<(u32, CorruptionEvent)>>,
    logs: Vec<PartLog>,
    /// Links that wait for a technician.
    waiting: VecDeque<(LinkId, Corruption)>,
    sent: u64,
    views: Vec<ProtectionView<'a>>,
    pipes: Pipes,
    pub(crate) counters: RunCounters,
    tors: Vec<TorPaths>,
    least_paths: PartMinimums,
    totals: Totals,
    /// Those of the last recorded state.
    recorded: Totals,
    pub(crate) timeline: Timeline,
}

/// Links of a part, whose state then fits into the caches of a core.
pub(crate) const PART_LINKS: u32 = 1 << 12;
/// Events of the trace for each part until the changes of all parts are merged: the state of a part serves so
/// many, and the log of the largest fabrics takes some tens of megabytes.
const PART_EVENTS: usize = 1 << 10;

impl<'a> PolicyRun<'a> {
    pub(crate) fn new(
        setup: &'a FleetSetup<'a>,
        disable_rule: DisableRule,
        protections: impl Iterator<Item = Protection>,
        part_links: u32,
    ) -> Self {
        let tiers = setup.tiers;
        let mut paths = PathCounts::new(tiers);
        let by_switch = tiers.domains();
        // Technicians go wherever the next link waits.
        let part_links = if setup.repair.technicians.is_some() { u32::MAX } else { part_links };
        let parts = Parts::new(tiers, &by_switch, part_links);
        let of_tors = tiers.tors().iter().map(|tor| parts.of_switch(tor.index()));
        let (least_paths, places) = PartMinimums::new(ONE, of_tors, parts.count());
        let mut tors = vec![TorPaths::default(); tiers.switch_count() as usize];
        for (tor, place) in tiers.tors().iter().zip(places) {
            tors[tor.index()] = TorPaths { place, total: paths.count(*tor) };
        }
        let domains: Vec<u32> = tiers.links().map(|link| by_switch[tiers.link(link).lower.index()]).collect();
        let domain_count = domains.iter().max().map_or(0, |last| last + 1) as usize;
        let views: Vec<_> = protections
            .map(|protection| ProtectionView::new(tiers, &parts, protection, setup.effect, setup.seed))
            .collect();
        let all = 0..parts.count();
        let least: Vec<u64> = all.clone().map(|part| least_paths.least(part)).collect();
        let least_capacity = all.clone().map(|part| views[0].capacities.least(part)).collect::<Vec<_>>();
        let penalties = views.iter().map(ProtectionView::penalty);
        let pipes = Pipes::new(tiers);
        let timeline =
            Timeline::new(tiers, &pipes, &least, &least_capacity, penalties, (setup.window, setup.record));
        let totals = Totals { paths: u128::from(ONE) * tiers.tors().len() as u128, disabled: 0, active: 0 };
        Self {
            setup,
            disable_rule,
            required: required_paths(&mut paths, setup.constraint),
            active: vec![Vec::new(); domain_count],
            domains,
            gained: Vec::new(),
            part: 0,
            repairs: all.clone().map(|_| BinaryHeap::new()).collect(),
            arrivals: vec![Vec::new(); parts.count()],
            logs: all.map(|_| PartLog::default()).collect(),
            parts,
            waiting: VecDeque::new(),
            sent: 0,
            views,
            pipes,
            counters: RunCounters::default(),
            tors,
            least_paths,
            totals,
            recorded: totals,
            timeline,
            paths,
        }
    }

    /// Simulates the whole trace and the repairs after it. Returns `false` if `keep_going` stopped it.
    pub(crate) fn simulate(&mut self, keep_going: &dyn Fn(f64) -> bool) -> bool {
        let events = self.setup.trace.events();
        let mut from = 0;
        loop {
            let upto = events.len().min(from + PART_EVENTS * self.parts.count());
            for (event, number) in events[from..upto].iter().zip(from as u32..) {
                let domain = self.domains[event.link.index()];
                self.arrivals[self.parts.of_domain(domain)].push((number, *event));
            }
            let until = events.get(upto).map(|event| event.at);
            let mut done = from;
            for part in 0..self.parts.count() {
                self.part = part;
                if !self.simulate_part(until, &mut done, keep_going) {
                    return false;
                }
            }
            self.timeline.merge(&mut self.logs);
            if upto == events.len() {
                break;
            }
            from = upto;
        }
        let end = self.setup.window.end;
        for view in &mut self.timeline.views {
            view.meter.advance(end);
        }
        true
    }

    /// Simulates the events of a part, and returns from repair up to `until`; all if there is no later event.
    /// `done`: events of all parts.
    fn simulate_part(
        &mut self,
        until: Option<TraceTime>,
        done: &mut usize,
        keep_going: &dyn Fn(f64) -> bool,
    ) -> bool {
        /// Number of events between two calls of `keep_going`.
        const EVENTS_PER_CALL: usize = 4096;
        let all = self.setup.trace.events().len();
        let mut arrivals = std::mem::take(&mut self.arrivals[self.part]);
        for (number, event) in arrivals.drain(..) {
            if done.is_multiple_of(EVENTS_PER_CALL) && !keep_going(*done as f64 / all as f64) {
                return false;
            }
            *done += 1;
            self.recover_until(Some(event.at));
            self.arrive(number, event);
        }
        self.arrivals[self.part] = arrivals;
        self.recover_until(until);
        true
    }

    /// Returns links of the part from repair. At equal times they come before events.
    fn recover_until(&mut self, until: Option<TraceTime>) {
        while let Some(Reverse(next)) = self.repairs[self.part].peek().copied()
            && until.is_none_or(|until| next.returns_at <= until)
        {
            self.repairs[self.part].pop();
            self.recover(next);
        }
    }

    fn arrive(&mut self, number: u32, event: CorruptionEvent) {
        self.counters.events += 1;
        let CorruptionEvent { at, link, .. } = event;
        if !self.paths.is_up(link) {
            self.counters.skipped += 1;
            return;
        }
        self.corrupt(at, link, Corruption::new(number, event));
        self.record_state(at, Cause::Event(number));
    }

    fn recover(&mut self, repair: Repair) {
        let Repair { returns_at: at, link, corruption, sent_by, .. } = repair;
        self.counters.recoveries += 1;
        let (_, helped) = self.setup.repair.draw(self.setup.seed, corruption.event, corruption.attempts);
        self.paths.bring_up(link);
        self.count_paths();
        self.gained.clear();
        self.gained.extend_from_slice(self.paths.changed());
        self.totals.disabled -= 1;
        self.update_views(link, LinkHealth::Out, LinkHealth::Healthy);
        if let Some((next, corruption)) = self.waiting.pop_front() {
            self.send_repair(at, next, corruption);
        }
        if !helped {
            self.counters.relapses += 1;
            self.corrupt(at, link, Corruption { attempts: corruption.attempts + 1, ..corruption });
        }
        self.optimize(at, self.domains[link.index()]);
        self.record_state(at, Cause::Return { sent_by });
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
        let health = before.map_or(LinkHealth::Healthy, |before| before.health());
        match (decision, place) {
            (Ok(()), place) => {
                if let Ok(place) = place {
                    self.active(link).remove(place);
                    self.totals.active -= 1;
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
                self.totals.active += 1;
            }
        }
        self.update_views(link, health, corruption.health());
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
            self.totals.active -= 1;
            self.take_out(at, link, corruption, corruption.health());
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
            let Corruption { loss, loss_back, .. } = candidate.corruption;
            let (residual_loss, speed) = self.views[0].residual(candidate.link, loss, loss_back);
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
        self.totals.disabled += 1;
        self.update_views(link, health, LinkHealth::Out);
        match self.setup.repair.technicians {
            Some(most) if self.repairs[self.part].len() >= most as usize => {
                self.waiting.push_back((link, corruption));
            }
            _ => self.send_repair(at, link, corruption),
        }
    }

    fn send_repair(&mut self, at: TraceTime, link: LinkId, corruption: Corruption) {
        let Corruption { event, attempts, repair, .. } = corruption;
        let (drawn, _) = self.setup.repair.draw(self.setup.seed, event, attempts);
        let lasts = repair.unwrap_or(drawn);
        let sent_by = self.logs[self.part].next_number();
        let repair = Repair { returns_at: at.after(lasts), sent: self.sent, link, corruption, sent_by };
        self.repairs[self.part].push(Reverse(repair));
        self.sent += 1;
    }

    fn count_paths(&mut self) {
        for tor in self.paths.changed() {
            let TorPaths { place, total } = self.tors[tor.index()];
            let now = share(self.paths.count(SwitchId(tor.index() as u32)), total);
            let before = self.least_paths.get(place);
            self.totals.paths = self.totals.paths + u128::from(now) - u128::from(before);
            self.least_paths.set(place, now);
        }
    }

    fn update_views(&mut self, link: LinkId, before: LinkHealth, after: LinkHealth) {
        for view in &mut self.views {
            view.change(link, before, after);
        }
    }

    fn record_state(&mut self, at: TraceTime, cause: Cause) {
        let log = &mut self.logs[self.part];
        let before = std::mem::replace(&mut self.recorded, self.totals);
        log.add((at, cause), [before, self.totals], self.least_paths.least(self.part));
        for view in &mut self.views {
            log.add_view(|protected| view.take_change(self.part, &self.pipes, protected));
        }
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
