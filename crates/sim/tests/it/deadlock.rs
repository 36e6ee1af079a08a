//! Forwarding loops, the deadlocks that they cause, and remedies.

use std::fmt::Write as _;

use crate::common::{run, run_with, scenario};
use proptest::prelude::*;
use wiremend_measure::FlowOutcome;
use wiremend_sim::{EndReason, Options, Results, Simulation};
use wiremend_units::Time;

/// The PFC draft's Fig. 1: two switches of 40G; B sends back to A the frames from A. Buffers are small, so
/// that deadlocks form quickly.
const LOOP: &str = r#"
title = "loop"
[topology]
kind = "chain"
switches = 2
hosts_per_end = 3
rate = "40Gbps"
delay = "500ns"
[switch.lossless]
classes = [3]
buffer = "600kB"
alpha = "1/4"
[transport]
class = 3
timeout = 8
[[workload]]
kind = "cbr"
src = "h0"
dst = "h5"
rate = "5Gbps"
class = 3
[stop]
after = "5ms"
[[route]]
switch = "s1"
to = "h5"
next = "s0"
"#;

/// Detects a deadlock within 5 µs of its start.
const TRUTH: &str = "[deadlock]\nevery = \"5us\"\nstill = \"0ns\"\n";

fn with(more: &str) -> String {
    format!("{LOOP}{more}")
}

fn closed(results: &Results) -> Option<Time> {
    results.deadlocks.first().map(|deadlock| deadlock.closed)
}

#[test]
fn frames_loop_until_their_ttl_expires() {
    let slow = LOOP.replace("\"5Gbps\"", "\"100Mbps\"") + "stop = \"1ms\"\n";
    let (results, _) = run(&slow);
    assert_eq!((results.end_reason, results.deadlocks.len()), (EndReason::TimeLimit, 0));
    // 100 Mb/s for 1 ms are about 12 frames of 1044 bytes on the wire, and the first switch takes the first
    // of 64 hops.
    let expired = results.counters.dropped_frames.ttl;
    assert!((10..=13).contains(&expired), "{expired}");
    let lanes = [results.lanes[12], results.lanes[13]].map(|lane| lane.tx_frames);
    let of_loop = results.lanes.iter().map(|lane| lane.tx_frames).filter(|frames| *frames > 200);
    assert_eq!(of_loop.clone().count(), 2, "both directions between the switches: {lanes:?}");
    // Frames after the end of the entry crossed once.
    let once = results.hosts[5].raw_frames;
    assert_eq!(of_loop.sum::<u64>(), expired * 63 + once);
}

#[test]
fn a_loop_causes_a_deadlock_and_ends_the_run() {
    let (results, _) = run(LOOP);
    assert_eq!(results.end_reason, EndReason::Deadlock);
    let found = results.deadlock.as_ref().unwrap();
    assert_eq!(found.cycle, ["s0>s1", "s1>s0"]);
    assert!(found.ended_run && found.class == 3);
    let closed = closed(&results).unwrap();
    assert!(closed < results.end && results.end < Time::from_ns(2_000_000), "{closed} {}", results.end);
    assert_eq!(results.counters.flow_control.lossless_dropped, 0);
    assert_eq!(results.summary("x").first_deadlock.as_ref(), Some(found));
    // The closing time does not depend on the check interval.
    for more in
        ["[deadlock]\nevery = \"7us\"\n", "[deadlock]\nstill = \"1ms\"\n", "[deadlock]\nstill = \"0ns\"\n"]
    {
        assert_eq!(self::closed(&run(&with(more)).0), Some(closed), "{more}");
    }
}

#[test]
fn flows_of_a_deadlocked_run_end_with_that_reason() {
    let flow = "[[workload]]\nkind = \"flows\"\npattern = \"point-to-point\"\nsrc = \"h1\"\ndst = \"h4\"\nbytes = \"4MB\"\nstart = \"100us\"\n";
    let (results, rows) = run(&with(flow));
    assert_eq!(results.end_reason, EndReason::Deadlock);
    assert_eq!(rows[0].outcome, FlowOutcome::Deadlock);
}

#[test]
fn results_are_the_same_on_any_number_of_threads() {
    let remedies = [
        "",
        "[deadlock]\nends_run = false\n",
        "[switch.watchdog]\npoll = \"200us\"\ndetection = \"400us\"\nrestoration = \"400us\"\n",
        "[switch.watchdog]\npoll = \"200us\"\ndetection = \"400us\"\nrestoration = \"400us\"\naction = \"forward\"\n",
        "[switch.demotion]\nttl_below = 60\nclass = 0\n",
        "[switch.demotion]\nbounces = 1\nclass = 0\n",
        "[switch.probes]\nafter = \"100us\"\n",
        "[switch.loops]\naction = \"drop\"\n",
    ];
    for remedy in remedies {
        let runs = [1, 2].map(|threads| {
            let options = Options { threads, log_pauses: true, ..Options::new(3) };
            run_with(&with(remedy).replace("\"5ms\"", "\"2ms\""), &options).0
        });
        let [one, two] = &runs;
        assert_eq!(one.collector.digest(), two.collector.digest(), "{remedy}");
        assert_eq!(one.deadlocks, two.deadlocks, "{remedy}");
        assert_eq!(one.pause_log, two.pause_log, "{remedy}");
        assert_eq!(one.counters.deadlocks, two.counters.deadlocks, "{remedy}");
        assert!(remedy.contains("demotion") || remedy.contains("loops") || !one.pause_log.is_empty());
    }
}

/// P3: a deadlock persists after the entry is correct again, and pauses reach hosts that never sent into the
/// loop.
#[test]
fn a_deadlock_outlives_its_loop_and_spreads() {
    let victim = "[[workload]]\nkind = \"cbr\"\nsrc = \"h1\"\ndst = \"h4\"\nrate = \"4Gbps\"\nclass = 3\n";
    let text = LOOP.to_owned() + "stop = \"2ms\"\n" + victim + "[deadlock]\nends_run = false\n";
    let (results, _) = run(&text);
    assert_eq!((results.end_reason, results.deadlocks.len()), (EndReason::TimeLimit, 1));
    let deadlock = &results.deadlocks[0];
    assert!(!deadlock.resolved && deadlock.seen >= Time::from_ns(4_900_000), "{deadlock:?}");
    let named = results.deadlock.as_ref().unwrap();
    assert_eq!(named.cycle, ["s0>s1", "s1>s0"]);
    assert_eq!(deadlock.waiting.len(), 2, "h0 and h1: {deadlock:?}");
}

/// A loop that ends before buffers are full leaves no deadlock.
#[test]
fn a_short_loop_leaves_no_deadlock() {
    let until = closed(&run(LOOP).0).unwrap().as_ns();
    let (short, _) = run(&(LOOP.to_owned() + &format!("stop = \"{}ns\"\n", until / 2)));
    assert_eq!((short.end_reason, short.deadlocks.len()), (EndReason::TimeLimit, 0));
    assert!(short.hosts[5].raw_frames > 1_000, "{}", short.hosts[5].raw_frames);
    let (long, _) = run(&(LOOP.to_owned() + &format!("stop = \"{}ns\"\n", until + 1_000)));
    assert_eq!(long.end_reason, EndReason::Deadlock);
}

/// All routes reach their destinations without a loop, and still a ring of one direction deadlocks.
#[test]
fn a_cycle_without_a_loop_is_detected() {
    let (results, _) = run(&ring(""));
    assert_eq!(results.end_reason, EndReason::Deadlock);
    assert_eq!(results.deadlock.unwrap().cycle.len(), 3);
    assert_eq!(results.counters.dropped_frames.ttl, 0);
    // There is no loop, so the loop detector finds nothing, but probes find the cycle.
    let (results, _) = run(&ring("[switch.loops]\naction = \"drop\"\n"));
    assert_eq!((results.end_reason, results.counters.deadlocks.returned_frames), (EndReason::Deadlock, 0));
    let (results, _) = run(&ring(&format!("[switch.probes]\nafter = \"50us\"\n{TRUTH}")));
    let counts = results.counters.deadlocks;
    assert!(
        counts.probe_detections > 0 && counts.resolved > 0 && counts.false_probe_detections == 0,
        "{counts:?}"
    );
}

/// Heavy congestion without deadlock: fifteen hosts send to one, with pauses everywhere and no cycle.
#[test]
fn congestion_is_no_deadlock() {
    let incast = r#"
title = "incast"
[topology]
kind = "fat-tree"
k = 4
rate = "40Gbps"
delay = "500ns"
[switch.lossless]
classes = [3]
buffer = "1MB"
[transport]
window = "unlimited"
class = 3
timeout = 14
[[workload]]
kind = "flows"
pattern = "incast"
dst = "h0"
bytes = "1MB"
[deadlock]
every = "5us"
still = "0ns"
"#;
    let (results, rows) = run(incast);
    assert_eq!((results.end_reason, results.deadlocks.len()), (EndReason::Complete, 0));
    assert!(rows.iter().all(|row| row.outcome == FlowOutcome::Finished));
    assert!(results.counters.flow_control.paused_hosts > 10);
    // Probes come to the same result from local state; a watchdog does not.
    let (results, _) = run(&(incast.to_owned() + "[switch.probes]\nafter = \"2us\"\n"));
    let counts = results.counters.deadlocks;
    assert!(counts.probes > 0 && counts.probe_detections == 0, "{counts:?}");
    let watchdog = "[switch.watchdog]\npoll = \"10us\"\ndetection = \"20us\"\nrestoration = \"20us\"\n";
    let (results, _) = run(&(incast.to_owned() + watchdog));
    let counts = results.counters.deadlocks;
    assert!(counts.storms > 0 && counts.false_storms == counts.storms, "{counts:?}");
    // With a detection time longer than such congestion, the watchdog does not act.
    let (results, _) = run(&(incast.to_owned() + "[switch.watchdog]\n"));
    assert_eq!(results.counters.deadlocks.storms, 0);
}

#[test]
fn a_watchdog_drops_until_the_deadlock_is_resolved() {
    let watchdog = "[switch.watchdog]\npoll = \"200us\"\ndetection = \"400us\"\nrestoration = \"400us\"\n";
    let (results, _) = run(&(LOOP.to_owned() + "stop = \"1ms\"\n" + watchdog));
    let counts = results.counters.deadlocks;
    assert_eq!((results.end_reason, counts.found, counts.resolved), (EndReason::TimeLimit, 1, 1));
    assert!(counts.storms > 0 && counts.watchdog_dropped_frames > 100, "{counts:?}");
    assert_eq!(counts.false_storms, 0);
    assert_eq!(results.counters.dropped_frames.remedy, counts.watchdog_dropped_frames);
    assert!(results.hosts[5].raw_frames > 500, "frames arrive again: {}", results.hosts[5].raw_frames);
    let (results, _) = run(&(LOOP.to_owned() + "stop = \"1ms\"\n" + watchdog + "action = \"alert\"\n"));
    assert!(results.counters.deadlocks.storms > 0 && results.counters.deadlocks.resolved == 0);
}

#[test]
fn looping_frames_are_demoted_and_fill_no_buffer() {
    for rule in ["ttl_below = 62", "bounces = 0"] {
        let text = with(&format!("[switch.demotion]\nclass = 0\n{rule}\n"));
        let (results, _) = run(&text);
        let counts = results.counters.deadlocks;
        assert_eq!((results.end_reason, counts.found), (EndReason::TimeLimit, 0), "{rule}");
        assert!(counts.demoted_frames > 1_000, "{rule}: {counts:?}");
        assert_eq!(results.counters.flow_control.lossless_dropped, 0);
    }
}

/// Probes drop a few frames where a watchdog drops a whole queue, and act earlier.
#[test]
fn probes_resolve_with_fewer_losses() {
    let healed = LOOP.to_owned() + "stop = \"1ms\"\n";
    let (results, _) = run(&(healed.clone() + "[switch.probes]\nafter = \"100us\"\n" + TRUTH));
    let counts = results.counters.deadlocks;
    assert!(counts.found >= 1 && counts.resolved == counts.found, "{counts:?}");
    assert!(counts.probe_detections >= 1 && counts.false_probe_detections == 0, "{counts:?}");
    assert!(results.hosts[5].raw_frames > 1_000, "{}", results.hosts[5].raw_frames);
    let watchdog = "[switch.watchdog]\npoll = \"50us\"\ndetection = \"100us\"\nrestoration = \"100us\"\n";
    let (with_watchdog, _) = run(&(healed + watchdog));
    let flushed = with_watchdog.counters.deadlocks.watchdog_dropped_frames;
    assert!(counts.probe_dropped_frames * 2 < flushed, "{} of {flushed}", counts.probe_dropped_frames);
}

/// A repeated frame reveals a loop long before buffers are full, and dropping such frames keeps the buffers
/// empty.
#[test]
fn a_switch_detects_a_loop_by_a_repeated_frame() {
    let (results, _) = run(&with("[switch.loops]\nexpiries = 3\n"));
    let (counts, closed) = (results.counters.deadlocks, closed(&results).unwrap().as_ns());
    let [repeat, expiry] = [counts.return_alarm_ns, counts.ttl_alarm_ns].map(Option::unwrap);
    assert!(repeat < 20_000 && repeat < expiry && expiry < closed, "{repeat} {expiry} {closed}");
    let (results, _) = run(&with("[switch.loops]\naction = \"drop\"\n"));
    let counts = results.counters.deadlocks;
    assert_eq!((results.end_reason, counts.found), (EndReason::TimeLimit, 0));
    assert_eq!(results.counters.flow_control.pauses, 0);
    assert!(counts.loop_dropped_frames > 1_000 && results.counters.dropped_frames.ttl == 0, "{counts:?}");
    // Without a loop no frame is repeated.
    let calm = LOOP.split("[[route]]").next().unwrap().to_owned() + "[switch.loops]\naction = \"drop\"\n";
    let (results, _) = run(&calm);
    assert_eq!(results.counters.deadlocks.returned_frames, 0);
    assert!(results.hosts[5].raw_frames > 1_000);
}

#[test]
fn invalid_entries_are_rejected() {
    let refusal = |more: &str| {
        let text = LOOP.split("[[route]]").next().unwrap().to_owned() + more;
        Simulation::build(&scenario(&text), &crate::common::NoFiles, &Options::new(1))
            .err()
            .map(|error| error.what)
    };
    let route = |switch: &str, to: &str, next: &str| {
        format!("[[route]]\nswitch = \"{switch}\"\nto = \"{to}\"\nnext = \"{next}\"\n")
    };
    for (switch, to, next, message) in [
        ("s9", "h5", "s0", "unknown switch `s9`"),
        ("h0", "h5", "s0", "`h0` is a host; name a switch"),
        ("s1", "h9", "s0", "unknown destination `h9`"),
        (
            "s1",
            "h5",
            "h0",
            "`h0` is neither a neighbour nor a link of `s1`; its neighbours are h3, h4, h5, s0",
        ),
        ("s1", "h5", "h0-s0", "`h0-s0` is neither a neighbour nor a link of `s1`"),
        ("s1", "h5", "s7", "unknown neighbour or link `s7`"),
        ("s1", "all", "h4", "`h4` is a host and cannot forward; name a switch"),
    ] {
        let what = refusal(&route(switch, to, next)).unwrap();
        assert!(what.contains(message), "{what}");
    }
    for (to, next) in [("h5", "s0-s1"), ("s1", "s0"), ("all", "s0"), ("h5", "h5")] {
        assert_eq!(refusal(&route("s1", to, next)), None, "{to} {next}");
    }
    let twice = route("s1", "h5", "s0") + "stop = \"2ms\"\n" + &route("s1", "h5", "h5") + "start = \"1ms\"\n";
    assert!(refusal(&twice).unwrap().contains("`s1` has two entries for `h5` at the same time"));
    assert_eq!(refusal(&twice.replace("1ms", "2ms")), None, "one after the other");
}

/// An entry for a host precedes an entry for all, each in its time.
#[test]
fn the_most_specific_entry_counts() {
    let all = "to = \"all\"\nnext = \"s0\"\n[[route]]\nswitch = \"s1\"\nto = \"h5\"\nnext = \"h5\"\n";
    let text = LOOP.replace("to = \"h5\"\nnext = \"s0\"\n", all);
    let (results, _) = run(&text);
    assert_eq!((results.end_reason, results.counters.dropped_frames.ttl), (EndReason::TimeLimit, 0));
    assert!(results.hosts[5].raw_frames > 2_900);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// A detected deadlock never resolves unless a frame is dropped, however early it is detected. Without a
    /// detected deadlock traffic continues: after the loop and its sources are gone, no port is paused.
    #[test]
    fn detected_deadlocks_are_permanent_and_other_congestion_dissolves(
        (rate, victims) in (500_u32..20_000, 0_u32..30_000),
        frame in 64_u16..4_096,
        (alpha, kilobytes) in (prop::sample::select(vec!["1/64", "1/8", "1/2", "2"]), 600_u32..2_000),
        (ttl, loop_us) in (4_u8..255, 5_u32..1_500),
        seed in 0_u64..1_000,
    ) {
        let mut text = LOOP
            .replace("\"600kB\"", &format!("\"{kilobytes}kB\""))
            .replace("\"1/4\"", &format!("\"{alpha}\""))
            .replace("rate = \"5Gbps\"\n", &format!("rate = \"{rate}Mbps\"\nframe = {frame}\nttl = {ttl}\nstop = \"2ms\"\n"));
        let _ = write!(text, "stop = \"{loop_us}us\"\n{TRUTH}ends_run = false\n");
        if victims > 0 {
            let _ = write!(
                text,
                "[[workload]]\nkind = \"cbr\"\nsrc = \"h1\"\ndst = \"h4\"\nrate = \"{victims}Mbps\"\nclass = 3\nstop = \"2ms\"\n\
                 [[workload]]\nkind = \"cbr\"\nsrc = \"h3\"\ndst = \"h2\"\nrate = \"{victims}Mbps\"\nclass = 3\nstop = \"2ms\"\n"
            );
        }
        // A load in its own class keeps the run going after all others.
        text += "[[workload]]\nkind = \"cbr\"\nsrc = \"h4\"\ndst = \"h3\"\nrate = \"1Mbps\"\nclass = 1\n";
        let options = Options { log_pauses: true, ..Options::new(seed) };
        let (results, _) = run_with(&text, &options);
        prop_assert_eq!(results.end_reason, EndReason::TimeLimit);
        prop_assert!(results.deadlocks.iter().all(|found| !found.resolved), "{:?}", results.deadlocks);
        let paused = results.pause_log.iter().filter(|pause| pause.until >= results.end).count();
        prop_assert_eq!(paused > 0, !results.deadlocks.is_empty(), "{} ports are paused: {:?}", paused, results.deadlocks);
    }
}

/// Three switches in a ring, each with a host that sends clockwise over two hops.
fn ring(more: &str) -> String {
    let mut text = r#"
title = "ring"
[topology]
kind = "graph"
hosts = ["h0", "h1", "h2"]
switches = ["s0", "s1", "s2"]
links = [
  { ends = ["h0", "s0"] }, { ends = ["h1", "s1"] }, { ends = ["h2", "s2"] },
  { ends = ["s0", "s1"] }, { ends = ["s1", "s2"] }, { ends = ["s2", "s0"] },
]
rate = "40Gbps"
delay = "500ns"
[switch.lossless]
classes = [3]
buffer = "400kB"
alpha = "1/4"
[transport]
class = 3
[stop]
after = "3ms"
"#
    .to_owned();
    for at in 0..3 {
        let (next, behind) = ((at + 1) % 3, (at + 2) % 3);
        let _ = write!(
            text,
            "[[route]]\nswitch = \"s{at}\"\nto = \"h{behind}\"\nnext = \"s{next}\"\n\
             [[workload]]\nkind = \"cbr\"\nsrc = \"h{at}\"\ndst = \"h{behind}\"\nrate = \"40Gbps\"\nclass = 3\n"
        );
    }
    text + more
}
