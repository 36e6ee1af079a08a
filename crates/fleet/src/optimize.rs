//! Exact selection of the links to take out: the set with the largest total value that leaves every ToR its
//! required paths.
//!
//! Only ToRs below the links limit the selection. Links that share no ToR at its limit are independent, so
//! the problem splits into groups. Each group is solved by branch and bound over its links, highest value
//! first. A limit on steps bounds the time; the result then contains an upper bound of the missing value.

use wiremend_fabric::tiers::{PathCounts, Tiers};
use wiremend_units::{LinkId, SwitchId};

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

/// Number of paths that every ToR must keep, by switch.
#[derive(Clone, Debug)]
pub struct RequiredPaths(Vec<u64>);

impl RequiredPaths {
    /// Requires the share `constraint` of each ToR's paths, rounded up.
    pub fn new(tiers: &Tiers, paths: &PathCounts<'_>, constraint: f64) -> Self {
        let mut required = Self(vec![0; tiers.switch_count() as usize]);
        for tor in tiers.tors() {
            required.set(*tor, paths.count(*tor), constraint);
        }
        required
    }

    /// Sets another share for one ToR with `all` paths in total.
    pub fn set(&mut self, tor: SwitchId, all: u64, constraint: f64) {
        // In floating point 100 × 0.07 is slightly more than 7; it must not round up to 8.
        self.0[tor.index()] = (all as f64 * constraint * (1.0 - 1e-12)).ceil() as u64;
    }

    /// Lowers the requirement to the existing paths, if there are fewer.
    pub fn lower_to(&mut self, tor: SwitchId, paths: u64) {
        let required = &mut self.0[tor.index()];
        *required = (*required).min(paths);
    }

    /// Sets the number of required paths of one ToR.
    pub fn reset(&mut self, tor: SwitchId, paths: u64) {
        self.0[tor.index()] = paths;
    }

    /// Returns the number of required paths of a ToR.
    pub fn get(&self, tor: SwitchId) -> u64 {
        self.0[tor.index()]
    }

    /// Returns the first of these ToRs that has too few paths.
    pub fn first_short_of_paths(&self, paths: &PathCounts<'_>, tors: &[SwitchId]) -> Option<SwitchId> {
        tors.iter().copied().find(|tor| paths.count(*tor) < self.get(*tor))
    }
}

/// The fast checker of CorrOpt: takes a link down if all ToRs below keep enough paths. Otherwise it leaves
/// the link up and returns a ToR that would have too few.
pub fn take_down_if_allowed(
    paths: &mut PathCounts<'_>,
    required: &RequiredPaths,
    link: LinkId,
) -> Result<(), SwitchId> {
    paths.take_down(link);
    let short = required.first_short_of_paths(paths, paths.changed());
    match short {
        Some(tor) => {
            paths.bring_up(link);
            Err(tor)
        }
        None => Ok(()),
    }
}

/// Selects the candidates with the largest total value such that every ToR keeps its required paths, and
/// takes them down in `paths`. For ToRs that already have too few paths, call [`RequiredPaths::lower_to`]
/// first.
pub fn select(
    paths: &mut PathCounts<'_>,
    required: &RequiredPaths,
    candidates: &[Candidate],
    steps_max: u64,
) -> Selection {
    let below: Vec<Vec<SwitchId>> =
        candidates.iter().map(|candidate| tors_below(paths, &candidate.links)).collect();
    for candidate in candidates {
        down(paths, candidate);
    }
    // With all candidates down, only these ToRs have too few paths. All others never limit the selection.
    let mut at_bound: Vec<SwitchId> = below.iter().flatten().copied().collect();
    at_bound.sort_unstable();
    at_bound.dedup();
    at_bound.retain(|tor| paths.count(*tor) < required.get(*tor));
    let mut search = Search { required, candidates, below: Vec::new(), steps: 0, steps_max };
    search.below = below
        .into_iter()
        .map(|tors| tors.into_iter().filter(|tor| at_bound.binary_search(tor).is_ok()).collect())
        .collect();
    let mut selection = Selection::default();
    let (free, mut open): (Vec<usize>, Vec<usize>) =
        (0..candidates.len()).partition(|candidate| search.below[*candidate].is_empty());
    selection.taken = free;
    selection.bound = total_value(candidates, &selection.taken);
    for candidate in &open {
        up(paths, &candidates[*candidate]);
    }
    // A candidate that does not fit alone does not fit with others.
    open.retain(|candidate| {
        let fits = search.take(paths, *candidate);
        if fits {
            up(paths, &candidates[*candidate]);
        }
        fits
    });
    for group in groups(&open, &search.below) {
        let (taken, bound) = search.best_in_group(paths, group);
        for candidate in &taken {
            down(paths, &candidates[*candidate]);
        }
        selection.taken.extend(taken);
        selection.bound += bound;
    }
    selection.taken.sort_unstable();
    selection.value = total_value(candidates, &selection.taken);
    selection.steps = search.steps;
    selection
}

/// Returns the ToRs with paths over one of these links.
pub(crate) fn tors_below(paths: &PathCounts<'_>, links: &[LinkId]) -> Vec<SwitchId> {
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

fn down(paths: &mut PathCounts<'_>, candidate: &Candidate) {
    for link in &candidate.links {
        paths.take_down(*link);
    }
}

fn up(paths: &mut PathCounts<'_>, candidate: &Candidate) {
    for link in &candidate.links {
        paths.bring_up(*link);
    }
}

fn total_value(candidates: &[Candidate], taken: &[usize]) -> u128 {
    taken.iter().map(|candidate| candidates[*candidate].value).sum()
}

/// Groups candidates that share ToRs at their limit, directly or through others.
fn groups(open: &[usize], below: &[Vec<SwitchId>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Vec<usize>, Vec<SwitchId>)> = Vec::new();
    for &candidate in open {
        let (mut members, mut tors) = (vec![candidate], below[candidate].clone());
        groups.retain(|(others, other_tors)| {
            let apart = other_tors.iter().all(|tor| tors.binary_search(tor).is_err());
            if !apart {
                members.extend(others);
                tors.extend(other_tors);
                tors.sort_unstable();
                tors.dedup();
            }
            apart
        });
        groups.push((members, tors));
    }
    groups.into_iter().map(|(members, _)| members).collect()
}

/// The search through all groups.
struct Search<'a> {
    required: &'a RequiredPaths,
    candidates: &'a [Candidate],
    /// ToRs at their limit below each candidate.
    below: Vec<Vec<SwitchId>>,
    steps: u64,
    steps_max: u64,
}

/// A group of candidates. With the shared candidates fixed, ToRs select their own ones independently.
struct Group {
    /// Candidates above several limited ToRs, highest value first.
    shared: Vec<usize>,
    /// Total value of the shared candidates from each position on.
    rest: Vec<u128>,
    /// Candidates above a single limited ToR, by ToR, highest value first.
    own: Vec<Vec<usize>>,
    taken: Vec<usize>,
    best: Vec<usize>,
    best_value: u128,
    /// Largest bound of an unexplored branch.
    open: u128,
}

/// Search over the own candidates of one ToR.
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
    /// Takes a candidate down if all its ToRs keep enough paths.
    fn take(&self, paths: &mut PathCounts<'_>, candidate: usize) -> bool {
        down(paths, &self.candidates[candidate]);
        let fits = self.required.first_short_of_paths(paths, &self.below[candidate]).is_none();
        if !fits {
            up(paths, &self.candidates[candidate]);
        }
        fits
    }

    /// Returns the best selection of a group and an upper bound.
    fn best_in_group(&mut self, paths: &mut PathCounts<'_>, mut order: Vec<usize>) -> (Vec<usize>, u128) {
        order.sort_by_key(|candidate| {
            (
                std::cmp::Reverse(self.candidates[*candidate].value),
                self.candidates[*candidate].links[0],
                *candidate,
            )
        });
        let all = total_value(self.candidates, &order);
        let bound = if order.len() > BOUND_FIRST_MIN { self.relaxed(paths, &order, all) } else { all };
        let mut group = self.split_group(&order);
        self.descend(paths, &mut group, 0, 0, bound);
        let Group { mut best, mut best_value, open, .. } = group;
        if open > best_value {
            best_value += self.fill_up(paths, &order, &mut best);
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
    fn descend(
        &mut self,
        paths: &mut PathCounts<'_>,
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
            let (taken, bound) = self.own_best(paths, candidates);
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
            if self.take(paths, candidate) {
                group.taken.push(candidate);
                self.descend(paths, group, next + 1, value + self.candidates[candidate].value, above);
                group.taken.pop();
                up(paths, &self.candidates[candidate]);
            }
        }
    }

    /// Returns the best selection among one ToR's own candidates and an upper bound.
    fn own_best(&mut self, paths: &mut PathCounts<'_>, order: &[usize]) -> (Vec<usize>, u128) {
        if let [candidate] = order {
            let fits = self.take(paths, *candidate);
            if fits {
                up(paths, &self.candidates[*candidate]);
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
        let bound = if order.len() > BOUND_FIRST_MIN { self.relaxed(paths, order, all) } else { all };
        let (taken, best) = (Vec::new(), Vec::new());
        let mut search = OwnSearch { order, rest, bound, taken, best, best_value: 0, is_cut: false };
        self.search_own(paths, &mut search, 0, 0);
        let OwnSearch { mut best, mut best_value, is_cut, .. } = search;
        if is_cut {
            best_value += self.fill_up(paths, order, &mut best);
        }
        (best, if is_cut { bound } else { best_value })
    }

    fn search_own(
        &mut self,
        paths: &mut PathCounts<'_>,
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
        self.steps += 1;
        let candidate = search.order[place];
        if self.take(paths, candidate) {
            search.taken.push(candidate);
            self.search_own(paths, search, place + 1, value + self.candidates[candidate].value);
            search.taken.pop();
            up(paths, &self.candidates[candidate]);
        }
        self.search_own(paths, search, place + 1, value);
    }

    /// Adds all candidates that still fit to a selection whose search was cut off.
    fn fill_up(&self, paths: &mut PathCounts<'_>, order: &[usize], best: &mut Vec<usize>) -> u128 {
        let mut added = 0;
        for candidate in best.iter() {
            down(paths, &self.candidates[*candidate]);
        }
        for candidate in order {
            if !best.contains(candidate) && self.take(paths, *candidate) {
                best.push(*candidate);
                added += self.candidates[*candidate].value;
            }
        }
        for candidate in best.iter() {
            up(paths, &self.candidates[*candidate]);
        }
        added
    }

    /// Returns an upper bound from the fractional relaxation for each single ToR. A candidate costs a ToR
    /// at least the paths that it loses when all others are already down. Alternatively, since no path has
    /// more than `hops` links, it costs at least that fraction of the paths lost with it alone.
    fn relaxed(&self, paths: &mut PathCounts<'_>, order: &[usize], all: u128) -> u128 {
        let hops = u64::from(paths.tiers().tier_count()) - 1;
        let mut tors: Vec<SwitchId> =
            order.iter().flat_map(|candidate| self.below[*candidate].iter().copied()).collect();
        tors.sort_unstable();
        tors.dedup();
        let spare: Vec<u64> =
            tors.iter().map(|tor| paths.count(*tor).saturating_sub(self.required.get(*tor))).collect();
        let alone = self.costs(paths, order, &tors, Costs::Alone);
        for candidate in order {
            down(paths, &self.candidates[*candidate]);
        }
        let last = self.costs(paths, order, &tors, Costs::Last);
        for candidate in order {
            up(paths, &self.candidates[*candidate]);
        }
        let saved =
            alone.into_iter().zip(last).zip(spare).map(|((alone, last), spare)| {
                value_left_in(alone, spare * hops).max(value_left_in(last, spare))
            });
        all - saved.max().unwrap_or(0).min(all)
    }

    /// Returns for each ToR the value and the cost in paths of each candidate.
    fn costs(
        &self,
        paths: &mut PathCounts<'_>,
        order: &[usize],
        tors: &[SwitchId],
        costs: Costs,
    ) -> Vec<Vec<(u128, u64)>> {
        let mut all = vec![Vec::new(); tors.len()];
        for candidate in order {
            let candidate = &self.candidates[*candidate];
            let before: Vec<u64> = tors.iter().map(|tor| paths.count(*tor)).collect();
            if costs == Costs::Alone {
                down(paths, candidate);
            } else {
                up(paths, candidate);
            }
            for (place, tor) in tors.iter().enumerate() {
                let cost = paths.count(*tor).abs_diff(before[place]);
                if cost > 0 {
                    all[place].push((candidate.value, cost));
                }
            }
            if costs == Costs::Alone { up(paths, candidate) } else { down(paths, candidate) }
        }
        all
    }
}

/// How the cost of a candidate is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Costs {
    /// With all other candidates up.
    Alone,
    /// With all other candidates down.
    Last,
}

/// Returns a lower bound of the value that must stay in service, by the fractional knapsack.
fn value_left_in(mut costs: Vec<(u128, u64)>, mut spare: u64) -> u128 {
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
