//! The optimizer is exact: it finds what trying every subset finds, and breaks nothing.

use crate::small::{any_small, ways};
use proptest::prelude::*;
use wiremend_fabric::tiers::{Paths, Shape};
use wiremend_fleet::optimize::{Item, Need, STEPS_MAX, choose, try_down};
use wiremend_units::{LinkId, Rate};

/// A fabric, links that are down, links that corrupt with their worth, and a constraint.
fn any_question() -> impl Strategy<Value = (crate::small::Small, Vec<u16>, Vec<(u16, u32)>, f64)> {
    let constraint = prop_oneof![Just(0.5), Just(0.75), 0.05..1.0];
    let corrupting = proptest::collection::vec((any::<u16>(), 1_u32..1000), 1..11);
    (any_small(), proptest::collection::vec(any::<u16>(), 0..6), corrupting, constraint)
}

proptest! {
    // Thousands, as they are quick.
    #![proptest_config(ProptestConfig::with_cases(4000))]
    #[test]
    fn the_choice_is_the_best_of_all_subsets((small, down, corrupting, constraint) in any_question()) {
        let tiers = small.build();
        let count = tiers.link_count();
        let mut paths = Paths::new(&tiers);
        let mut need = Need::new(&tiers, &paths, constraint);
        for link in down {
            paths.take_down(LinkId(u32::from(link) % count));
        }
        // A state that is broken already must not get worse.
        for tor in tiers.tors() {
            need.lower_to(*tor, paths.of(*tor));
        }
        let mut items: Vec<Item> = Vec::new();
        for (link, worth) in corrupting {
            let link = LinkId(u32::from(link) % count);
            if paths.is_up(link) && !items.iter().any(|item| item.links.contains(&link)) {
                items.push(Item { links: vec![link], worth: u128::from(worth) << 64 });
            }
        }
        let is_up: Vec<bool> = tiers.links().map(|link| paths.is_up(link)).collect();
        let keeps = |subset: u32| {
            let mut up = is_up.clone();
            for (place, item) in items.iter().enumerate() {
                if subset >> place & 1 == 1 {
                    up[item.links[0].index()] = false;
                }
            }
            tiers.tors().iter().all(|tor| ways(&tiers, &up, *tor) >= need.of(*tor))
        };
        let worth = |subset: u32| -> u128 {
            items.iter().enumerate().filter(|(place, _)| subset >> place & 1 == 1).map(|(_, item)| item.worth).sum()
        };
        let best = (0..1_u32 << items.len()).filter(|subset| keeps(*subset)).map(worth).max().unwrap();
        let choice = choose(&mut paths, &need, &items, STEPS_MAX);
        let subset = choice.taken.iter().fold(0, |subset, place| subset | 1 << place);
        prop_assert!(keeps(subset));
        prop_assert_eq!((choice.worth, choice.bound, worth(subset)), (best, best, best));
        for (link, up) in tiers.links().zip(is_up.iter().copied()) {
            let taken = choice.taken.iter().any(|place| items[*place].links[0] == link);
            prop_assert_eq!(paths.is_up(link), up && !taken);
        }
        // Whatever it is cut off at, the answer keeps the constraint, nothing fits beside it, and the gap holds the best.
        for item in &items {
            paths.bring_up(item.links[0]);
        }
        let cut = choose(&mut paths, &need, &items, 2);
        let subset = cut.taken.iter().fold(0, |subset, place| subset | 1 << place);
        prop_assert!(keeps(subset) && cut.worth <= best && best <= cut.bound);
        let left: Vec<_> = (0..items.len()).filter(|place| !cut.taken.contains(place)).collect();
        prop_assert!(left.iter().all(|place| !keeps(subset | 1 << place)));
    }

    /// The fast checker says no exactly if a ToR would have too few, and then changes nothing.
    #[test]
    fn the_checker_never_breaks_a_rack((small, down, corrupting, constraint) in any_question()) {
        let tiers = small.build();
        let mut paths = Paths::new(&tiers);
        let need = Need::new(&tiers, &paths, constraint);
        for link in down.into_iter().chain(corrupting.into_iter().map(|(link, _)| link)) {
            let link = LinkId(u32::from(link) % tiers.link_count());
            let mut up: Vec<bool> = tiers.links().map(|link| paths.is_up(link)).collect();
            up[link.index()] = false;
            let fits = tiers.tors().iter().all(|tor| ways(&tiers, &up, *tor) >= need.of(*tor));
            let was_up = paths.is_up(link);
            match try_down(&mut paths, &need, link) {
                Ok(()) => prop_assert!(fits && !paths.is_up(link)),
                Err(tor) => {
                    prop_assert!(!fits && was_up && paths.is_up(link));
                    prop_assert!(ways(&tiers, &up, tor) < need.of(tor));
                }
            }
        }
    }
}

/// Every link of a pod corrupts: far beyond what can be tried, and still answered soon, with a gap that is said.
#[test]
fn a_hopeless_case_ends_with_a_stated_gap() {
    let tiers = Shape::Facebook { pods: 1, tors: 48, fabrics: 4, spines: 48 }.build(Rate::gbps(100)).unwrap();
    let mut paths = Paths::new(&tiers);
    let need = Need::new(&tiers, &paths, 0.75);
    let worth = |link: LinkId| u128::from(link.0 * 7919 % 997 + 1) << 70;
    let items: Vec<_> = tiers.links().map(|link| Item { links: vec![link], worth: worth(link) }).collect();
    let choice = choose(&mut paths, &need, &items, 2_000);
    assert!(choice.worth > 0 && choice.worth <= choice.bound && choice.steps <= 2_000);
    assert!(choice.bound < items.iter().map(|item| item.worth).sum());
    assert!(tiers.tors().iter().all(|tor| paths.of(*tor) >= 144));
}

/// A fifth of a pod corrupts: racks decide on their own links alone once it is settled which of the spine links go, so that even this is exact.
#[test]
fn a_bad_pod_is_answered_exactly() {
    let tiers = Shape::Facebook { pods: 1, tors: 48, fabrics: 4, spines: 48 }.build(Rate::gbps(100)).unwrap();
    let mut paths = Paths::new(&tiers);
    let need = Need::new(&tiers, &paths, 0.75);
    let worth = |link: LinkId| u128::from(link.0 * 7919 % 997 + 1) << 70;
    let picked = tiers.links().filter(|link| link.0.is_multiple_of(5));
    let items: Vec<_> = picked.map(|link| Item { links: vec![link], worth: worth(link) }).collect();
    let choice = choose(&mut paths, &need, &items, STEPS_MAX);
    assert_eq!((choice.worth, items.len()), (choice.bound, 77));
}

/// 100 × 0.07 is a little more than 7 in floating point.
#[test]
fn shares_are_rounded_up_but_not_by_accident() {
    let tiers = Shape::LeafSpine { leaves: 2, spines: 100 }.build(Rate::gbps(100)).unwrap();
    let paths = Paths::new(&tiers);
    let tor = tiers.tors()[0];
    for (constraint, ways) in [(0.07, 7), (0.5, 50), (0.751, 76), (1.0, 100), (0.001, 1)] {
        assert_eq!(Need::new(&tiers, &paths, constraint).of(tor), ways, "{constraint}");
    }
}
