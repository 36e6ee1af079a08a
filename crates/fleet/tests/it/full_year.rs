//! A full year of the published fabric with given repair times: the same numbers on every machine.

use wiremend_fabric::tiers::FabricShape;
use wiremend_fleet::{FleetSetup, Policy, ProtectionEffect, TimeWindow, Trace, TraceGenerator, run};
use wiremend_units::Rate;

/// Results of a program in another language without domains, groups or differences: it recounts the paths
/// of a pod at every event and tries subsets by size. Events, skipped, recoveries, refused, disabled by the
/// optimizer; mean penalty, links out, links corrupting.
const COUNTED: [(f64, [u64; 5], [f64; 3]); 2] = [
    (0.5, [87_432, 0, 87_432, 440, 440], [9.176_993_438_4e-4, 573.067_792_099, 1.102_620_835_45]),
    (0.75, [87_432, 131, 87_186, 42_118, 42_003], [0.235_963_801_913_7, 569.563_080_595, 293.671_716_681]),
];

#[test]
fn a_full_year_equals_the_results_of_another_program() {
    let tiers = FabricShape::FACEBOOK.build(Rate::gbps(100)).unwrap();
    let window = TimeWindow::days(0, 365);
    let drawn =
        TraceGenerator { exclude_repair: true, ..TraceGenerator::default() }.trace(&tiers, window.end, 3);
    let trace = Trace::parse(&drawn.to_csv(), &tiers).unwrap();
    let (policies, effect) = ([Policy::CORROPT, Policy::LINKGUARDIAN_CORROPT], ProtectionEffect::paper());
    for (constraint, counts, means) in COUNTED {
        let outcomes = run(&FleetSetup::new(&tiers, &trace, constraint, &policies, &effect, window));
        let counters = outcomes[0].counters;
        let reported = [
            counters.events,
            counters.skipped,
            counters.recoveries,
            counters.refused,
            counters.disabled_by_optimizer,
        ];
        assert_eq!(reported, counts, "{constraint}");
        assert_eq!((counters.cut_off, counters), (0, outcomes[1].counters));
        let time = outcomes[0].time;
        for (reported, counted) in [time.penalty, time.disabled, time.active].into_iter().zip(means) {
            assert!((reported / counted - 1.0).abs() < 1e-9, "{constraint}: {reported} for {counted}");
        }
        assert!(outcomes[0].least_paths_min >= constraint);
        assert!(outcomes[1].most_per_pipe_max <= if constraint < 0.6 { 3 } else { 5 });
    }
}
