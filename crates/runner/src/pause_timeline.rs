//! The drawing of paused ports of a run.

use std::collections::BTreeMap;

use wiremend_fabric::Graph;
use wiremend_report::{PauseTimeline, PausedPort};
use wiremend_sim::{PauseInterval, Results};
use wiremend_units::LaneId;

/// The drawing of a run; `None` if no port was paused.
pub(crate) fn pause_timeline(title: String, graph: &Graph, results: &Results) -> Option<PauseTimeline> {
    let mut held: BTreeMap<LaneId, Vec<PauseInterval>> = BTreeMap::new();
    for interval in &results.pause_log {
        held.entry(interval.lane).or_default().push(*interval);
    }
    let first = results.deadlocks.first();
    let cycle = first.map_or(&[][..], |deadlock| &deadlock.cycle);
    let mut lanes: Vec<LaneId> = cycle.iter().copied().filter(|lane| held.contains_key(lane)).collect();
    // The other ports in the order of their first pause.
    let mut others: Vec<LaneId> = held.keys().copied().filter(|lane| !cycle.contains(lane)).collect();
    others.sort_by_key(|lane| (held[lane].iter().map(|one| one.from).min(), *lane));
    lanes.extend(others);
    let ns = |time: wiremend_units::Time| time.as_ps() as f64 / 1e3;
    let port = |lane: &LaneId| {
        let mut paused_ns: Vec<_> = held[lane].iter().map(|one| (ns(one.from), ns(one.until))).collect();
        paused_ns.sort_by(|a, b| a.0.total_cmp(&b.0));
        let place = cycle.iter().position(|other| other == lane);
        let waits_for = place.map(|place| graph.lane_name(cycle[(place + 1) % cycle.len()]));
        PausedPort { name: graph.lane_name(*lane), paused_ns, waits_for }
    };
    // The axis ends shortly after the last pause.
    let last = results.pause_log.iter().map(|one| ns(one.until)).fold(0.0, f64::max);
    (!lanes.is_empty()).then(|| PauseTimeline {
        title,
        ports: lanes.iter().map(port).collect(),
        end_ns: ns(results.end).min(last * 1.05),
        closed_ns: first.map(|deadlock| ns(deadlock.closed)),
    })
}
