//! P4: remedies that resolve a deadlock or prevent it.

use wiremend_measure::Metric;

use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "P4",
    title: "detection and resolution of deadlocks, and their cost",
    source: source("section 4 (solution: \"to be added\")"),
    paper: "The draft gives no solution. It asks for one that detects and resolves deadlocks caused by all kinds of \
           loops, in addition to fast loop detection",
    method: "The fault of P3, a routing loop of 5 ms at one leaf, with six remedies, and the same remedies under \
             congestion without a deadlock (15 hosts send to one that stops receiving for 10 ms). Lost packets are \
             those that the remedy or a lossy class dropped. Recovery is the time from the closure of the deadlock \
             until the global detector no longer finds it. Collateral is the pause time of ports outside the loop",
    note: "A watchdog waits longer than any pause that congestion causes, and then drops a whole queue and all \
           packets that arrive for it. A probe detects the cycle within one round trip around it, and a few dropped \
           packets free enough buffer for all others to advance by one switch. A loop guard prevents the deadlock: \
           the packets that it drops, those that return, are lost in any case",
    judge,
    ..Claim::FORM
};

const NONE: &str = "none";
const WATCHDOG: &str = "watchdog";
const FAST: &str = "fast watchdog";
const PROBES: &str = "probes";
const GUARD: &str = "loop guard";
const REMEDIES: [&str; 6] = [WATCHDOG, FAST, "demotion by TTL", "demotion by bounces", PROBES, GUARD];
const HOSTS_PER_LEAF: u32 = 4;
/// The lanes of the loop.
const LOOP: [&str; 2] = ["spine0>leaf1", "leaf1>spine0"];
/// The lane to the host whose packets loop.
const LOOPING: &str = "leaf1>h4";

/// The fault. A watchdog with its default times needs a longer run.
fn fault(remedy: &'static str) -> Run {
    let run = Run::new("claims/deadlock").variant(remedy).seconds(2.0);
    if remedy == WATCHDOG { run.set("stop.after", "450ms").seconds(8.0) } else { run }
}

fn congested(remedy: &'static str) -> Run {
    let run = Run::new("claims/congestion").variant(remedy).seconds(1.0);
    // A watchdog with its default times detects nothing earlier.
    if remedy == WATCHDOG { run.set("stop.after", "250ms").seconds(5.0) } else { run }
}

/// The fabric without the fault.
fn without_fault() -> Run {
    Run::new("claims/deadlock").variant(NONE).set("route", "[]").seconds(3.0)
}

/// Packets dropped by a lossy class or by the remedy, without those whose TTL ended.
fn lost(outcome: &Outcome) -> u64 {
    let dropped = outcome.summary.dropped_frames;
    dropped.buffer + dropped.remedy
}

/// Bytes that hosts other than the one behind the loop received until this time.
fn delivered(outcome: &Outcome, until_ns: u64) -> f64 {
    let lanes = (0..4 * HOSTS_PER_LEAF).map(|host| format!("leaf{}>h{host}", host / HOSTS_PER_LEAF));
    let bytes_over = |lane: String| {
        let samples = outcome.series(&lane, Metric::TxBytes).iter();
        samples.filter(|(at, _)| *at <= until_ns).map(|(_, bytes)| *bytes).sum::<u64>()
    };
    lanes.filter(|lane| lane != LOOPING).map(bytes_over).sum::<u64>() as f64
}

/// Pause time of ports outside the loop.
fn collateral_ns(outcome: &Outcome) -> f64 {
    let paused = outcome.lanes().filter(|(name, _)| !LOOP.contains(name)).map(|(_, lane)| lane.paused_ns);
    paused.sum::<u64>() as f64
}

fn recovery_ns(outcome: &Outcome) -> f64 {
    let deadlocks = outcome.summary.deadlocks;
    if deadlocks.found > deadlocks.resolved {
        f64::INFINITY
    } else {
        deadlocks.duration_ns as f64 / deadlocks.found.max(1) as f64
    }
}

fn false_alarms(outcome: &Outcome) -> u64 {
    let deadlocks = outcome.summary.deadlocks;
    deadlocks.false_storms + deadlocks.false_probe_detections + deadlocks.loop_dropped_frames
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let outcome = |remedy| results.outcome(&fault(remedy));
    let none = outcome(NONE).summary.deadlocks;
    judgement.must("deadlocks that persist without a remedy", count(none.found - none.resolved).is(1));
    for remedy in REMEDIES {
        let counts = outcome(remedy).summary.deadlocks;
        judgement.none(format!("deadlocks that persist, {remedy}"), counts.found - counts.resolved);
        let frames = outcome(remedy).summary.flow_control.lossless_dropped;
        judgement.none(format!("lossless packets dropped because the buffer was full, {remedy}"), frames);
    }
    let (probes, fast) = (lost(outcome(PROBES)) as f64, lost(outcome(FAST)) as f64);
    judgement.must(
        "packets lost with probes divided by those with a fast watchdog",
        fraction(probes / fast.max(1.0)).at_most(0.05),
    );
    judgement.must("recovery time with probes", time_ns(recovery_ns(outcome(PROBES))).at_most(1e6));
    judgement.some("deadlocks with probes", outcome(PROBES).summary.deadlocks.found);
    let guard = outcome(GUARD).summary.deadlocks;
    judgement.none("deadlocks with a loop guard", guard.found);
    judgement.none(
        "packets that the loop guard dropped on their first pass",
        lost(outcome(GUARD)) - guard.returned_frames,
    );
    judgement.none("pauses with a loop guard", outcome(GUARD).summary.flow_control.pauses);
    for remedy in REMEDIES {
        let congested = results.outcome(&congested(remedy));
        judgement.none(format!("deadlocks under congestion, {remedy}"), congested.summary.deadlocks.found);
        if [PROBES, GUARD].contains(&remedy) {
            judgement.none(format!("false alarms under congestion, {remedy}"), false_alarms(congested));
        }
    }
    let watchdog_alarms = false_alarms(results.outcome(&congested(FAST)));
    judgement.some("false alarms of a fast watchdog under congestion", watchdog_alarms);
    judgement.table(
        "| closed after | recovery | packets lost | bytes that other hosts received in 60 ms | pause time outside the \
         loop | hosts paused | false alarms",
        rows(results),
    );
    judgement.plot("p4", &figure(results));
}

fn rows(results: &Results<'_>) -> Vec<Vec<String>> {
    let base = delivered(results.outcome(&without_fault()), MEASURED_NS);
    let row = |remedy: &'static str| {
        let outcome = results.outcome(&fault(remedy));
        let counts = outcome.summary.deadlocks;
        let recovery = recovery_ns(outcome);
        let alarms = if remedy == NONE {
            "–".to_owned()
        } else {
            human::count(false_alarms(results.outcome(&congested(remedy))))
        };
        vec![
            remedy.to_owned(),
            counts.closed_ns.map_or("never".to_owned(), |closed| human::time_ns(closed as f64)),
            match counts.found {
                0 => "–".to_owned(),
                _ if recovery.is_infinite() => "never".to_owned(),
                1 => human::time_ns(recovery),
                many => format!("{} on average of {many}", human::time_ns(recovery)),
            },
            human::count(lost(outcome)),
            format!("{} %", human::percent(delivered(outcome, MEASURED_NS) / base.max(1.0))),
            human::time_ns(collateral_ns(outcome)),
            human::count(outcome.summary.flow_control.paused_hosts),
            alarms,
        ]
    };
    [NONE].into_iter().chain(REMEDIES).map(row).collect()
}

/// All remedies are compared over the same time.
const MEASURED_NS: u64 = 60_000_000;

/// Bytes received by the other hosts over time.
fn figure(results: &Results<'_>) -> Plot {
    const STEP_NS: u64 = 500_000;
    let curve = |remedy: &'static str| {
        let outcome = results.outcome(&fault(remedy));
        let point = |step: u64| {
            let bytes = delivered(outcome, (step + 1) * STEP_NS) - delivered(outcome, step * STEP_NS);
            ((step * STEP_NS) as f64, bytes * 8.0 / (STEP_NS as f64 * 1e-9))
        };
        Curve::steps(remedy, (0..30).map(point))
    };
    Plot::new(
        "Throughput of hosts outside the loop: loop from 1 to 6 ms",
        "Bits per second that arrive at all hosts except that of the loop, over time.",
        Axis::new("time", Scale::Linear, Unit::TimeNs),
        Axis::new("throughput", Scale::Linear, Unit::RateBps),
        [NONE, FAST, PROBES, GUARD].map(curve).to_vec(),
    )
}
