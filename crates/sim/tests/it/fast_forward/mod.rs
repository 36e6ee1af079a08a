//! Skipping time changes no result: random scenarios with long messages, with and without.
//!
//! `WIREMEND_SWARM=from..to` runs other seeds; a failure prints the scenario.

mod draw;

use wiremend_measure::{Counters, SkippedTime};
use wiremend_sim::{EndReason, LaneCounters, Options, Results};

use crate::common::{run_with, scenario, series, swarm_seeds};

/// Seeds of the default run, in two parts that test runners execute in parallel.
const SEEDS: u64 = 200;

#[test]
fn skipping_time_changes_no_result_first_half() {
    share(0);
}

#[test]
fn skipping_time_changes_no_result_second_half() {
    share(1);
}

fn share(number: u64) {
    let seeds: Vec<_> = swarm_seeds(0..SEEDS).filter(|seed| seed % 2 == number).collect();
    let mut with_jumps = 0;
    for seed in &seeds {
        let text = draw::draw(*seed);
        match std::panic::catch_unwind(|| check(&text, *seed)) {
            Ok(skipped) => with_jumps += usize::from(skipped.jumps > 0),
            Err(panic) => {
                println!("seed {seed}:\n{text}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    println!("{with_jumps} of {} runs skipped time", seeds.len());
    assert!(with_jumps * 8 >= seeds.len(), "the scenarios are of the kind in which runs skip time");
}

fn check(text: &str, seed: u64) -> SkippedTime {
    let plain = Options::new(seed);
    let (slow, slow_rows) = run_with(text, &plain);
    let mut skipped = SkippedTime::default();
    // A pattern is looked for at every window, or after some events.
    let often = Options { fast_forward_events: Some(seed % 3), ..plain.clone() };
    for threads in if seed.is_multiple_of(4) { 1..=2 } else { 1..=1 } {
        let options = Options { threads, ..often.clone() };
        let (fast, rows) = run_with(text, &options);
        let how = format!("{threads} threads, {:?}", fast.counters.skipped);
        assert_eq!(rows, slow_rows, "{how}");
        assert_eq!(fast.collector.digest(), slow.collector.digest(), "{how}");
        assert_eq!((fast.end, fast.end_reason), (slow.end, slow.end_reason), "{how}");
        assert_eq!(comparable(&fast), comparable(&slow), "{how}");
        assert!(threads == 1 || fast.counters.skipped == skipped, "threads do not change the jumps: {how}");
        skipped = fast.counters.skipped;
    }
    if text.contains("[series]") {
        assert_eq!(series(text, &often).1, series(text, &plain).1);
    }
    skipped
}

/// The counters without those that tell how a result was computed.
fn comparable(results: &Results) -> (Counters, Vec<LaneCounters>, u64) {
    let counters = Counters { events: 0, skipped: SkippedTime::default(), ..results.counters };
    (counters, results.lanes.clone(), results.in_flight)
}

const RING: &str = r#"
    title = "a ring"
    [topology]
    kind = "leaf-spine"
    leaves = 2
    spines = 2
    hosts_per_leaf = 4
    [engine]
    ties = "fixed"
    [[workload]]
    kind = "allreduce"
    bytes = "16MB"
"#;

fn fast(text: &str) -> Results {
    run_with(text, &Options { fast_forward_events: Some(8), ..Options::new(scenario(text).seed.get()) }).0
}

#[test]
fn most_of_a_ring_all_reduce_is_skipped() {
    let results = fast(RING);
    let share = results.counters.skipped.skipped_ps * 100 / results.end.as_ps();
    assert!(share >= 80, "{share} %");
    let slow = run_with(RING, &Options::new(1)).0;
    assert_eq!(slow.collector.digest(), results.collector.digest());
    assert!(results.counters.events * 4 < slow.counters.events);
}

/// A jump ends before the next error of a link, and a later one follows.
#[test]
fn errors_happen_between_jumps() {
    let text = format!("{RING}[[impair]]\nkind = \"frames\"\nlinks = \"hosts\"\nrate = 1e-5\n");
    let results = fast(&text);
    assert!(results.counters.corrupted_frames > 0 && results.counters.skipped.jumps > 10);
}

#[test]
fn what_cannot_repeat_exactly_is_named() {
    let obstacle = |more: &str| fast(&format!("{RING}{more}")).fast_forward_obstacle;
    assert_eq!(obstacle(""), None);
    let transport = |setting: &str| obstacle(&format!("[transport]\n{setting}\n"));
    assert_eq!(transport("recovery = \"irn\""), Some("the transport is not go-back-N"));
    assert_eq!(transport("protocol = \"tcp\""), Some("some connections use TCP"));
    assert_eq!(obstacle("[mend]\ndummies = 1\n"), Some("packets are protected at the ends"));
    let ecn = "[switch.ecn]\nkmin = \"5kB\"\nkmax = \"200kB\"\npmax = 0.01\n";
    assert_eq!(obstacle(ecn), Some("switches mark, trim, pause or protect"));
    assert_eq!(
        obstacle("[switch]\nbalance = \"spray\"\n"),
        Some("switches do more than forward along shortest paths")
    );
}

/// The run stalls: a flow has failed, and the others of its group wait. The last event is an early timer.
#[test]
fn a_run_that_stalls_ends_at_the_same_time() {
    let text = draw::draw(19_655);
    assert_eq!(run_with(&text, &Options::new(19_655)).0.end_reason, EndReason::Stalled);
    check(&text, 19_655);
}

/// While a flow only waits for a timer that the run does not reach, a run ends without further samples.
#[test]
fn samples_end_with_the_last_event_before_the_time_limit() {
    let text = draw::draw(360);
    assert!(text.contains("after = \"700us\"") && text.contains("[series]"));
    check(&text, 360);
}
