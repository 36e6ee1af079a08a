//! Exact selection of the links to take out: the set with the largest total value that leaves every ToR, pod
//! and domain its required capacity.
//!
//! Only scopes below the links limit the selection. Links that share no scope at its limit are independent,
//! so the problem splits into groups. Each group is solved by branch and bound over its links, highest value
//! first. A limit on steps bounds the time; the result then contains an upper bound of the missing value.

use std::collections::BTreeMap;

use wiremend_fabric::tiers::{Scope, ScopeId};
use wiremend_units::LinkId;

use crate::capacity::{Capacity, Relaxation};
use crate::required::RequiredCapacity;

/// A candidate for taking out: one link, or several links of one cable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The links.
    pub links: Vec<LinkId>,
    /// Value of taking them out.
    pub value: u128,
}

/// Result of a selection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selection {
    /// Indices of the selected candidates, ascending.
    pub taken: Vec<usize>,
    /// Total value of the selected candidates.
    pub value: u128,
    /// Upper bound of the value of any selection; equal to `value` unless the step limit was reached.
    pub bound: u128,
    /// Number of search steps.
    pub steps: u64,
}

/// Step limit. Random failures stay far below it, and it takes a fraction of a second.
pub const STEPS_MAX: u64 = 1 << 18;

/// Number of changed scopes that count as another step: a link above thousands of ToRs costs more than one
/// of a pod.
const SCOPES_PER_STEP: usize = 64;

/// Returns the additional steps of the last change.
fn work<C: Capacity + ?Sized>(capacity: &C) -> u64 {
    (capacity.changed().len() / SCOPES_PER_STEP) as u64
}

/// The fast checker of CorrOpt: takes a link down if all scopes below keep enough capacity. Otherwise it
/// leaves the link up and returns a scope that would have too little.
pub fn take_down_if_allowed<C: Capacity + ?Sized>(
    capacity: &mut C,
    required: &RequiredCapacity,
    link: LinkId,
) -> Result<(), ScopeId> {
    capacity.take_down(link);
    let short = required.first_short_after_change(capacity);
    match short {
        Some(scope) => {
            capacity.bring_up(link);
            Err(scope)
        }
        None => Ok(()),
    }
}

/// Selects the candidates with the largest total value such that every scope keeps its required capacity,
/// and takes them down in `capacity`. For scopes that already have too little, call
/// [`RequiredCapacity::lower_to`] first.
pub fn select<C: Capacity + ?Sized>(
    capacity: &mut C,
    required: &RequiredCapacity,
    candidates: &[Candidate],
    steps_max: u64,
) -> Selection {
    let below: Vec<Vec<ScopeId>> =
        candidates.iter().map(|candidate| capacity.below(&candidate.links)).collect();
    for candidate in candidates {
        down(capacity, candidate);
    }
    // With all candidates down, only these scopes have too little capacity. All others never limit the
    // selection.
    let mut at_bound: Vec<ScopeId> = below.iter().flatten().copied().collect();
    at_bound.sort_unstable();
    at_bound.dedup();
    at_bound.retain(|scope| capacity.amount(*scope) < required.get(*scope));
    let below: Vec<Vec<ScopeId>> = below
        .into_iter()
        .map(|scopes| scopes.into_iter().filter(|scope| at_bound.binary_search(scope).is_ok()).collect())
        .collect();
    let mut selection = Selection::default();
    let (free, mut open): (Vec<usize>, Vec<usize>) =
        (0..candidates.len()).partition(|candidate| below[*candidate].is_empty());
    selection.taken = free;
    selection.bound = total_value(candidates, &selection.taken);
    for candidate in &open {
        up(capacity, &candidates[*candidate]);
    }
    let mut search = Search { required, candidates, below, steps: 0, steps_max };
    // A candidate that does not fit alone does not fit with others.
    open.retain(|candidate| {
        let fits = search.take(capacity, *candidate);
        if fits {
            up(capacity, &candidates[*candidate]);
        }
        fits
    });
    for component in groups(&open, &search.below) {
        let (taken, bound) = search.best_in_component(capacity, &component);
        selection.taken.extend(taken);
        selection.bound += bound;
    }
    selection.taken.sort_unstable();
    selection.value = total_value(candidates, &selection.taken);
    selection.steps = search.steps;
    selection
}

fn down<C: Capacity + ?Sized>(capacity: &mut C, candidate: &Candidate) {
    for link in &candidate.links {
        capacity.take_down(*link);
    }
}

fn up<C: Capacity + ?Sized>(capacity: &mut C, candidate: &Candidate) {
    for link in &candidate.links {
        capacity.bring_up(*link);
    }
}

fn total_value(candidates: &[Candidate], taken: &[usize]) -> u128 {
    taken.iter().map(|candidate| candidates[*candidate].value).sum()
}

/// Groups candidates that share scopes at their limit, directly or through others.
fn groups(open: &[usize], below: &[Vec<ScopeId>]) -> Vec<Vec<usize>> {
    let mut heads: Vec<usize> = (0..open.len()).collect();
    let head = |heads: &mut Vec<usize>, mut at: usize| {
        while heads[at] != at {
            heads[at] = heads[heads[at]];
            at = heads[at];
        }
        at
    };
    let mut first_at: BTreeMap<ScopeId, usize> = BTreeMap::new();
    for (place, candidate) in open.iter().enumerate() {
        for scope in &below[*candidate] {
            let first = *first_at.entry(*scope).or_insert(place);
            let (a, b) = (head(&mut heads, first), head(&mut heads, place));
            // The last member is the head.
            heads[a.min(b)] = a.max(b);
        }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, candidate) in open.iter().enumerate() {
        groups.entry(head(&mut heads, place)).or_default().push(*candidate);
    }
    groups.into_values().collect()
}

/// The search through all groups.
struct Search<'a> {
    required: &'a RequiredCapacity,
    candidates: &'a [Candidate],
    /// Scopes at their limit below each candidate.
    below: Vec<Vec<ScopeId>>,
    steps: u64,
    steps_max: u64,
}

/// A group of candidates. With the shared candidates fixed, scopes select their own ones independently.
struct Group {
    /// Candidates above several limited scopes, highest value first.
    shared: Vec<usize>,
    /// Total value of the shared candidates from each position on.
    rest: Vec<u128>,
    /// Candidates above a single limited scope, by scope, highest value first.
    own: Vec<Vec<usize>>,
    taken: Vec<usize>,
    best: Vec<usize>,
    best_value: u128,
    /// Largest bound of an unexplored branch.
    open: u128,
}

/// Search over the own candidates of one scope.
struct OwnSearch<'a> {
    order: &'a [usize],
    rest: Vec<u128>,
    bound: u128,
    taken: Vec<usize>,
    best: Vec<usize>,
    best_value: u128,
    is_cut: bool,
}

/// Number of candidates from which computing a bound first saves time.
const BOUND_FIRST_MIN: usize = 6;

impl Search<'_> {
    /// Takes a candidate down if all its scopes keep enough capacity.
    fn take<C: Capacity + ?Sized>(&self, capacity: &mut C, candidate: usize) -> bool {
        down(capacity, &self.candidates[candidate]);
        let fits = self.required.first_short(capacity, &self.below[candidate]).is_none();
        if !fits {
            up(capacity, &self.candidates[candidate]);
        }
        fits
    }

    /// Takes down the best selection of candidates that share scopes; returns it and an upper bound.
    ///
    /// A pod connects all of its candidates, but seldom limits what its ToRs leave. So ToRs alone are tried
    /// first; their best selection is the best one if it leaves pods and domains enough. Those that it does
    /// not leave enough limit the next attempt.
    fn best_in_component<C: Capacity + ?Sized>(
        &mut self,
        capacity: &mut C,
        component: &[usize],
    ) -> (Vec<usize>, u128) {
        let all: Vec<Vec<ScopeId>> = component.iter().map(|member| self.below[*member].clone()).collect();
        let mut wide: Vec<ScopeId> = all.iter().flatten().copied().collect();
        wide.sort_unstable();
        wide.dedup();
        wide.retain(|scope| !matches!(capacity.scope(*scope), Scope::Tor(_)));
        let mut bound = u128::MAX;
        loop {
            for (member, scopes) in component.iter().zip(&all) {
                let limits = scopes.iter().copied().filter(|scope| wide.binary_search(scope).is_err());
                self.below[*member] = limits.collect();
            }
            let (mut taken, limited): (Vec<usize>, Vec<usize>) =
                component.iter().partition(|member| self.below[**member].is_empty());
            let mut attempt_bound = total_value(self.candidates, &taken);
            for group in groups(&limited, &self.below) {
                let (chosen, bound) = self.best_in_group(capacity, group);
                taken.extend(chosen);
                attempt_bound += bound;
            }
            bound = bound.min(attempt_bound);
            for candidate in &taken {
                down(capacity, &self.candidates[*candidate]);
            }
            let before = wide.len();
            wide.retain(|scope| capacity.amount(*scope) >= self.required.get(*scope));
            if wide.len() == before {
                return (taken, bound);
            }
            for candidate in &taken {
                up(capacity, &self.candidates[*candidate]);
            }
        }
    }

    /// Returns the best selection of a group and an upper bound.
    fn best_in_group<C: Capacity + ?Sized>(
        &mut self,
        capacity: &mut C,
        mut order: Vec<usize>,
    ) -> (Vec<usize>, u128) {
        order.sort_by_key(|candidate| {
            (
                std::cmp::Reverse(self.candidates[*candidate].value),
                self.candidates[*candidate].links[0],
                *candidate,
            )
        });
        let all = total_value(self.candidates, &order);
        let bound = if order.len() > BOUND_FIRST_MIN { self.relaxed(capacity, &order, all) } else { all };
        let mut group = self.split_group(&order);
        self.descend(capacity, &mut group, 0, 0, bound);
        let Group { mut best, mut best_value, open, .. } = group;
        if open > best_value {
            best_value += self.fill_up(capacity, &order, &mut best);
        }
        (best, open.min(bound).max(best_value))
    }

    fn split_group(&self, order: &[usize]) -> Group {
        let (shared, single): (Vec<usize>, Vec<usize>) =
            order.iter().partition(|candidate| self.below[**candidate].len() > 1);
        let mut rest = vec![0; shared.len() + 1];
        for place in (0..shared.len()).rev() {
            rest[place] = rest[place + 1] + self.candidates[shared[place]].value;
        }
        let mut own: Vec<Vec<usize>> = Vec::new();
        for candidate in single {
            match own.iter_mut().find(|candidates| self.below[candidates[0]] == self.below[candidate]) {
                Some(candidates) => candidates.push(candidate),
                None => own.push(vec![candidate]),
            }
        }
        Group { shared, rest, own, taken: Vec::new(), best: Vec::new(), best_value: 0, open: 0 }
    }

    /// Explores the selections that contain the shared candidates taken so far: first without further
    /// shared candidates, then with each remaining one as the next. `above` is an upper bound of the value
    /// from here.
    fn descend<C: Capacity + ?Sized>(
        &mut self,
        capacity: &mut C,
        group: &mut Group,
        place: usize,
        value: u128,
        above: u128,
    ) {
        if above <= group.best_value {
            return;
        }
        if self.steps >= self.steps_max {
            group.open = group.open.max(above);
            return;
        }
        self.steps += 1;
        let (mut added, mut most, mut chosen) = (0, 0, Vec::new());
        for candidates in &group.own {
            let (taken, bound) = self.own_best(capacity, candidates);
            added += total_value(self.candidates, &taken);
            most += bound;
            chosen.extend(taken);
        }
        if value + added > group.best_value {
            group.best_value = value + added;
            group.best = group.taken.iter().copied().chain(chosen).collect();
        }
        if most > added {
            group.open = group.open.max((value + most).min(above));
        }
        for next in place..group.shared.len() {
            let above = above.min(value + group.rest[next] + most);
            if above <= group.best_value {
                return;
            }
            let candidate = group.shared[next];
            let fits = self.take(capacity, candidate);
            self.steps += work(capacity);
            if fits {
                group.taken.push(candidate);
                self.descend(capacity, group, next + 1, value + self.candidates[candidate].value, above);
                group.taken.pop();
                up(capacity, &self.candidates[candidate]);
            }
        }
    }

    /// Returns the best selection among one scope's own candidates and an upper bound.
    fn own_best<C: Capacity + ?Sized>(&mut self, capacity: &mut C, order: &[usize]) -> (Vec<usize>, u128) {
        if let [candidate] = order {
            let fits = self.take(capacity, *candidate);
            if fits {
                up(capacity, &self.candidates[*candidate]);
            }
            return if fits {
                (vec![*candidate], self.candidates[*candidate].value)
            } else {
                (Vec::new(), 0)
            };
        }
        let mut rest = vec![0; order.len() + 1];
        for place in (0..order.len()).rev() {
            rest[place] = rest[place + 1] + self.candidates[order[place]].value;
        }
        let all = rest[0];
        let bound = if order.len() > BOUND_FIRST_MIN { self.relaxed(capacity, order, all) } else { all };
        let (taken, best) = (Vec::new(), Vec::new());
        let mut search = OwnSearch { order, rest, bound, taken, best, best_value: 0, is_cut: false };
        self.search_own(capacity, &mut search, 0, 0);
        let OwnSearch { mut best, mut best_value, is_cut, .. } = search;
        if is_cut {
            best_value += self.fill_up(capacity, order, &mut best);
        }
        (best, if is_cut { bound } else { best_value })
    }

    fn search_own<C: Capacity + ?Sized>(
        &mut self,
        capacity: &mut C,
        search: &mut OwnSearch<'_>,
        place: usize,
        value: u128,
    ) {
        if value > search.best_value {
            search.best_value = value;
            search.best.clone_from(&search.taken);
        }
        let can_win = value + search.rest[place] > search.best_value && search.best_value < search.bound;
        if place == search.order.len() || !can_win {
            return;
        }
        if self.steps >= self.steps_max {
            search.is_cut = true;
            return;
        }
        let candidate = search.order[place];
        let fits = self.take(capacity, candidate);
        self.steps += 1 + work(capacity);
        if fits {
            search.taken.push(candidate);
            self.search_own(capacity, search, place + 1, value + self.candidates[candidate].value);
            search.taken.pop();
            up(capacity, &self.candidates[candidate]);
        }
        self.search_own(capacity, search, place + 1, value);
    }

    /// Adds all candidates that still fit to a selection whose search was cut off.
    fn fill_up<C: Capacity + ?Sized>(
        &self,
        capacity: &mut C,
        order: &[usize],
        best: &mut Vec<usize>,
    ) -> u128 {
        let mut added = 0;
        for candidate in best.iter() {
            down(capacity, &self.candidates[*candidate]);
        }
        for candidate in order {
            if !best.contains(candidate) && self.take(capacity, *candidate) {
                best.push(*candidate);
                added += self.candidates[*candidate].value;
            }
        }
        for candidate in best.iter() {
            up(capacity, &self.candidates[*candidate]);
        }
        added
    }

    /// Returns an upper bound from the fractional relaxation of each necessary condition.
    fn relaxed<C: Capacity + ?Sized>(&self, capacity: &mut C, order: &[usize], all: u128) -> u128 {
        let mut scopes: Vec<ScopeId> =
            order.iter().flat_map(|candidate| self.below[*candidate].iter().copied()).collect();
        scopes.sort_unstable();
        scopes.dedup();
        let links: Vec<&[LinkId]> =
            order.iter().map(|candidate| &self.candidates[*candidate].links[..]).collect();
        let relaxations = capacity.relaxations(&links, &scopes, self.required);
        let saved = relaxations.into_iter().map(|Relaxation { spare, costs }| {
            let value = |(place, cost): (usize, u64)| (self.candidates[order[place]].value, cost);
            value_left_in(costs.into_iter().map(value).collect(), spare)
        });
        all - saved.max().unwrap_or(0).min(all)
    }
}

/// Returns a lower bound of the value that must stay in service, by the fractional knapsack.
fn value_left_in(mut costs: Vec<(u128, u64)>, mut spare: u64) -> u128 {
    let Some((_, first)) = costs.first().copied() else { return 0 };
    if costs.iter().all(|(_, cost)| *cost == first) {
        // Candidates of equal cost: as many as fit, those with the highest value, are the optimum.
        costs.sort_unstable_by_key(|(value, _)| std::cmp::Reverse(*value));
        let fits = usize::try_from(spare / first).unwrap_or(usize::MAX);
        return costs.iter().skip(fits).map(|(value, _)| value).sum();
    }
    // By value per cost, highest first, compared without division.
    let ratio = |(value, cost): &(u128, u64)| (value >> 24, *cost);
    costs.sort_by(|a, b| {
        let ((a_worth, a_cost), (b_worth, b_cost)) = (ratio(a), ratio(b));
        (b_worth.saturating_mul(a_cost.into())).cmp(&a_worth.saturating_mul(b_cost.into()))
    });
    let mut left = 0;
    for (value, cost) in costs {
        let fits = spare.min(cost);
        spare -= fits;
        // Rounded down, because the bound must not be too large.
        left += value / u128::from(cost) * u128::from(cost - fits);
    }
    // Margin for the shortened numbers in the comparison.
    left - (left >> 40)
}
