//! The capacity of the fabric, and what a drain would do, by the planner.

use std::collections::BTreeMap;

use serde::Serialize;
use wiremend_fabric::tiers::{Scope, Tiers};
use wiremend_fleet::plan::{DrainPlanner, DrainRefusal, FabricState, ScopeCapacity};
use wiremend_monitor::planner::PlannerLimits;
use wiremend_monitor::redis::AdvisedAction;
use wiremend_units::{LinkId, SwitchId};

use crate::collector::Collector;
use crate::link_row::EndRecords;

/// A pod, or a switch of a pod, on the map.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct MapCell {
    name: String,
    /// Its links, for a pod those of its ToRs.
    links: usize,
    corrupting: usize,
    /// Links that are down or to be drained.
    out: usize,
    /// Smallest capacity of its ToRs, or that of the ToR, as a share of all of it.
    share: f64,
    /// Share that this ToR needs.
    required: f64,
    /// Uplinks, for a ToR.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    uplinks: Vec<Uplink>,
}

/// An uplink of a ToR.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct Uplink {
    link: String,
    to: String,
    state: &'static str,
}

/// What a drain would do.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct DrainPreview {
    allowed: bool,
    /// All links that would be taken out with it.
    links: Vec<String>,
    /// What the scope with the least capacity to spare would keep.
    text: String,
}

/// The links that are out of service by these records.
fn state(records: &BTreeMap<LinkId, [EndRecords; 2]>, now_ms: u64) -> FabricState {
    let any = |of: &dyn Fn(&EndRecords) -> bool| -> Vec<LinkId> {
        records.iter().filter(|(_, ends)| ends.iter().any(of)).map(|(link, _)| *link).collect()
    };
    let is_down = |end: &EndRecords| {
        end.observation.is_some_and(|seen| seen.down)
            || end.hold.as_ref().is_some_and(|hold| hold.maintenance && hold.left_ms(now_ms).is_some())
    };
    let is_drained =
        |end: &EndRecords| end.advice.as_ref().is_some_and(|advice| advice.action == AdvisedAction::Drain);
    let down = any(&is_down);
    let mut draining = any(&is_drained);
    draining.retain(|link| !down.contains(link));
    FabricState { down, draining, ..FabricState::default() }
}

/// The pods of the fabric, or the ToRs of one pod.
pub(crate) fn map(collector: &Collector<'_>, limits: PlannerLimits, pod: Option<&str>) -> Vec<MapCell> {
    let (tiers, records) = (collector.fabric().tiers(), collector.records());
    let state = state(records, collector.now_ms());
    let mut planner = DrainPlanner::new(tiers, &state, limits.constraint, limits.count);
    let mut tors: Vec<(SwitchId, ScopeCapacity)> = Vec::new();
    for capacity in planner.all_capacities() {
        if let Scope::Tor(tor) = capacity.scope {
            tors.push((tor, capacity));
        }
    }
    let cell_of = |name: &str, links: &[LinkId], capacity: &ScopeCapacity| {
        let share = |amount: u64| amount as f64 / capacity.total.max(1) as f64;
        let count = |is: &dyn Fn(&LinkId) -> bool| links.iter().filter(|link| is(link)).count();
        MapCell {
            name: name.to_owned(),
            links: links.len(),
            corrupting: count(&|link| is_corrupting(records, *link)),
            out: count(&|link| state.down.contains(link) || state.draining.contains(link)),
            share: share(capacity.amount),
            required: share(capacity.required),
            uplinks: Vec::new(),
        }
    };
    let pod_name = |tor| tiers.pod(tor).map_or("", |pod| tiers.pod_name(pod));
    match pod {
        Some(pod) => {
            let of_pod = tors.iter().filter(|(tor, _)| pod_name(*tor) == pod);
            let cells = of_pod.map(|(tor, capacity)| {
                let links = tiers.links_above(*tor);
                let uplinks = links.iter().map(|link| uplink(collector, &state, *link)).collect();
                MapCell { uplinks, ..cell_of(tiers.name(*tor), links, capacity) }
            });
            cells.collect()
        }
        None => pods(tiers, &tors, &cell_of),
    }
}

fn pods(
    tiers: &Tiers,
    tors: &[(SwitchId, ScopeCapacity)],
    cell_of: &dyn Fn(&str, &[LinkId], &ScopeCapacity) -> MapCell,
) -> Vec<MapCell> {
    // Links belong to the pod of their lower end.
    let mut links: Vec<Vec<LinkId>> = vec![Vec::new(); tiers.pod_count() as usize];
    for link in tiers.links() {
        if let Some(pod) = tiers.pod(tiers.link(link).lower) {
            links[pod as usize].push(link);
        }
    }
    let mut worst: BTreeMap<u32, ScopeCapacity> = BTreeMap::new();
    for (tor, capacity) in tors {
        let Some(pod) = tiers.pod(*tor) else { continue };
        let spare = |one: &ScopeCapacity| {
            (one.amount as i128 - one.required as i128) as f64 / one.total.max(1) as f64
        };
        let known = worst.entry(pod).or_insert(*capacity);
        if spare(capacity) < spare(known) {
            *known = *capacity;
        }
    }
    worst
        .iter()
        .map(|(pod, capacity)| cell_of(tiers.pod_name(*pod), &links[*pod as usize], capacity))
        .collect()
}

fn uplink(collector: &Collector<'_>, state: &FabricState, link: LinkId) -> Uplink {
    let row = collector.link(link);
    let is_corrupting = row.loss().is_some();
    let of = if state.down.contains(&link) {
        "down"
    } else if state.draining.contains(&link) {
        "drain"
    } else if is_corrupting && row.is_protected() {
        "protected"
    } else if is_corrupting {
        "corrupting"
    } else {
        "clean"
    };
    let [_, upper] = row.ends;
    Uplink { link: row.link, to: upper.port, state: of }
}

fn is_corrupting(records: &BTreeMap<LinkId, [EndRecords; 2]>, link: LinkId) -> bool {
    let ends = records.get(&link);
    ends.is_some_and(|ends| {
        ends.iter().any(|end| end.observation.is_some_and(|seen| seen.corrupting.is_some()))
    })
}

/// Returns what a drain of this link would do.
pub(crate) fn drain_preview(collector: &Collector<'_>, limits: PlannerLimits, link: LinkId) -> DrainPreview {
    let tiers = collector.fabric().tiers();
    let state = state(collector.records(), collector.now_ms());
    let mut planner = DrainPlanner::new(tiers, &state, limits.constraint, limits.count);
    let names = |links: &[LinkId]| -> Vec<String> {
        links.iter().map(|link| tiers.link_name(*link).replace(' ', " - ")).collect()
    };
    match planner.may_drain(link) {
        Ok(links) => {
            planner.take_out(&links);
            let tor = tiers.link(link).lower;
            let kept = planner.all_capacities().into_iter().find(|one| one.scope == Scope::Tor(tor));
            let text = kept.map_or_else(
                || "every ToR and pod keeps enough capacity".to_owned(),
                |kept| format!("{} would keep {}", kept.name(tiers), kept.numbers(limits.count)),
            );
            DrainPreview { allowed: true, links: names(&links), text }
        }
        Err(DrainRefusal::AlreadyOut) => DrainPreview {
            allowed: false,
            links: Vec::new(),
            text: "It is out of service already".to_owned(),
        },
        Err(DrainRefusal::TooLittle(short)) => DrainPreview {
            allowed: false,
            links: names(&[link]),
            text: format!("{} would keep {}", short.name(tiers), short.numbers(limits.count)),
        },
    }
}
