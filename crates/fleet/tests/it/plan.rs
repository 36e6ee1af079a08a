//! Plans never break a rack, and say why a link has to stay.

use crate::small::{any_small, ways};
use proptest::prelude::*;
use wiremend_fabric::tiers::{Tiers, parse_csv};
use wiremend_fleet::optimize::STEPS_MAX;
use wiremend_fleet::plan::{Corrupting, FabricState, Planner, Refusal};
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

#[test]
fn what_fits_goes_and_what_stays_is_explained() {
    let (tiers, now) = state(STATE);
    let mut planner = Planner::new(&tiers, &now, 0.5);
    assert!(planner.broken().is_empty());
    assert_eq!(planner.may_drain(LinkId(0)), Ok(vec![LinkId(0)]));
    let advice = planner.advise(STEPS_MAX);
    // t1 has four ways, two over each; without t1:1 the two over b must stay.
    assert_eq!(advice.drain.iter().map(|drain| drain.links.clone()).collect::<Vec<_>>(), [[LinkId(0)]]);
    let [kept] = &advice.keep[..] else { panic!("{advice:?}") };
    assert_eq!((kept.corrupting.link, tiers.name(kept.because.tor)), (LinkId(7), "t1"));
    assert_eq!((kept.because.ways, kept.because.need, kept.because.all, advice.gap), (1, 2, 4, 0.0));
    let steps = planner.order(&advice, STEPS_MAX);
    assert_eq!(steps.len(), 1);
    assert_eq!((&steps[0].returned, &steps[0].drain[0].links), (&vec![LinkId(0)], &vec![LinkId(7)]));
}

#[test]
fn a_rack_that_matters_more_keeps_more() {
    let (tiers, now) = state(&format!("{STATE}tor,t1,1\n"));
    let mut planner = Planner::new(&tiers, &now, 0.5);
    let Err(Refusal::Breaks(broken)) = planner.may_drain(LinkId(0)) else { panic!() };
    assert_eq!((broken.ways, broken.need), (2, 4));
    assert_eq!(planner.may_drain(LinkId(2)), Ok(vec![LinkId(2)]));
}

#[test]
fn a_cable_goes_as_a_whole() {
    let (tiers, now) = state("time,0\ncorrupt,a:3,1e-3\n");
    let mut planner = Planner::new(&tiers, &now, 0.5);
    assert_eq!(planner.may_drain(LinkId(4)), Ok(vec![LinkId(4), LinkId(5)]));
    let mut planner = Planner::new(&tiers, &now, 0.75);
    assert!(
        matches!(planner.may_drain(LinkId(4)), Err(Refusal::Breaks(broken)) if broken.ways == 2 && broken.need == 3)
    );
}

#[test]
fn drains_count_as_down_and_a_broken_state_is_said_and_planned_from() {
    let (tiers, now) = state("time,0\ndraining,t1:1\ndown,b:3\ncorrupt,b:4,1e-3\ncorrupt,a:4,1e-4\n");
    let mut planner = Planner::new(&tiers, &now, 0.5);
    let broken = planner.broken();
    assert_eq!(
        broken.iter().map(|tor| (tiers.name(tor.tor), tor.ways, tor.need)).collect::<Vec<_>>(),
        [("t1", 1, 2)]
    );
    assert_eq!(planner.may_drain(LinkId(0)), Err(Refusal::IsOut));
    assert!(planner.may_drain(LinkId(7)).is_err(), "t1 must not get worse");
    let advice = planner.advise(STEPS_MAX);
    assert!(advice.drain.is_empty() && advice.keep.len() == 2, "the cable takes both ways of a: {advice:?}");
}

#[test]
fn what_is_no_state_is_refused() {
    let tiers = parse_csv(FABRIC).unwrap();
    for (text, told) in [
        ("corrupt,t1:1,1e-3\n", "a state without its time"),
        ("time,yesterday\n", "1:1: `yesterday` is not a time"),
        ("time,0\ncorrupt,t1:9,1e-3\n", "2:1: `t1:9` is not a link of the fabric"),
        ("time,0\ncorrupt,t1:1,1.5\n", "2:1: `1.5` is not a loss rate"),
        ("time,0\ndown,t1:1\ndraining,a:1\n", "3:1: `a:1` is down or draining already"),
        ("time,0\ntor,a,0.5\n", "`a` is not a ToR"),
        ("time,0\ntor,t1,0\n", "`0` is not a constraint"),
        ("time,0\ntime,1\n", "2:1: the time is there twice"),
        ("time,0\nup,t1:1\n", "`up` with 1 values is no row"),
    ] {
        let error = FabricState::parse_csv(text, &tiers).unwrap_err().to_string();
        assert!(error.contains(told), "{error} has not {told}");
    }
    let json = r#"{"time": "2026-11-15T12:00:00Z", "down": ["t1:1"], "corrupt": [{"link": "b:4", "loss": 1e-4}],
        "tors": [{"name": "t2", "constraint": 0.9}]}"#;
    let state = FabricState::parse_json(json, &tiers).unwrap();
    assert_eq!((state.down.len(), state.corrupting.len(), state.tors[0].1), (1, 1, 0.9));
    let error = FabricState::parse_json(&json.replace("1e-4", "2"), &tiers).unwrap_err();
    assert!(error.to_string().contains("is not a loss rate"), "{error}");
    assert!(FabricState::parse_json("{", &tiers).unwrap_err().place.is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    /// Whatever the state: no advice, and no step after it, takes from a rack what it must keep.
    #[test]
    fn no_plan_breaks_a_rack(
        small in any_small(),
        out in proptest::collection::vec(any::<(u16, bool)>(), 0..5),
        ill in proptest::collection::vec((any::<u16>(), 1_u32..999), 0..9),
        constraint in prop_oneof![Just(0.5), Just(0.75), 0.05..1.0],
        dear in proptest::option::of((any::<u16>(), 0.05..1.0)),
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
        for (link, loss) in ill {
            let link = LinkId(u32::from(link) % count);
            if !now.out().any(|known| known == link) && !now.corrupting.iter().any(|known| known.link == link) {
                now.corrupting.push(Corrupting { link, loss: f64::from(loss) / 1000.0 });
            }
        }
        now.tors = dear.map(|(tor, part)| (tiers.tors()[tor as usize % tiers.tors().len()], part)).into_iter().collect();
        let all = vec![true; count as usize];
        let need = |tor: wiremend_units::SwitchId| {
            let part = now.tors.iter().find(|(dear, _)| *dear == tor).map_or(constraint, |(_, part)| *part);
            (ways(&tiers, &all, tor) as f64 * part - 1e-6).ceil() as u64
        };
        let mut up = all.clone();
        for link in now.out() {
            up[link.index()] = false;
        }
        let mut before: Vec<u64> = tiers.tors().iter().map(|tor| ways(&tiers, &up, *tor)).collect();
        let mut planner = Planner::new(&tiers, &now, constraint);
        let broken = planner.broken();
        for (tor, ways) in tiers.tors().iter().zip(&before) {
            prop_assert_eq!(broken.iter().any(|broken| broken.tor == *tor), *ways < need(*tor));
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
                *had = ways(&tiers, &up, *tor);
            }
            for link in drained {
                prop_assert!(up[link.index()]);
                up[link.index()] = false;
            }
            for (tor, had) in tiers.tors().iter().zip(&before) {
                prop_assert!(ways(&tiers, &up, *tor) >= need(*tor).min(*had));
            }
        }
    }

    #[test]
    fn no_text_is_too_strange(text in "(time|down|corrupt|tor|t1:1|0|,|\n|#|\"|\\{){0,40}") {
        let tiers = parse_csv(FABRIC).unwrap();
        let _ = FabricState::parse_csv(&text, &tiers);
        let _ = FabricState::parse_json(&text, &tiers);
    }
}
