//! Bandwidths, selections and plans of weighted fabrics equal those of a program that tries everything.

use std::collections::BTreeSet;

use proptest::prelude::*;
use wiremend_fabric::tiers::{Bandwidths, PathCounts, Scope, ScopeAmounts as _, ScopeId, Tiers, parse_csv};
use wiremend_fleet::optimize::STEPS_MAX;
use wiremend_fleet::plan::{CorruptingLink, DrainPlanner, DrainRefusal, FabricState};
use wiremend_fleet::{Capacity, CapacityCount};
use wiremend_units::LinkId;

use crate::small::weighted::{Weighted, any_weighted, senders};

/// A state in numbers: links out of service, corrupting links with their loss, constraints.
#[derive(Clone, Debug)]
struct Question {
    weighted: Weighted,
    out: Vec<u16>,
    corrupting: Vec<(u16, u32)>,
    constraint: f64,
    of_tor: Option<(u16, f64)>,
    of_pod: Option<f64>,
    count: CapacityCount,
}

fn any_question() -> impl Strategy<Value = Question> {
    let share = || prop_oneof![Just(0.5), Just(0.75), 0.05..1.0];
    let corrupting = proptest::collection::vec((any::<u16>(), 1_u32..999), 0..10);
    let own = (proptest::option::of((any::<u16>(), share())), proptest::option::of(share()));
    let count = prop_oneof![1 => Just(CapacityCount::Paths), 3 => Just(CapacityCount::Bandwidth)];
    let out = proptest::collection::vec(any::<u16>(), 0..4);
    (any_weighted(), out, corrupting, share(), own, count).prop_map(
        |(weighted, out, corrupting, constraint, (of_tor, of_pod), count)| Question {
            weighted,
            out,
            corrupting,
            constraint,
            of_tor,
            of_pod,
            count,
        },
    )
}

impl Question {
    fn state(&self, tiers: &Tiers) -> FabricState {
        let link = |link: u16| LinkId(u32::from(link) % tiers.link_count());
        let mut state = FabricState::default();
        for out in self.out.iter().map(|out| link(*out)) {
            if !state.down.contains(&out) {
                state.down.push(out);
            }
        }
        for (number, loss) in &self.corrupting {
            let is_known = |other: &CorruptingLink| other.link == link(*number);
            if !state.down.contains(&link(*number)) && !state.corrupting.iter().any(is_known) {
                // Losses are multiples of 2^-10, so sums are exact.
                state
                    .corrupting
                    .push(CorruptingLink { link: link(*number), loss: f64::from(*loss) / 1024.0 });
            }
        }
        let tors = tiers.tors();
        let of_tor = self.of_tor.map(|(tor, share)| (tors[tor as usize % tors.len()], share));
        state.constraints.tors = of_tor.into_iter().collect();
        state.constraints.pods =
            self.of_pod.map(|share| (tiers.pod(tors[0]).unwrap(), share)).into_iter().collect();
        state
    }

    /// Returns the share of a scope by the rules in the documentation.
    fn share(&self, tiers: &Tiers, state: &FabricState, scope: Scope) -> f64 {
        let of_pod = |pod: u32| state.constraints.pods.get(&pod).copied();
        match scope {
            Scope::Domain(_) => self.constraint,
            Scope::Pod(pod) => of_pod(pod).unwrap_or(self.constraint),
            Scope::Tor(tor) => {
                let own = state.constraints.tors.get(&tor).copied();
                let pod = tiers.pod(tor).unwrap();
                // The only ToR of a pod is the pod.
                let is_alone = senders(tiers, Scope::Pod(pod)).len() == 1;
                let own = if is_alone { own.map(|own| own.max(of_pod(pod).unwrap_or(0.0))) } else { own };
                own.or(of_pod(pod)).unwrap_or(self.constraint)
            }
        }
    }
}

/// All scopes by their definition. A pod with one ToR counts only if it has a constraint of its own.
fn all_scopes(tiers: &Tiers, state: &FabricState, count: CapacityCount) -> Vec<Scope> {
    if count == CapacityCount::Paths {
        return tiers.tors().iter().map(|tor| Scope::Tor(*tor)).collect();
    }
    let counts = |pod: &u32| match senders(tiers, Scope::Pod(*pod)).len() {
        0 => false,
        1 => state.constraints.pods.contains_key(pod),
        _ => true,
    };
    let pods = (0..tiers.pod_count()).filter(counts).map(Scope::Pod);
    let has_pods = |domain: &Scope| {
        let pods: BTreeSet<_> = senders(tiers, *domain).into_iter().map(|tor| tiers.pod(tor)).collect();
        pods.len() > 1
    };
    let domains = tiers.tors().iter().map(|tor| Scope::Domain(*tor)).filter(has_pods);
    tiers.tors().iter().map(|tor| Scope::Tor(*tor)).chain(pods).chain(domains).collect()
}

/// What every scope must keep: its share, or what it has if that is less.
struct Limits<'a> {
    question: &'a Question,
    tiers: &'a Tiers,
    by_scope: Vec<(Scope, u64)>,
}

impl<'a> Limits<'a> {
    fn new(question: &'a Question, tiers: &'a Tiers, state: &FabricState, is_up: &[bool]) -> Self {
        let all = vec![true; is_up.len()];
        let limit = |scope: Scope| {
            let total = question.weighted.amount(tiers, question.count, &all, scope) as f64;
            let wanted = (total * question.share(tiers, state, scope) * (1.0 - 1e-12)).ceil() as u64;
            (scope, wanted.min(question.weighted.amount(tiers, question.count, is_up, scope)))
        };
        Self {
            question,
            tiers,
            by_scope: all_scopes(tiers, state, question.count).into_iter().map(limit).collect(),
        }
    }

    fn hold(&self, is_up: &[bool]) -> bool {
        self.by_scope.iter().all(|(scope, limit)| {
            self.question.weighted.amount(self.tiers, self.question.count, is_up, *scope) >= *limit
        })
    }
}

/// A cable with corrupting links: its links in service, and the sum of their losses in units of 2^-10.
struct Cable {
    number: usize,
    links: Vec<usize>,
    loss: u64,
}

/// Returns a loss or a sum of losses in units of 2^-10.
fn units(loss: f64) -> u64 {
    (loss * 1024.0).round() as u64
}

fn corrupting_cables(weighted: &Weighted, state: &FabricState, is_up: &[bool]) -> Vec<Cable> {
    let mut cables: Vec<Cable> = Vec::new();
    for CorruptingLink { link, loss } in state.corrupting.iter().filter(|one| is_up[one.link.index()]) {
        let number = weighted.cables[link.index()];
        if let Some(known) = cables.iter_mut().find(|known| known.number == number) {
            known.loss += units(*loss);
            continue;
        }
        let links = (0..is_up.len()).filter(|link| is_up[*link] && weighted.cables[*link] == number);
        cables.push(Cable { number, links: links.collect(), loss: units(*loss) });
    }
    cables
}

/// Returns the largest sum of losses over all allowed subsets.
fn best(cables: &[Cable], is_up: &[bool], limits: &Limits<'_>) -> u64 {
    let mut best = 0;
    for subset in 0..1_u32 << cables.len() {
        let is_chosen = |(place, _): &(usize, &Cable)| subset >> place & 1 == 1;
        let chosen: Vec<&Cable> =
            cables.iter().enumerate().filter(is_chosen).map(|(_, cable)| cable).collect();
        let value = chosen.iter().map(|cable| cable.loss).sum();
        if value > best {
            let mut up = is_up.to_vec();
            for link in chosen.iter().flat_map(|cable| &cable.links) {
                up[*link] = false;
            }
            if limits.hold(&up) {
                best = value;
            }
        }
    }
    best
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// Differences of a sum and solved flows equal the smallest cut, whatever went down and came back.
    #[test]
    fn bandwidths_are_the_smallest_cuts(weighted in any_weighted(), changes in proptest::collection::vec((any::<u16>(), any::<bool>()), 1..12)) {
        let tiers = parse_csv(&weighted.text).unwrap();
        let mut bandwidths = Bandwidths::new(&tiers);
        let mut is_up = vec![true; tiers.link_count() as usize];
        let scopes = bandwidths.scopes();
        for (link, up) in changes {
            let before: Vec<u64> = scopes.iter().map(|scope| bandwidths.amount(*scope)).collect();
            let link = LinkId(u32::from(link) % tiers.link_count());
            is_up[link.index()] = up;
            if up { bandwidths.bring_up(link) } else { bandwidths.take_down(link) }
            for (scope, before) in scopes.iter().zip(before) {
                let changed = bandwidths.changed().contains(scope);
                let bps = bandwidths.amount(*scope);
                prop_assert_eq!(bps, weighted.bps(&tiers, &is_up, bandwidths.scope(*scope)));
                prop_assert!(changed || bps == before);
                let cut = bandwidths.min_cut(*scope);
                prop_assert_eq!(cut.capacity_bps, bps);
                let links: u64 = tiers.links().map(|link| bandwidths.rate_in_cut(&cut, link)).sum();
                prop_assert_eq!(links, bps, "every flow passes the links of the cut");
                prop_assert!(bandwidths.first_cut(*scope).capacity_bps >= bps);
            }
        }
    }

    /// A path over a LAG below its minimum does not count.
    #[test]
    fn paths_over_a_lag_below_its_minimum_do_not_count(weighted in any_weighted(), down in proptest::collection::vec(any::<u16>(), 0..8)) {
        let tiers = parse_csv(&weighted.text).unwrap();
        let mut paths = PathCounts::new(&tiers);
        let mut is_up = vec![true; tiers.link_count() as usize];
        for link in down {
            let link = LinkId(u32::from(link) % tiers.link_count());
            paths.take_down(link);
            is_up[link.index()] = false;
        }
        let carries = weighted.carrying(&is_up);
        for tor in tiers.tors() {
            prop_assert_eq!(paths.count(*tor), crate::small::path_count(&tiers, &carries, *tor));
        }
    }

    /// The advice is the best of all subsets. Neither it nor a later step leaves a ToR, a pod or a domain
    /// below its constraint, and each later step is the best of all subsets again.
    #[test]
    fn plans_are_the_best_of_all_subsets(question in any_question()) {
        let Question { weighted, .. } = &question;
        let tiers = parse_csv(&weighted.text).unwrap();
        let state = question.state(&tiers);
        let mut is_up = vec![true; tiers.link_count() as usize];
        state.out().for_each(|link| is_up[link.index()] = false);
        let mut planner = DrainPlanner::new(&tiers, &state, question.constraint, question.count);
        let advice = planner.advise(STEPS_MAX);
        let steps = planner.order(&advice, STEPS_MAX);
        prop_assert!(advice.gap <= 0.0);
        let mut drained = BTreeSet::new();
        let first = [(Vec::new(), advice.drain.clone())];
        let all = first.into_iter().chain(steps.iter().map(|step| (step.returned.clone(), step.drain.clone())));
        for (returned, drain) in all {
            for link in returned {
                is_up[link.index()] = true;
            }
            // A link that was drained is repaired when it returns.
            let open = state.corrupting.iter().filter(|one| !drained.contains(&one.link));
            let now = FabricState { corrupting: open.copied().collect(), ..state.clone() };
            let limits = Limits::new(&question, &tiers, &state, &is_up);
            let cables = corrupting_cables(weighted, &now, &is_up);
            let best = best(&cables, &is_up, &limits);
            let value: u64 = drain.iter().map(|group| units(group.loss)).sum();
            for link in drain.iter().flat_map(|group| &group.links) {
                prop_assert!(is_up[link.index()]);
                is_up[link.index()] = false;
                drained.insert(*link);
            }
            prop_assert!(limits.hold(&is_up), "{drain:?}");
            prop_assert_eq!(value, best);
        }
    }

    /// A link is refused exactly if a scope would have too little, and the reason is true.
    #[test]
    fn refusals_name_a_scope_with_too_little(question in any_question(), link in any::<u16>()) {
        let Question { weighted, .. } = &question;
        let tiers = parse_csv(&weighted.text).unwrap();
        let state = question.state(&tiers);
        let link = LinkId(u32::from(link) % tiers.link_count());
        let mut is_up = vec![true; tiers.link_count() as usize];
        state.out().for_each(|link| is_up[link.index()] = false);
        if !is_up[link.index()] {
            return Ok(());
        }
        let limits = Limits::new(&question, &tiers, &state, &is_up);
        let mut planner = DrainPlanner::new(&tiers, &state, question.constraint, question.count);
        let cable = weighted.cables[link.index()];
        (0..is_up.len()).filter(|other| weighted.cables[*other] == cable).for_each(|link| is_up[link] = false);
        match planner.may_drain(link) {
            Ok(_) => prop_assert!(limits.hold(&is_up)),
            Err(DrainRefusal::TooLittle(short)) => {
                prop_assert_eq!(short.amount, weighted.amount(&tiers, question.count, &is_up, short.scope));
                prop_assert!(short.amount < short.required && short.required <= short.total);
            }
            Err(other) => prop_assert!(false, "{other:?}"),
        }
    }
}

/// One ToR of 400 + 100 + 100 + 100 Gb/s: three of its four paths are 43 % of its bandwidth.
#[test]
fn a_fast_link_is_more_than_a_path() {
    let fabric = "switch,t,tor\nswitch,a,spine\nlink,t,1,a,1,400\nlink,t,2,a,2,100\nlink,t,3,a,3,100\nlink,t,4,a,4,100\n";
    let tiers = parse_csv(fabric).unwrap();
    let state = FabricState::parse_csv("time,0\n", &tiers).unwrap();
    let mut paths = DrainPlanner::new(&tiers, &state, 0.75, CapacityCount::Paths);
    assert!(paths.may_drain(LinkId(0)).is_ok());
    let mut bandwidth = DrainPlanner::new(&tiers, &state, 0.75, CapacityCount::Bandwidth);
    assert!(bandwidth.may_drain(LinkId(0)).is_err());
    assert!(bandwidth.may_drain(LinkId(1)).is_ok());
}

/// Each ToR alone could do with one of the two uplinks of its switch; both together could not.
#[test]
fn tors_of_a_pod_share_the_links_above_them() {
    let fabric = "switch,t1,tor,p\nswitch,t2,tor,p\nswitch,a,agg,p\nswitch,s,spine\n\
                  link,t1,1,a,1\nlink,t2,1,a,2\nlink,a,3,s,1\nlink,a,4,s,2\n";
    let tiers = parse_csv(fabric).unwrap();
    let state = FabricState::parse_csv("time,0\n", &tiers).unwrap();
    let mut planner = DrainPlanner::new(&tiers, &state, 0.75, CapacityCount::Bandwidth);
    let Err(DrainRefusal::TooLittle(short)) = planner.may_drain(LinkId(2)) else { panic!() };
    assert_eq!(short.scope, Scope::Pod(0));
    assert_eq!(
        (short.amount, short.required, short.total),
        (100_000_000_000, 150_000_000_000, 200_000_000_000)
    );
}

/// Scopes of both counts have the numbers that the planner expects.
#[test]
fn pods_and_domains_are_counted_if_they_have_several_tors_and_pods() {
    let fabric = "switch,t1,0,p\nswitch,t2,0,p\nswitch,t3,0,q\nswitch,a,1\nswitch,b,2\nswitch,c,3\n\
                  link,t1,1,a,1\nlink,t2,1,a,2\nlink,t3,1,b,1\nlink,a,3,b,2\nlink,b,3,c,1\n";
    let tiers = parse_csv(fabric).unwrap();
    let scopes = |capacity: &dyn Capacity| -> Vec<Scope> {
        capacity.scopes().into_iter().map(|scope: ScopeId| capacity.scope(scope)).collect()
    };
    let tors: Vec<Scope> = tiers.tors().iter().map(|tor| Scope::Tor(*tor)).collect();
    assert_eq!(scopes(&*CapacityCount::Paths.measure(&tiers)), tors);
    let groups = [Scope::Pod(0), Scope::Domain(tiers.tors()[0])];
    assert_eq!(scopes(&*CapacityCount::Bandwidth.measure(&tiers)), [&tors[..], &groups].concat());
}
