//! Decisions over a trace, and what follows from them link by link.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use wiremend_fabric::tiers::{Paths, Tiers};
use wiremend_units::{LinkId, SwitchId};

use crate::capacity::{ONE, share};
use crate::lowest::Lowest;
use crate::metrics::{Meter, Shares, State};
use crate::moment::Moment;
use crate::optimize::{Item, Need, choose, try_down};
use crate::penalty::Penalty;
use crate::policy::Repairing;
use crate::run::Setting;
use crate::trace::Corruption;
use crate::view::{Health, View};

/// What happened, over the whole trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Links that began to corrupt, all of them.
    pub events: u64,
    /// Those among them that were taken out already.
    pub skipped: u64,
    /// Links that came back from repair.
    pub recoveries: u64,
    /// Those of them that were not repaired.
    pub relapses: u64,
    /// How often the fast checker said no.
    pub refused: u64,
    /// Links that it took out.
    pub disabled_on_arrival: u64,
    /// Links that the optimizer took out.
    pub disabled_by_optimizer: u64,
    /// The most links that the optimizer had to choose from at once.
    pub candidates_max: u64,
    /// How often it was cut off.
    pub cut_off: u64,
}

/// What is the matter with a link.
#[derive(Clone, Copy)]
struct Illness {
    /// The event that it comes from, by its place in the trace.
    event: u32,
    loss: f64,
    back: f64,
    repair: Option<Moment>,
    attempts: u32,
}

/// One way to decide, and what it comes to under every kind of protection that decides so.
pub(crate) struct Course<'a> {
    setting: &'a Setting<'a>,
    repairing: Repairing,
    paths: Paths<'a>,
    need: Need,
    ill: Vec<Option<Illness>>,
    /// Links that corrupt and are in, by domain: what shares no ToR decides apart.
    active: Vec<Vec<LinkId>>,
    domains: Vec<u32>,
    /// Links under repair: when they return, in which order they went, which.
    repairs: BinaryHeap<Reverse<(Moment, u64, LinkId)>>,
    /// Links that wait for somebody to repair them.
    waiting: VecDeque<LinkId>,
    sent: u64,
    pub(crate) views: Vec<(View<'a>, Meter)>,
    pub(crate) counters: Counters,
    tor_places: Vec<u32>,
    totals: Vec<u64>,
    least_paths: Lowest,
    paths_sum: u128,
    disabled: u32,
    active_count: u32,
}

impl<'a> Course<'a> {
    pub(crate) fn new(setting: &'a Setting<'a>, repairing: Repairing, views: Vec<View<'a>>) -> Self {
        let tiers = setting.tiers;
        let paths = Paths::new(tiers);
        let tors = tiers.tors();
        let mut tor_places = vec![0; tiers.switch_count() as usize];
        for (tor, place) in tors.iter().zip(0..) {
            tor_places[tor.index()] = place;
        }
        let domains = domains(tiers);
        let domain_count = domains.iter().max().map_or(0, |last| last + 1) as usize;
        let mut course = Self {
            setting,
            repairing,
            need: Need::new(tiers, &paths, setting.constraint),
            ill: vec![None; tiers.link_count() as usize],
            active: vec![Vec::new(); domain_count],
            domains,
            repairs: BinaryHeap::new(),
            waiting: VecDeque::new(),
            sent: 0,
            views: Vec::new(),
            counters: Counters::default(),
            tor_places,
            totals: tors.iter().map(|tor| paths.of(*tor)).collect(),
            least_paths: Lowest::new(&vec![ONE; tors.len()]),
            paths_sum: u128::from(ONE) * tors.len() as u128,
            disabled: 0,
            active_count: 0,
            paths,
        };
        for view in views {
            let state = course.state(&view);
            course.views.push((view, Meter::new(setting.window, state, setting.record)));
        }
        course
    }

    /// Plays the whole trace, and all repairs that follow from it. `false` if it was told to stop.
    pub(crate) fn play(&mut self, goes_on: &dyn Fn(f64) -> bool) -> bool {
        /// Events between two looks at whether to go on.
        const LOOK: usize = 4096;
        let events = self.setting.trace.events();
        for (number, event) in events.iter().enumerate() {
            // At equal times recoveries come first.
            while let Some(Reverse((at, _, link))) =
                self.repairs.peek().copied().filter(|next| next.0.0 <= event.at)
            {
                self.repairs.pop();
                self.recover(at, link);
            }
            self.arrive(number as u32, event);
            if number.is_multiple_of(LOOK) && !goes_on(number as f64 / events.len() as f64) {
                return false;
            }
        }
        while let Some(Reverse((at, _, link))) = self.repairs.pop() {
            self.recover(at, link);
        }
        let end = self.setting.window.end;
        for (_, meter) in &mut self.views {
            meter.advance(end);
        }
        true
    }

    fn arrive(&mut self, number: u32, event: &Corruption) {
        self.counters.events += 1;
        let Corruption { at, link, loss, loss_back: back, repair, .. } = *event;
        if !self.paths.is_up(link) {
            self.counters.skipped += 1;
            return;
        }
        let illness = Illness { event: number, loss, back, repair, attempts: 0 };
        self.fall_ill(link, illness);
        self.judge(at, link);
        self.note(at);
    }

    fn recover(&mut self, at: Moment, link: LinkId) {
        self.counters.recoveries += 1;
        let illness = self.ill[link.index()].expect("what is repaired was ill");
        let (_, helped) = self.setting.repair.draw(self.setting.seed, illness.event, illness.attempts);
        self.paths.bring_up(link);
        self.count_paths();
        self.disabled -= 1;
        self.ill[link.index()] = None;
        self.tell(link, Health::Out, Health::Well);
        if let Some(next) = self.waiting.pop_front() {
            self.send_repair(at, next);
        }
        if !helped {
            self.counters.relapses += 1;
            self.fall_ill(link, Illness { attempts: illness.attempts + 1, ..illness });
            self.judge(at, link);
        }
        if matches!(self.repairing, Repairing::CorrOpt(_)) {
            self.optimize(at, self.domains[link.index()]);
        }
        self.note(at);
    }

    /// A link that is in begins to corrupt, or corrupts differently.
    fn fall_ill(&mut self, link: LinkId, illness: Illness) {
        let before = self.ill[link.index()].replace(illness);
        let after = Health::Ill { loss: illness.loss, back: illness.back };
        if let Some(Illness { loss, back, .. }) = before {
            self.tell(link, Health::Ill { loss, back }, after);
        } else {
            self.tell(link, Health::Well, after);
            let others = &mut self.active[self.domains[link.index()] as usize];
            let place = others.binary_search(&link).unwrap_or_else(|place| place);
            others.insert(place, link);
            self.active_count += 1;
        }
    }

    /// Whether a link that corrupts is taken out at once.
    fn judge(&mut self, at: Moment, link: LinkId) {
        match self.repairing {
            Repairing::Never => {}
            Repairing::Always => {
                self.paths.take_down(link);
                self.counters.disabled_on_arrival += 1;
                self.take_out(at, link);
            }
            Repairing::CorrOpt(_) => match try_down(&mut self.paths, &self.need, link) {
                Ok(()) => {
                    self.counters.disabled_on_arrival += 1;
                    self.take_out(at, link);
                }
                Err(_) => self.counters.refused += 1,
            },
        }
    }

    /// Of the links in a domain that had to stay, takes those out that can go now. Others cannot: nothing has changed for them.
    fn optimize(&mut self, at: Moment, domain: u32) {
        let Repairing::CorrOpt(worth) = self.repairing else { return };
        let candidates = self.active[domain as usize].clone();
        if candidates.is_empty() {
            return;
        }
        self.counters.candidates_max = self.counters.candidates_max.max(candidates.len() as u64);
        let item = |link: &LinkId| {
            let Illness { loss, back, .. } = self.ill[link.index()].expect("a candidate is ill");
            let (left, speed) = self.views[0].0.left(*link, loss, back);
            let worth = worth.of(loss + back, left, speed);
            Item { links: vec![*link], worth: Penalty::of(worth).raw().max(1) }
        };
        let items: Vec<Item> = candidates.iter().map(item).collect();
        let choice = choose(&mut self.paths, &self.need, &items, self.setting.steps_max);
        self.counters.cut_off += u64::from(choice.bound > choice.worth);
        // The ways have changed by all of them together: count them link by link.
        for taken in &choice.taken {
            self.paths.bring_up(candidates[*taken]);
        }
        for taken in choice.taken {
            let link = candidates[taken];
            self.paths.take_down(link);
            self.counters.disabled_by_optimizer += 1;
            self.take_out(at, link);
        }
    }

    /// A link is down from now on, and is sent for repair.
    fn take_out(&mut self, at: Moment, link: LinkId) {
        self.count_paths();
        self.disabled += 1;
        let others = &mut self.active[self.domains[link.index()] as usize];
        if let Ok(place) = others.binary_search(&link) {
            others.remove(place);
            self.active_count -= 1;
        }
        let Illness { loss, back, .. } = self.ill[link.index()].expect("what is taken out is ill");
        self.tell(link, Health::Ill { loss, back }, Health::Out);
        match self.setting.repair.technicians {
            Some(most) if self.repairs.len() >= most as usize => self.waiting.push_back(link),
            _ => self.send_repair(at, link),
        }
    }

    fn send_repair(&mut self, at: Moment, link: LinkId) {
        let Illness { event, repair, attempts, .. } =
            self.ill[link.index()].expect("what is repaired was ill");
        let (drawn, _) = self.setting.repair.draw(self.setting.seed, event, attempts);
        self.repairs.push(Reverse((at.after(repair.unwrap_or(drawn)), self.sent, link)));
        self.sent += 1;
    }

    fn count_paths(&mut self) {
        for tor in self.paths.changed() {
            let place = self.tor_places[tor.index()] as usize;
            let now = share(self.paths.of(*tor), self.totals[place]);
            self.paths_sum = self.paths_sum + u128::from(now) - u128::from(self.least_paths.get(place));
            self.least_paths.set(place, now);
        }
    }

    fn tell(&mut self, link: LinkId, before: Health, after: Health) {
        for (view, _) in &mut self.views {
            view.change(link, before, after);
        }
    }

    fn note(&mut self, at: Moment) {
        for place in 0..self.views.len() {
            let state = self.state(&self.views[place].0);
            self.views[place].1.note(at, state);
        }
    }

    fn state(&self, view: &View<'_>) -> State {
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

/// Links by what they can have in common: two whose lower ends are joined below the top may share a ToR; all others never do.
fn domains(tiers: &Tiers) -> Vec<u32> {
    let mut heads: Vec<u32> = (0..tiers.switch_count()).collect();
    let top = tiers.tier_count() - 1;
    for link in tiers.links().map(|link| tiers.link(link)).filter(|link| tiers.tier(link.upper) < top) {
        let (a, b) = (head(&mut heads, link.lower), head(&mut heads, link.upper));
        heads[a.max(b) as usize] = a.min(b);
    }
    let mut numbers = vec![u32::MAX; heads.len()];
    let mut count = 0;
    let mut numbered = |switch: u32| {
        let number = &mut numbers[switch as usize];
        if *number == u32::MAX {
            *number = count;
            count += 1;
        }
        *number
    };
    tiers.links().map(|link| numbered(head(&mut heads, tiers.link(link).lower))).collect()
}

fn head(heads: &mut [u32], switch: SwitchId) -> u32 {
    let mut at = switch.0;
    while heads[at as usize] != at {
        heads[at as usize] = heads[heads[at as usize] as usize];
        at = heads[at as usize];
    }
    at
}
