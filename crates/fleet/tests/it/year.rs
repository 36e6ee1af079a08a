//! A whole year of the published fabric, with its repair times in the trace: the same numbers on every machine.

use wiremend_fabric::tiers::Shape;
use wiremend_fleet::{Effect, Generator, Policy, Setting, Trace, Window, run};
use wiremend_units::Rate;

/// What a plain program in another language counted, which knows nothing of domains, groups or differences: it recounts a pod's ways
/// at every event and tries subsets by size. Events, skipped, recoveries, refused, by the optimizer; mean penalty, links out, links corrupting.
const COUNTED: [(f64, [u64; 5], [f64; 3]); 2] = [
    (0.5, [87_432, 0, 87_432, 440, 440], [9.176_993_438_4e-4, 573.067_792_099, 1.102_620_835_45]),
    (0.75, [87_432, 131, 87_186, 42_118, 42_003], [0.235_963_801_913_7, 569.563_080_595, 293.671_716_681]),
];

#[test]
fn a_full_year_has_the_counters_that_another_program_found() {
    let tiers = Shape::FACEBOOK.build(Rate::gbps(100)).unwrap();
    let window = Window::days(0, 365);
    let drawn = Generator { exclude_repair: true, ..Generator::default() }.trace(&tiers, window.end, 3);
    let trace = Trace::parse(&drawn.to_csv(), &tiers).unwrap();
    let (policies, effect) = ([Policy::CORROPT, Policy::LINKGUARDIAN_CORROPT], Effect::paper());
    for (constraint, counts, means) in COUNTED {
        let outcomes = run(&Setting::new(&tiers, &trace, constraint, &policies, &effect, window));
        let counters = outcomes[0].counters;
        let told = [
            counters.events,
            counters.skipped,
            counters.recoveries,
            counters.refused,
            counters.disabled_by_optimizer,
        ];
        assert_eq!(told, counts, "{constraint}");
        assert_eq!((counters.cut_off, counters), (0, outcomes[1].counters));
        let time = outcomes[0].time;
        for (told, counted) in [time.penalty, time.disabled, time.active].into_iter().zip(means) {
            assert!((told / counted - 1.0).abs() < 1e-9, "{constraint}: {told} for {counted}");
        }
        assert!(outcomes[0].least_paths_min >= constraint);
        assert!(outcomes[1].most_per_pipe_max <= if constraint < 0.6 { 3 } else { 5 });
    }
}
