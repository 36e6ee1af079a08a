//! Plans keep all required paths and explain which links must stay.

use crate::small::{any_small, path_count};
use proptest::prelude::*;
use wiremend_fabric::tiers::{Scope, Tiers, parse_csv};
use wiremend_fleet::CapacityCount;
use wiremend_fleet::optimize::STEPS_MAX;
use wiremend_fleet::plan::{CorruptingLink, DrainPlanner, DrainRefusal, FabricState};
use wiremend_units::LinkId;

const FABRIC: &str = "\
switch,t1,tor,p
switch,t2,tor,p
switch,a,agg,p
switch,b,agg,p
switch,s1,spine
switch,s2,spine
link,t1,1,a,1
link,t1,2,b,1
link,t2,1,a,2
link,t2,2,b,2
link,a,3,s1,1,100,,x
link,a,4,s2,1,100,,x
link,b,3,s1,2
link,b,4,s2,2
";
const STATE: &str = "time,2026-11-15T12:00:00Z\ncorrupt,t1:1,1e-3\ncorrupt,b:4,1e-4\n";

fn state(text: &str) -> (Tiers, FabricState) {
    let tiers = parse_csv(FABRIC).unwrap();
    let state = FabricState::parse_csv(text, &tiers).unwrap();
    (tiers, state)
}

fn name(tiers: &Tiers, scope: Scope) -> &str {
    match scope {
        Scope::Tor(tor) | Scope::Domain(tor) => tiers.name(tor),
        Scope::Pod(pod) => tiers.pod_name(pod),
    }
}

#[test]
fn drained_and_kept_links_are_reported() {
    let (tiers, now) = state(STATE);
    let mut planner = DrainPlanner::new(&tiers, &now, 0.5, CapacityCount::Paths);
    assert!(planner.below_constraint().is_empty());
    assert_eq!(planner.may_drain(LinkId(0)), Ok(vec![LinkId(0)]));
    let advice = planner.advise(STEPS_MAX);
    // t1 has four paths, two over each switch. Without t1:1 the two over b must stay.
    assert_eq!(advice.drain.iter().map(|drain| drain.links.clone()).collect::<Vec<_>>(), [[LinkId(0)]]);
    let [kept] = &advice.keep[..] else { panic!("{advice:?}") };
    assert_eq!((kept.corrupting.link, name(&tiers, kept.because.scope)), (LinkId(7), "t1"));
    assert_eq!((kept.because.amount, kept.because.required, kept.because.total, advice.gap), (1, 2, 4, 0.0));
    let steps = planner.order(&advice, STEPS_MAX);
    assert_eq!(steps.len(), 1);
    assert_eq!((&steps[0].returned, &steps[0].drain[0].links), (&vec![LinkId(0)], &vec![LinkId(7)]));
}

#[test]
fn a_tor_can_have_its_own_constraint() {
    let (tiers, now) = state(&format!("{STATE}tor,t1,1\n"));
    let mut planner = DrainPlanner::new(&tiers, &now, 0.5, CapacityCount::Paths);
    let Err(DrainRefusal::TooLittle(broken)) = planner.may_drain(LinkId(0)) else { panic!() };
    assert_eq!((broken.amount, broken.required), (2, 4));
    assert_eq!(planner.may_drain(LinkId(2)), Ok(vec![LinkId(2)]));
}

#[test]
fn all_links_of_a_cable_are_drained_together() {
    let (tiers, now) = state("time,0\ncorrupt,a:3,1e-3\n");
    let mut planner = DrainPlanner::new(&tiers, &now, 0.5, CapacityCount::Paths);
    assert_eq!(planner.may_drain(LinkId(4)), Ok(vec![LinkId(4), LinkId(5)]));
    let mut planner = DrainPlanner::new(&tiers, &now, 0.75, CapacityCount::Paths);
    assert!(
        matches!(planner.may_drain(LinkId(4)), Err(DrainRefusal::TooLittle(broken)) if broken.amount == 2 && broken.required == 3)
    );
}

#[test]
fn drains_count_as_down_and_broken_tors_are_reported() {
    let (tiers, now) = state("time,0\ndraining,t1:1\ndown,b:3\ncorrupt,b:4,1e-3\ncorrupt,a:4,1e-4\n");
    let mut planner = DrainPlanner::new(&tiers, &now, 0.5, CapacityCount::Paths);
    let broken = planner.below_constraint();
    assert_eq!(
        broken.iter().map(|tor| (name(&tiers, tor.scope), tor.amount, tor.required)).collect::<Vec<_>>(),
        [("t1", 1, 2)]
    );
    assert_eq!(planner.may_drain(LinkId(0)), Err(DrainRefusal::AlreadyOut));
    assert!(planner.may_drain(LinkId(7)).is_err(), "t1 must not lose another path");
    let advice = planner.advise(STEPS_MAX);
    assert!(
        advice.drain.is_empty() && advice.keep.len() == 2,
        "the cable carries both paths of a: {advice:?}"
    );
}

#[test]
fn only_a_state_without_a_time_is_rejected() {
    let tiers = parse_csv(FABRIC).unwrap();
    for (text, reason) in [
        ("corrupt,t1:1,1e-3\n", "the time is missing"),
        ("time,yesterday\n", "1:1: `yesterday` is not a time"),
        ("time,0\ntime,1\n", "2:1: the time is given twice"),
    ] {
        let error = FabricState::parse_csv(text, &tiers).unwrap_err().to_string();
        assert!(error.contains(reason), "`{reason}` in {error}");
    }
    assert!(FabricState::parse_json("{", &tiers).unwrap_err().place.is_some());
}

/// Each invalid item is listed with its place and remedy; the others count.
#[test]
fn an_invalid_item_stops_only_itself() {
    let tiers = parse_csv(FABRIC).unwrap();
    for (rows, reason) in [
        (
            "corrupt,t1:9,1e-3",
            "2:1: `t1:9` is not a link of the fabric, but switch `t1` is: correct the port",
        ),
        ("corrupt,t9:9,1e-3", "`t9:9` is not a link of the fabric: write a number below 8"),
        ("corrupt,t1:2,1.5", "2:1: `1.5` is not a loss rate"),
        (
            "down,t1:2\ndraining,b:1",
            "3:1: `b:1` is already down or draining, perhaps reported by its other end",
        ),
        (
            "corrupt,t1:2,1e-5\ncorrupt,b:1,1e-4",
            "3:1: `b:1` already has a corrupt row, perhaps from its other end; the higher loss, 1e-4",
        ),
        ("tor,a,0.5", "`a` is not a ToR of the fabric"),
        ("pod,q,0.5", "`q` is not a pod of the fabric"),
        ("tor,t1,0", "`0` is not a constraint: a number above 0, at most 1; until then ToR `t1` keeps all"),
        ("tor,t1,0.5\ntor,t1,0.9", "3:1: ToR `t1` is given twice, and the stricter constraint counts"),
        ("up,t1:1", "unknown row `up` with 1 values"),
    ] {
        let state = FabricState::parse_csv(&format!("time,0\n{rows}\ncorrupt,a:4,1e-6\n"), &tiers).unwrap();
        let [skipped] = &state.skipped[..] else { panic!("{rows}: {:?}", state.skipped) };
        assert!(skipped.to_string().contains(reason), "`{reason}` in {skipped}");
        assert!(state.corrupting.iter().any(|corrupting| corrupting.link == LinkId(5)), "{rows}");
    }
    let state = FabricState::parse_csv("time,0\ncorrupt,t1:2,1e-5\ncorrupt,b:1,1e-4\n", &tiers).unwrap();
    assert_eq!(state.corrupting, [CorruptingLink { link: LinkId(1), loss: 1e-4 }]);
    let json = r#"{"time": "2026-11-15T12:00:00Z", "down": ["t1:1", 7.5, {"a": 1}], "corrupt": [{"link": "b:4", "loss": 1e-4},
        {"link": "b:3"}], "tors": [{"name": "t2", "constraint": 0.9}], "pods": [{"name": "p", "constraint": 0.8}]}"#;
    let state = FabricState::parse_json(json, &tiers).unwrap();
    let (tors, pods) = (&state.constraints.tors, &state.constraints.pods);
    assert_eq!(
        (state.down.len(), state.corrupting.len(), tors[&tiers.tors()[1]], pods[&0]),
        (1, 1, 0.9, 0.8)
    );
    let skipped: Vec<_> = state.skipped.iter().map(ToString::to_string).collect();
    assert!(
        skipped.len() == 3
            && skipped[1].starts_with("down[2]: a link is required")
            && skipped[2].starts_with("corrupt[1]: an object with the keys link and loss"),
        "{skipped:?}"
    );
}

/// A link that is down, but cannot be found, freezes the ToRs of its switch.
#[test]
fn an_unknown_link_that_is_down_protects_the_tors_of_its_switch() {
    for (row, frozen) in [("down,t1:77", &["t1"][..]), ("down,a:77", &["t1", "t2"]), ("down,s9:1", &[])] {
        let (tiers, now) = state(&format!("time,0\n{row}\n"));
        for count in [CapacityCount::Paths, CapacityCount::Bandwidth] {
            let mut planner = DrainPlanner::new(&tiers, &now, 0.5, count);
            let may =
                [("t1", 0), ("t2", 2)].map(|(tor, link)| (tor, planner.may_drain(LinkId(link)).is_ok()));
            // The pod of a frozen ToR is frozen too.
            let is_frozen =
                |tor| frozen.contains(&tor) || !frozen.is_empty() && count == CapacityCount::Bandwidth;
            assert!(may.iter().all(|(tor, may)| *may != is_frozen(tor)), "{row} {count} {may:?}");
            assert!(planner.below_constraint().is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    /// In any state, neither the advice nor any later step violates a ToR's requirement.
    #[test]
    fn plans_keep_all_required_paths(
        small in any_small(),
        out in proptest::collection::vec(any::<(u16, bool)>(), 0..5),
        corrupting in proptest::collection::vec((any::<u16>(), 1_u32..999), 0..9),
        constraint in prop_oneof![Just(0.5), Just(0.75), 0.05..1.0],
        stricter in proptest::option::of((any::<u16>(), 0.05..1.0)),
    ) {
        let tiers = small.build();
        let count = tiers.link_count();
        let mut now = FabricState::default();
        for (link, is_drain) in out {
            let link = LinkId(u32::from(link) % count);
            if !now.out().any(|known| known == link) {
                if is_drain { now.draining.push(link) } else { now.down.push(link) }
            }
        }
        for (link, loss) in corrupting {
            let link = LinkId(u32::from(link) % count);
            if !now.out().any(|known| known == link) && !now.corrupting.iter().any(|known| known.link == link) {
                now.corrupting.push(CorruptingLink { link, loss: f64::from(loss) / 1000.0 });
            }
        }
        now.constraints.tors = stricter.map(|(tor, part)| (tiers.tors()[tor as usize % tiers.tors().len()], part)).into_iter().collect();
        let all = vec![true; count as usize];
        let need = |tor: wiremend_units::SwitchId| {
            let part = now.constraints.tors.get(&tor).copied().unwrap_or(constraint);
            (path_count(&tiers, &all, tor) as f64 * part - 1e-6).ceil() as u64
        };
        let mut up = all.clone();
        for link in now.out() {
            up[link.index()] = false;
        }
        let mut before: Vec<u64> = tiers.tors().iter().map(|tor| path_count(&tiers, &up, *tor)).collect();
        let mut planner = DrainPlanner::new(&tiers, &now, constraint, CapacityCount::Paths);
        let broken = planner.below_constraint();
        for (tor, paths) in tiers.tors().iter().zip(&before) {
            prop_assert_eq!(broken.iter().any(|broken| broken.scope == Scope::Tor(*tor)), *paths < need(*tor));
        }
        let advice = planner.advise(STEPS_MAX);
        let steps = planner.order(&advice, STEPS_MAX);
        let first = advice.drain.iter().flat_map(|drain| drain.links.clone()).collect::<Vec<_>>();
        let rest = steps.iter().map(|step| (step.returned.clone(), step.drain.iter().flat_map(|drain| drain.links.clone()).collect::<Vec<_>>()));
        for (returned, drained) in [(Vec::new(), first)].into_iter().chain(rest) {
            for link in returned {
                prop_assert!(!up[link.index()]);
                up[link.index()] = true;
            }
            for (tor, had) in tiers.tors().iter().zip(&mut before) {
                *had = path_count(&tiers, &up, *tor);
            }
            for link in drained {
                prop_assert!(up[link.index()]);
                up[link.index()] = false;
            }
            for (tor, had) in tiers.tors().iter().zip(&before) {
                prop_assert!(path_count(&tiers, &up, *tor) >= need(*tor).min(*had));
            }
        }
    }

    #[test]
    fn no_text_causes_a_panic(text in "(time|down|corrupt|tor|t1:1|0|,|\n|#|\"|\\{){0,40}") {
        let tiers = parse_csv(FABRIC).unwrap();
        let _ = FabricState::parse_csv(&text, &tiers);
        let _ = FabricState::parse_json(&text, &tiers);
    }
}
