//! Which links may go together: exactly, and as many as are worth most.
//!
//! Taking links out is bounded by the ToRs below them: each must keep its share of ways. Links that share no ToR at its bound do not know of
//! each other, so the question falls into small ones. Each of them is answered by trying links with the greatest worth first, both ways, and leaving out
//! what cannot win any more. A bound on steps keeps a hopeless case from taking for ever; what could still be missing is then said.

use wiremend_fabric::tiers::{Paths, Tiers};
use wiremend_units::{LinkId, SwitchId};

/// What can be taken out: one link, or several that go together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// The links.
    pub links: Vec<LinkId>,
    /// What it is worth to be rid of them.
    pub worth: u128,
}

/// What should be taken out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Choice {
    /// Which items, ascending.
    pub taken: Vec<usize>,
    /// What they are worth.
    pub worth: u128,
    /// What no choice can exceed: the same, unless the steps were not enough.
    pub bound: u128,
    /// How many steps it took.
    pub steps: u64,
}

/// Steps that are enough for all that chance makes of a fabric, and over in a fraction of a second.
pub const STEPS_MAX: u64 = 1 << 18;

/// How many ways every ToR must keep, by switch.
#[derive(Clone, Debug)]
pub struct Need(Vec<u64>);

impl Need {
    /// The share `constraint` of each ToR's ways, rounded up.
    pub fn new(tiers: &Tiers, paths: &Paths<'_>, constraint: f64) -> Self {
        let mut need = Self(vec![0; tiers.switch_count() as usize]);
        for tor in tiers.tors() {
            need.set(*tor, paths.of(*tor), constraint);
        }
        need
    }

    /// Another share for one ToR that has so many ways in all.
    pub fn set(&mut self, tor: SwitchId, all: u64, constraint: f64) {
        // 100 × 0.07 is a little more than 7 in doubles; 7 ways are meant.
        self.0[tor.index()] = (all as f64 * constraint * (1.0 - 1e-12)).ceil() as u64;
    }

    /// No more than there is: what is missing already cannot be kept.
    pub fn lower_to(&mut self, tor: SwitchId, ways: u64) {
        let need = &mut self.0[tor.index()];
        *need = (*need).min(ways);
    }

    /// Exactly so many for one ToR.
    pub fn reset(&mut self, tor: SwitchId, ways: u64) {
        self.0[tor.index()] = ways;
    }

    /// Of one ToR.
    pub fn of(&self, tor: SwitchId) -> u64 {
        self.0[tor.index()]
    }

    /// The first of these ToRs that has too few.
    pub fn broken(&self, paths: &Paths<'_>, tors: &[SwitchId]) -> Option<SwitchId> {
        tors.iter().copied().find(|tor| paths.of(*tor) < self.of(*tor))
    }
}

/// The fast checker (CorrOpt): takes a link out if all ToRs below keep enough ways. Otherwise it stays, and a ToR is named that would
/// have too few.
pub fn try_down(paths: &mut Paths<'_>, need: &Need, link: LinkId) -> Result<(), SwitchId> {
    paths.take_down(link);
    let broken = need.broken(paths, paths.changed());
    match broken {
        Some(tor) => {
            paths.bring_up(link);
            Err(tor)
        }
        None => Ok(()),
    }
}

/// The items that are worth most together, such that every ToR keeps what it needs; `paths` is left with all of them taken out. ToRs
/// that have too few already must be [lowered](Need::lower_to) before.
pub fn choose(paths: &mut Paths<'_>, need: &Need, items: &[Item], steps_max: u64) -> Choice {
    let below: Vec<Vec<SwitchId>> = items.iter().map(|item| tors_below(paths, &item.links)).collect();
    for item in items {
        down(paths, item);
    }
    // With everything out, these have too few: nobody else ever will.
    let mut at_bound: Vec<SwitchId> = below.iter().flatten().copied().collect();
    at_bound.sort_unstable();
    at_bound.dedup();
    at_bound.retain(|tor| paths.of(*tor) < need.of(*tor));
    let mut search = Search { need, items, below: Vec::new(), steps: 0, steps_max };
    search.below = below
        .into_iter()
        .map(|tors| tors.into_iter().filter(|tor| at_bound.binary_search(tor).is_ok()).collect())
        .collect();
    let mut choice = Choice::default();
    let (free, mut open): (Vec<usize>, Vec<usize>) =
        (0..items.len()).partition(|item| search.below[*item].is_empty());
    choice.taken = free;
    choice.bound = items_worth(items, &choice.taken);
    for item in &open {
        up(paths, &items[*item]);
    }
    // What cannot go alone cannot go with others.
    open.retain(|item| {
        let fits = search.take(paths, *item);
        if fits {
            up(paths, &items[*item]);
        }
        fits
    });
    for group in groups(&open, &search.below) {
        let (taken, bound) = search.best_of(paths, group);
        for item in &taken {
            down(paths, &items[*item]);
        }
        choice.taken.extend(taken);
        choice.bound += bound;
    }
    choice.taken.sort_unstable();
    choice.worth = items_worth(items, &choice.taken);
    choice.steps = search.steps;
    choice
}

/// The ToRs whose ways lead over one of these links, now.
pub(crate) fn tors_below(paths: &Paths<'_>, links: &[LinkId]) -> Vec<SwitchId> {
    let tiers = paths.tiers();
    let mut open: Vec<SwitchId> =
        links.iter().filter(|link| paths.is_up(**link)).map(|link| tiers.link(*link).lower).collect();
    let (mut tors, mut seen) = (Vec::new(), Vec::new());
    while let Some(switch) = open.pop() {
        if tiers.tier(switch) == 0 {
            tors.push(switch);
        } else if !seen.contains(&switch) {
            seen.push(switch);
            let lower = tiers.links_below(switch).iter().filter(|link| paths.is_up(**link));
            open.extend(lower.map(|link| tiers.link(*link).lower));
        }
    }
    tors.sort_unstable();
    tors.dedup();
    tors
}

fn down(paths: &mut Paths<'_>, item: &Item) {
    for link in &item.links {
        paths.take_down(*link);
    }
}

fn up(paths: &mut Paths<'_>, item: &Item) {
    for link in &item.links {
        paths.bring_up(*link);
    }
}

fn items_worth(items: &[Item], taken: &[usize]) -> u128 {
    taken.iter().map(|item| items[*item].worth).sum()
}

/// Items that share ToRs at their bound, directly or through others.
fn groups(open: &[usize], below: &[Vec<SwitchId>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Vec<usize>, Vec<SwitchId>)> = Vec::new();
    for &item in open {
        let (mut members, mut tors) = (vec![item], below[item].clone());
        groups.retain(|(others, of)| {
            let apart = of.iter().all(|tor| tors.binary_search(tor).is_err());
            if !apart {
                members.extend(others);
                tors.extend(of);
                tors.sort_unstable();
                tors.dedup();
            }
            apart
        });
        groups.push((members, tors));
    }
    groups.into_iter().map(|(members, _)| members).collect()
}

/// The search through one group.
struct Search<'a> {
    need: &'a Need,
    items: &'a [Item],
    /// ToRs at their bound below each item.
    below: Vec<Vec<SwitchId>>,
    steps: u64,
    steps_max: u64,
}

/// A group, divided: once it is settled which of the shared items go, every ToR decides on its own ones alone.
struct Group {
    /// Items above several ToRs at their bound, the greatest worth first.
    shared: Vec<usize>,
    /// What all shared ones from each place on are worth.
    rest: Vec<u128>,
    /// Items of one ToR alone, ToR by ToR, the greatest worth first.
    own: Vec<Vec<usize>>,
    taken: Vec<usize>,
    best: Vec<usize>,
    best_worth: u128,
    /// The most that was left unexplored.
    open: u128,
}

/// Own items of a ToR, tried both ways.
struct Trial<'a> {
    order: &'a [usize],
    rest: Vec<u128>,
    bound: u128,
    taken: Vec<usize>,
    best: Vec<usize>,
    best_worth: u128,
    is_cut: bool,
}

/// From so many own items on, it pays to know a bound first.
const OWN_MANY: usize = 6;

impl Search<'_> {
    /// Takes an item out if it fits.
    fn take(&self, paths: &mut Paths<'_>, item: usize) -> bool {
        down(paths, &self.items[item]);
        let fits = self.need.broken(paths, &self.below[item]).is_none();
        if !fits {
            up(paths, &self.items[item]);
        }
        fits
    }

    /// The best of a group, and what nothing can exceed.
    fn best_of(&mut self, paths: &mut Paths<'_>, mut order: Vec<usize>) -> (Vec<usize>, u128) {
        order.sort_by_key(|item| {
            (std::cmp::Reverse(self.items[*item].worth), self.items[*item].links[0], *item)
        });
        let all = items_worth(self.items, &order);
        let bound = if order.len() > OWN_MANY { self.relaxed(paths, &order, all) } else { all };
        let mut group = self.divided(&order);
        self.descend(paths, &mut group, 0, 0, bound);
        let Group { mut best, mut best_worth, open, .. } = group;
        if open > best_worth {
            best_worth += self.fill_up(paths, &order, &mut best);
        }
        (best, open.min(bound).max(best_worth))
    }

    fn divided(&self, order: &[usize]) -> Group {
        let (shared, single): (Vec<usize>, Vec<usize>) =
            order.iter().partition(|item| self.below[**item].len() > 1);
        let mut rest = vec![0; shared.len() + 1];
        for place in (0..shared.len()).rev() {
            rest[place] = rest[place + 1] + self.items[shared[place]].worth;
        }
        let mut own: Vec<Vec<usize>> = Vec::new();
        for item in single {
            match own.iter_mut().find(|items| self.below[items[0]] == self.below[item]) {
                Some(items) => items.push(item),
                None => own.push(vec![item]),
            }
        }
        Group { shared, rest, own, taken: Vec::new(), best: Vec::new(), best_worth: 0, open: 0 }
    }

    /// With some of the shared items taken: what the own ones add if no more of them are, and then each of the rest as the next. `above` is what can be
    /// reached at most from here.
    fn descend(&mut self, paths: &mut Paths<'_>, group: &mut Group, place: usize, worth: u128, above: u128) {
        if above <= group.best_worth {
            return;
        }
        if self.steps >= self.steps_max {
            group.open = group.open.max(above);
            return;
        }
        self.steps += 1;
        let (mut added, mut most, mut chosen) = (0, 0, Vec::new());
        for items in &group.own {
            let (taken, bound) = self.own_best(paths, items);
            added += items_worth(self.items, &taken);
            most += bound;
            chosen.extend(taken);
        }
        if worth + added > group.best_worth {
            group.best_worth = worth + added;
            group.best = group.taken.iter().copied().chain(chosen).collect();
        }
        if most > added {
            group.open = group.open.max((worth + most).min(above));
        }
        for next in place..group.shared.len() {
            let above = above.min(worth + group.rest[next] + most);
            if above <= group.best_worth {
                return;
            }
            let item = group.shared[next];
            if self.take(paths, item) {
                group.taken.push(item);
                self.descend(paths, group, next + 1, worth + self.items[item].worth, above);
                group.taken.pop();
                up(paths, &self.items[item]);
            }
        }
    }

    /// The best of one ToR's own items, and what nothing can exceed.
    fn own_best(&mut self, paths: &mut Paths<'_>, order: &[usize]) -> (Vec<usize>, u128) {
        if let [item] = order {
            let fits = self.take(paths, *item);
            if fits {
                up(paths, &self.items[*item]);
            }
            return if fits { (vec![*item], self.items[*item].worth) } else { (Vec::new(), 0) };
        }
        let mut rest = vec![0; order.len() + 1];
        for place in (0..order.len()).rev() {
            rest[place] = rest[place + 1] + self.items[order[place]].worth;
        }
        let all = rest[0];
        let bound = if order.len() > OWN_MANY { self.relaxed(paths, order, all) } else { all };
        let (taken, best) = (Vec::new(), Vec::new());
        let mut trial = Trial { order, rest, bound, taken, best, best_worth: 0, is_cut: false };
        self.attempt(paths, &mut trial, 0, 0);
        let Trial { mut best, mut best_worth, is_cut, .. } = trial;
        if is_cut {
            best_worth += self.fill_up(paths, order, &mut best);
        }
        (best, if is_cut { bound } else { best_worth })
    }

    fn attempt(&mut self, paths: &mut Paths<'_>, trial: &mut Trial<'_>, place: usize, worth: u128) {
        if worth > trial.best_worth {
            trial.best_worth = worth;
            trial.best.clone_from(&trial.taken);
        }
        let can_win = worth + trial.rest[place] > trial.best_worth && trial.best_worth < trial.bound;
        if place == trial.order.len() || !can_win {
            return;
        }
        if self.steps >= self.steps_max {
            trial.is_cut = true;
            return;
        }
        self.steps += 1;
        let item = trial.order[place];
        if self.take(paths, item) {
            trial.taken.push(item);
            self.attempt(paths, trial, place + 1, worth + self.items[item].worth);
            trial.taken.pop();
            up(paths, &self.items[item]);
        }
        self.attempt(paths, trial, place + 1, worth);
    }

    /// Adds what fits beside a choice that was cut off, and puts all back.
    fn fill_up(&self, paths: &mut Paths<'_>, order: &[usize], best: &mut Vec<usize>) -> u128 {
        let mut added = 0;
        for item in best.iter() {
            down(paths, &self.items[*item]);
        }
        for item in order {
            if !best.contains(item) && self.take(paths, *item) {
                best.push(*item);
                added += self.items[*item].worth;
            }
        }
        for item in best.iter() {
            up(paths, &self.items[*item]);
        }
        added
    }

    /// What no choice exceeds, from each ToR alone, if parts of items may be taken. An item costs a ToR at least the ways that are lost with it
    /// when all others are out already; or else, since no way has more than `hops` links, that part of what is lost with it alone.
    fn relaxed(&self, paths: &mut Paths<'_>, order: &[usize], all: u128) -> u128 {
        let hops = u64::from(paths.tiers().tier_count()) - 1;
        let mut tors: Vec<SwitchId> =
            order.iter().flat_map(|item| self.below[*item].iter().copied()).collect();
        tors.sort_unstable();
        tors.dedup();
        let spare: Vec<u64> =
            tors.iter().map(|tor| paths.of(*tor).saturating_sub(self.need.of(*tor))).collect();
        let alone = self.costs(paths, order, &tors, Costs::Alone);
        for item in order {
            down(paths, &self.items[*item]);
        }
        let last = self.costs(paths, order, &tors, Costs::Last);
        for item in order {
            up(paths, &self.items[*item]);
        }
        let saved = alone
            .into_iter()
            .zip(last)
            .zip(spare)
            .map(|((alone, last), spare)| too_much(alone, spare * hops).max(too_much(last, spare)));
        all - saved.max().unwrap_or(0).min(all)
    }

    /// What each ToR loses with each item, with what that is worth.
    fn costs(
        &self,
        paths: &mut Paths<'_>,
        order: &[usize],
        tors: &[SwitchId],
        costs: Costs,
    ) -> Vec<Vec<(u128, u64)>> {
        let mut all = vec![Vec::new(); tors.len()];
        for item in order {
            let item = &self.items[*item];
            let before: Vec<u64> = tors.iter().map(|tor| paths.of(*tor)).collect();
            if costs == Costs::Alone {
                down(paths, item);
            } else {
                up(paths, item);
            }
            for (place, tor) in tors.iter().enumerate() {
                let cost = paths.of(*tor).abs_diff(before[place]);
                if cost > 0 {
                    all[place].push((item.worth, cost));
                }
            }
            if costs == Costs::Alone { up(paths, item) } else { down(paths, item) }
        }
        all
    }
}

/// What a ToR loses with an item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Costs {
    /// While all others are in.
    Alone,
    /// After all others are out.
    Last,
}

/// What must at least be left in, of items with a worth and a cost, if parts may be taken.
fn too_much(mut costs: Vec<(u128, u64)>, mut spare: u64) -> u128 {
    // By worth per cost, the greatest first; compared without division.
    let ratio = |(worth, cost): &(u128, u64)| (worth >> 24, *cost);
    costs.sort_by(|a, b| {
        let ((a_worth, a_cost), (b_worth, b_cost)) = (ratio(a), ratio(b));
        (b_worth.saturating_mul(a_cost.into())).cmp(&a_worth.saturating_mul(b_cost.into()))
    });
    let mut left = 0;
    for (worth, cost) in costs {
        let fits = spare.min(cost);
        spare -= fits;
        // Rounded down: what is left in must not be overstated.
        left += worth / u128::from(cost) * u128::from(cost - fits);
    }
    // The order is that of shortened numbers.
    left - (left >> 40)
}
