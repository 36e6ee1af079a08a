//! Any file may be passed as a fabric, its state, or a trace.

use wiremend_fabric::tiers::{FabricShape, PathCounts, ScopeAmounts as _, Tiers, read_csv, read_json};
use wiremend_fleet::plan::{DrainPlanner, FabricState};
use wiremend_fleet::{CapacityCount, Trace};
use wiremend_units::Rate;

/// A fabric, and after zero bytes its state and a trace. An invalid fabric is replaced by a small one, so
/// that the others are read.
pub(crate) fn check(bytes: &[u8]) {
    let input = String::from_utf8_lossy(bytes);
    let mut texts = input.split('\0');
    let [fabric, state, trace] = std::array::from_fn(|_| texts.next().unwrap_or_default());
    let read = if is_json(fabric) { read_json(fabric) } else { read_csv(fabric) };
    let small = FabricShape::LeafSpine { leaves: 3, spines: 2 };
    let built = || small.build(Rate::gbps(100)).expect("a small fabric");
    let tiers = read.map_or_else(|_| built(), |file| file.tiers);
    is_whole(&tiers);
    let read = if is_json(state) {
        FabricState::parse_json(state, &tiers)
    } else {
        FabricState::parse_csv(state, &tiers)
    };
    if let Ok(state) = read {
        plan(&tiers, &state);
    }
    if let Ok(trace) = Trace::parse(trace, &tiers) {
        assert_eq!(Trace::parse(&trace.to_csv(), &tiers).expect("an own trace is well formed"), trace);
    }
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Every ToR has a path to the top, none without links, and all of them when the links are back.
fn is_whole(tiers: &Tiers) {
    let mut paths = PathCounts::new(tiers);
    let counts =
        |paths: &PathCounts<'_>| tiers.tors().iter().map(|tor| paths.count(*tor)).collect::<Vec<_>>();
    let before = counts(&paths);
    assert!(before.iter().all(|ways| *ways > 0));
    tiers.links().for_each(|link| paths.take_down(link));
    assert!(counts(&paths).iter().all(|ways| *ways == 0));
    tiers.links().for_each(|link| paths.bring_up(link));
    assert_eq!(counts(&paths), before);
    for link in tiers.links() {
        // Two links may have the same name; then either is found.
        let _ = tiers.link_by_name(&tiers.link_name(link));
        assert!(tiers.repaired_with(link).contains(&link));
    }
}

/// The plan leaves every ToR, pod and domain its share of the capacity.
fn plan(tiers: &Tiers, state: &FabricState) {
    for count in [CapacityCount::Paths, CapacityCount::Bandwidth] {
        let mut planner = DrainPlanner::new(tiers, state, 0.75, count);
        let broken = planner.below_constraint();
        let advice = planner.advise(1_000);
        assert_eq!(planner.below_constraint(), broken);
        planner.order(&advice, 1_000);
    }
}
