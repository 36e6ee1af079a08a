//! The optimizer equals an exhaustive search and keeps all required paths.

use crate::small::{any_small, path_count};
use proptest::prelude::*;
use wiremend_fabric::tiers::{Bandwidths, FabricShape, PathCounts, ScopeAmounts as _, ScopeId};
use wiremend_fleet::RequiredCapacity;
use wiremend_fleet::optimize::{Candidate, STEPS_MAX, select, take_down_if_allowed};
use wiremend_units::{LinkId, Rate, SwitchId};

/// A fabric, links that are down, corrupting links with their value, and a constraint.
fn any_question() -> impl Strategy<Value = (crate::small::Small, Vec<u16>, Vec<(u16, u32)>, f64)> {
    let constraint = prop_oneof![Just(0.5), Just(0.75), 0.05..1.0];
    let corrupting = proptest::collection::vec((any::<u16>(), 1_u32..1000), 1..11);
    (any_small(), proptest::collection::vec(any::<u16>(), 0..6), corrupting, constraint)
}

proptest! {
    // Each case is fast.
    #![proptest_config(ProptestConfig::with_cases(4000))]
    #[test]
    fn the_selection_is_the_best_of_all_subsets((small, down, corrupting, constraint) in any_question()) {
        let tiers = small.build();
        let count = tiers.link_count();
        let mut paths = PathCounts::new(&tiers);
        let mut required = RequiredCapacity::new(&mut paths, constraint);
        for link in down {
            paths.take_down(LinkId(u32::from(link) % count));
        }
        // A ToR that already has too few paths must not lose more.
        for tor in tiers.tors() {
            required.lower_to(ScopeId::tor(*tor), paths.count(*tor));
        }
        let mut candidates: Vec<Candidate> = Vec::new();
        for (link, value) in corrupting {
            let link = LinkId(u32::from(link) % count);
            if paths.is_up(link) && !candidates.iter().any(|candidate| candidate.links.contains(&link)) {
                candidates.push(Candidate { links: vec![link], value: u128::from(value) << 64 });
            }
        }
        let is_up: Vec<bool> = tiers.links().map(|link| paths.is_up(link)).collect();
        let keeps = |subset: u32| {
            let mut up = is_up.clone();
            for (place, candidate) in candidates.iter().enumerate() {
                if subset >> place & 1 == 1 {
                    up[candidate.links[0].index()] = false;
                }
            }
            tiers.tors().iter().all(|tor| path_count(&tiers, &up, *tor) >= required.get(ScopeId::tor(*tor)))
        };
        let value = |subset: u32| -> u128 {
            candidates.iter().enumerate().filter(|(place, _)| subset >> place & 1 == 1).map(|(_, candidate)| candidate.value).sum()
        };
        let best = (0..1_u32 << candidates.len()).filter(|subset| keeps(*subset)).map(value).max().unwrap();
        let selection = select(&mut paths, &required, &candidates, STEPS_MAX);
        let subset = selection.taken.iter().fold(0, |subset, place| subset | 1 << place);
        prop_assert!(keeps(subset));
        prop_assert_eq!((selection.value, selection.bound, value(subset)), (best, best, best));
        for (link, up) in tiers.links().zip(is_up.iter().copied()) {
            let taken = selection.taken.iter().any(|place| candidates[*place].links[0] == link);
            prop_assert_eq!(paths.is_up(link), up && !taken);
        }
        // When cut off, the constraint holds, no further candidate fits, and the bound covers the optimum.
        for candidate in &candidates {
            paths.bring_up(candidate.links[0]);
        }
        let cut = select(&mut paths, &required, &candidates, 2);
        let subset = cut.taken.iter().fold(0, |subset, place| subset | 1 << place);
        prop_assert!(keeps(subset) && cut.value <= best && best <= cut.bound);
        let left: Vec<_> = (0..candidates.len()).filter(|place| !cut.taken.contains(place)).collect();
        prop_assert!(left.iter().all(|place| !keeps(subset | 1 << place)));
    }

    /// The fast checker refuses exactly if a ToR would have too few paths, and then changes nothing.
    #[test]
    fn the_fast_checker_keeps_all_required_paths((small, down, corrupting, constraint) in any_question()) {
        let tiers = small.build();
        let mut paths = PathCounts::new(&tiers);
        let required = RequiredCapacity::new(&mut paths, constraint);
        for link in down.into_iter().chain(corrupting.into_iter().map(|(link, _)| link)) {
            let link = LinkId(u32::from(link) % tiers.link_count());
            let mut up: Vec<bool> = tiers.links().map(|link| paths.is_up(link)).collect();
            up[link.index()] = false;
            let fits = tiers.tors().iter().all(|tor| path_count(&tiers, &up, *tor) >= required.get(ScopeId::tor(*tor)));
            let was_up = paths.is_up(link);
            match take_down_if_allowed(&mut paths, &required, link) {
                Ok(()) => prop_assert!(fits && !paths.is_up(link)),
                Err(tor) => {
                    prop_assert!(!fits && was_up && paths.is_up(link));
                    prop_assert!(path_count(&tiers, &up, SwitchId(tor.index() as u32)) < required.get(tor));
                }
            }
        }
    }
}

/// Every link of a pod corrupts: the search is cut off and reports an upper bound.
#[test]
fn a_search_that_is_cut_off_reports_a_bound() {
    let tiers =
        FabricShape::Facebook { pods: 1, tors: 48, fabrics: 4, spines: 48 }.build(Rate::gbps(100)).unwrap();
    let mut paths = PathCounts::new(&tiers);
    let required = RequiredCapacity::new(&mut paths, 0.75);
    let value = |link: LinkId| u128::from(link.0 * 7919 % 997 + 1) << 70;
    let candidates: Vec<_> =
        tiers.links().map(|link| Candidate { links: vec![link], value: value(link) }).collect();
    let selection = select(&mut paths, &required, &candidates, 2_000);
    assert!(selection.value > 0 && selection.value <= selection.bound && selection.steps <= 2_000);
    assert!(selection.bound < candidates.iter().map(|candidate| candidate.value).sum());
    assert!(tiers.tors().iter().all(|tor| paths.count(*tor) >= 144));
}

/// A fifth of a pod's links corrupt. With the spine links fixed, racks are independent: it is exact.
#[test]
fn a_pod_with_many_candidates_is_solved_exactly() {
    let tiers =
        FabricShape::Facebook { pods: 1, tors: 48, fabrics: 4, spines: 48 }.build(Rate::gbps(100)).unwrap();
    let mut paths = PathCounts::new(&tiers);
    let required = RequiredCapacity::new(&mut paths, 0.75);
    let value = |link: LinkId| u128::from(link.0 * 7919 % 997 + 1) << 70;
    let picked = tiers.links().filter(|link| link.0.is_multiple_of(5));
    let candidates: Vec<_> = picked.map(|link| Candidate { links: vec![link], value: value(link) }).collect();
    let selection = select(&mut paths, &required, &candidates, STEPS_MAX);
    assert_eq!((selection.value, candidates.len()), (selection.bound, 77));
}

/// The same with bandwidths: all candidates of the pod would leave it too little, but what its ToRs leave is
/// enough.
#[test]
fn a_pod_with_many_candidates_is_solved_exactly_by_bandwidth() {
    let tiers =
        FabricShape::Facebook { pods: 1, tors: 48, fabrics: 4, spines: 48 }.build(Rate::gbps(100)).unwrap();
    let value = |link: LinkId| u128::from(link.0 * 7919 % 997 + 1) << 70;
    let picked = tiers.links().filter(|link| link.0 < 192 && link.0 % 5 < 2);
    let candidates: Vec<_> = picked.map(|link| Candidate { links: vec![link], value: value(link) }).collect();
    let mut bandwidths = Bandwidths::new(&tiers);
    let required = RequiredCapacity::new(&mut bandwidths, 0.75);
    let by_bandwidth = select(&mut bandwidths, &required, &candidates, STEPS_MAX);
    let mut paths = PathCounts::new(&tiers);
    let required = RequiredCapacity::new(&mut paths, 0.75);
    let by_paths = select(&mut paths, &required, &candidates, STEPS_MAX);
    assert_eq!((by_bandwidth.value, by_bandwidth.bound), (by_paths.value, by_paths.value));
    assert_eq!((by_bandwidth.taken, candidates.len()), (by_paths.taken, 78));
}

/// In floating point 100 × 0.07 is slightly more than 7.
#[test]
fn required_paths_are_rounded_up_without_floating_point_errors() {
    let tiers = FabricShape::LeafSpine { leaves: 2, spines: 100 }.build(Rate::gbps(100)).unwrap();
    let mut paths = PathCounts::new(&tiers);
    let tor = ScopeId::tor(tiers.tors()[0]);
    for (constraint, expected) in [(0.07, 7), (0.5, 50), (0.751, 76), (1.0, 100), (0.001, 1)] {
        assert_eq!(RequiredCapacity::new(&mut paths, constraint).get(tor), expected, "{constraint}");
    }
}
