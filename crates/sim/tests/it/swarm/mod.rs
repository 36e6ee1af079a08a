//! Random fabrics, workloads, impairments and recovery schemes: for every seed, no message is lost without a
//! reason, delivered twice or left hanging, and neither threads nor kinds of ports change a result.
//!
//! `WIREMEND_SWARM=from..to` runs other seeds; a failure prints the scenario. With `--nocapture` the digest of
//! every seed is printed, to compare two versions.

mod draw;

use crate::breakdown;
use crate::common::{run_with, scenario, swarm_seeds};
use wiremend_measure::{FlowOutcome, FlowRow};
use wiremend_scenario::App;
use wiremend_sim::{EndReason, Options, Results};

/// Seeds of the default run, in four parts that test runners execute in parallel.
const SEEDS: u64 = 400;

#[test]
fn invariants_hold_first_quarter() {
    share(0);
}

#[test]
fn invariants_hold_second_quarter() {
    share(1);
}

#[test]
fn invariants_hold_third_quarter() {
    share(2);
}

#[test]
fn invariants_hold_fourth_quarter() {
    share(3);
}

fn share(number: u64) {
    for seed in swarm_seeds(0..SEEDS).filter(|seed| seed % 4 == number) {
        let text = draw::draw(seed);
        if let Err(panic) = std::panic::catch_unwind(|| check(&text, seed)) {
            println!("seed {seed}:\n{text}");
            std::panic::resume_unwind(panic);
        }
    }
}

fn check(text: &str, seed: u64) {
    let plain = Options::new(seed);
    let (results, rows) = run_with(text, &plain);
    check_flows(text, &results, &rows);
    check_frames(&results);
    check_lossless(text, &results);
    let digest = results.collector.digest();
    println!("seed {seed}: {digest}");
    for (threads, time_order) in [(2, false), (3, false), (1, true)] {
        // Of three threads the first one often simulates alone.
        let thread_choice_events = (threads == 3).then_some(50);
        let options = Options { threads, time_order, thread_choice_events, ..plain.clone() };
        let (other, other_rows) = run_with(text, &options);
        let how = format!("{threads} threads, time order {time_order}");
        assert_eq!(other.collector.digest(), digest, "{how}");
        assert_eq!(other_rows, rows, "{how}");
        assert_eq!((other.end, other.counters), (results.end, results.counters), "{how}");
    }
    let (fast, fast_rows) = run_with(text, &Options { fast_forward_events: Some(seed % 3), ..plain.clone() });
    assert_eq!(fast_rows, rows, "skipping time");
    assert_eq!((fast.collector.digest(), fast.end), (digest, results.end), "skipping time");
    let (scheduled, scheduled_rows) = run_with(text, &Options { scheduled_ports: true, ..plain });
    assert_eq!(scheduled_rows, rows, "scheduled ports");
    assert_eq!(scheduled.collector.digest(), digest, "scheduled ports");
    check_breakdown(text);
}

/// The parts of a flow's time add up to its completion time.
fn check_breakdown(text: &str) {
    if let Some((breakdown, row)) = breakdown::trace(text, breakdown::slowest) {
        assert_eq!(breakdown.total(), row.fct(), "{row:?}");
    }
}

fn check_flows(text: &str, results: &Results, rows: &[FlowRow]) {
    let numbers: std::collections::BTreeSet<_> = rows.iter().map(|row| row.flow).collect();
    assert_eq!(numbers.len(), rows.len(), "a flow ends once");
    if results.end_reason == EndReason::Complete {
        let ended = |outcome| matches!(outcome, FlowOutcome::TimeLimit | FlowOutcome::Stalled);
        assert!(!rows.iter().any(|row| ended(row.outcome)), "a complete run has no open flow");
        if rows.iter().all(|row| row.outcome == FlowOutcome::Finished) {
            assert_eq!(rows.len() as u64, expected_flows(text), "every expected flow has ended");
        }
    }
    for row in rows {
        let finished = row.outcome == FlowOutcome::Finished;
        assert!(!finished || row.delivered_ps.is_some(), "a completed message was delivered: {row:?}");
        // Over unequal parallel links a ping-pong, a multipath scheme or a balanced flow may be faster than
        // its ideal time.
        let may_beat_ideal =
            ["ping-pong", "mp-rdma", "balance", "subflows"].iter().any(|word| text.contains(word));
        let faster = row.fct().as_ps() < row.ideal_ps && !may_beat_ideal;
        assert!(!finished || !faster, "no flow is faster than its ideal time: {row:?}");
        assert!(
            row.delivered_ps.is_none_or(|at| at <= row.end_ps),
            "delivery comes before completion: {row:?}"
        );
    }
    // A READ is delivered at the requester; all other messages are counted once by the receiver.
    if !text.contains("\"read\"") && !text.contains("ping-pong") {
        let delivered =
            |of: fn(&wiremend_sim::HostCounters) -> u64| results.hosts.iter().map(of).sum::<u64>();
        let known: Vec<_> = rows.iter().filter(|row| row.delivered_ps.is_some()).collect();
        let unknown = delivered(|host| host.delivered_messages) - known.len() as u64;
        // A requester that has failed, or whose flow the end of the run has cut off, may not learn of a
        // delivery.
        let silent = rows.iter().filter(|row| row.delivered_ps.is_none()).count() as u64;
        assert!(unknown <= silent, "every message is delivered once");
        if unknown == 0 {
            assert_eq!(
                delivered(|host| host.delivered_bytes),
                known.iter().map(|row| row.bytes).sum::<u64>()
            );
        }
    }
}

/// Returns the flows of all workloads, if none of them fails.
fn expected_flows(text: &str) -> u64 {
    let scenario = scenario(text);
    let flows = scenario.workloads.iter().map(|workload| match &workload.app {
        App::Poisson(app) => app.flows.expect("the swarm sets the number").get(),
        App::Flows(app) => app.endpoints().pairs(&scenario.topology).unwrap().len() * app.per_pair(),
        App::Allreduce(app) => {
            let sizes = app
                .members()
                .resolve(&scenario.topology)
                .unwrap()
                .into_iter()
                .map(|group| group.len() as u64);
            sizes.map(|size| size * 2 * (size - 1)).sum::<u64>() * u64::from(app.iterations.get())
        }
        App::Alltoall(app) => {
            let sizes = app
                .members()
                .resolve(&scenario.topology)
                .unwrap()
                .into_iter()
                .map(|group| group.len() as u64);
            sizes.map(|size| size * (size - 1)).sum::<u64>() * u64::from(app.iterations.get())
        }
        App::PingPong(app) => app.iterations.get(),
        App::Stream(app) => app.count.expect("the swarm sets the number").get(),
        App::Cbr(_) => 0,
        App::List(_) | App::Registered(_) => unreachable!("the swarm has neither files nor programs"),
    });
    flows.sum()
}

fn check_frames(results: &Results) {
    let hosts = |of: fn(&wiremend_sim::HostCounters) -> u64| results.hosts.iter().map(of).sum::<u64>();
    let dropped = results.counters.dropped_frames;
    let lost = results.counters.corrupted_frames + results.counters.failures.lost_frames;
    let gone = lost + dropped.lost() + results.in_flight;
    let copied: u64 = results
        .switches
        .iter()
        .map(|added| added.nak_copies.frames + added.retransmission_copies.frames)
        .sum();
    let made: u64 = results
        .link_ends
        .iter()
        .map(|end| end.sum.resent.frames + end.sum.control.frames + end.restored)
        .sum();
    let discarded: u64 = results.link_ends.iter().map(|end| end.discarded).sum();
    let pfc = results.counters.flow_control;
    assert_eq!(
        hosts(|host| host.tx_frames) + copied + made + pfc.frames,
        hosts(|host| host.rx_frames) + gone + discarded + pfc.received,
        "frames are conserved"
    );
}

/// On clean links, with computed headroom and pauses that are obeyed, no lossless frame is dropped.
fn check_lossless(text: &str, results: &Results) {
    let pfc = results.counters.flow_control;
    // The last one is a watchdog that makes ports ignore pauses.
    let is_clean = !["[[impair]]", "[[fail]]", "[mend]", "[[pause]]", "headroom", "\"forward\"\npoll"]
        .iter()
        .any(|word| text.contains(word));
    assert!(!is_clean || pfc.lossless_dropped == 0, "{pfc:?}");
    assert!(pfc.resumes <= pfc.pauses && pfc.corrupted <= results.counters.corrupted_frames, "{pfc:?}");
    assert!(pfc.lossless_dropped + pfc.lossy_dropped <= results.counters.dropped_frames.buffer, "{pfc:?}");
}
