//! `wiremend fleet plan`: which corrupting links to drain now.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use wiremend_fabric::tiers::{Scope, Tiers};
use wiremend_fleet::CapacityCount;
use wiremend_fleet::optimize::STEPS_MAX;
use wiremend_fleet::plan::{
    CorruptionCost, DrainPlan, DrainPlanner, DrainRefusal, FabricState, LinkLoad, RepairStep, ScopeCapacity,
    format_timestamp,
};
use wiremend_report::plot::standalone;
use wiremend_units::LinkId;

use super::fabric::{Named, SkippedItem};
use super::plan_report::PlanReport;
use super::run::write;
use super::{effect, is_json, read};
use crate::args::fleet::FleetPlan;
use crate::failure::{Answer, Failure};
use crate::{signals, terminal};

/// Tolerated difference of clocks.
const AHEAD_S: i64 = 300;

/// The state and the advice.
pub(super) struct Plan<'a> {
    pub(super) args: &'a FleetPlan,
    pub(super) fabric: &'a Named,
    pub(super) state: &'a FabricState,
    pub(super) age_s: i64,
    pub(super) count: CapacityCount,
    /// Invalid items of both files.
    pub(super) skipped: Vec<SkippedItem>,
    pub(super) broken: Vec<ScopeCapacity>,
    /// Capacity of every ToR, pod and domain before the drains.
    pub(super) capacities: Vec<ScopeCapacity>,
    pub(super) advice: DrainPlan,
    pub(super) steps: Vec<RepairStep>,
    pub(super) now: CorruptionCost,
    pub(super) after: CorruptionCost,
}

pub(super) fn run(args: &FleetPlan) -> Result<Answer, Failure> {
    signals::catch()?;
    let mut fabric = Named::load(&args.fabric)?;
    let (name, text) = read(&args.state)?;
    let parsed = if is_json(&args.state) {
        FabricState::parse_json(&text, &fabric.tiers)
    } else {
        FabricState::parse_csv(&text, &fabric.tiers)
    };
    let state = parsed.map_err(|error| {
        let between = if error.place.is_some() { ":" } else { ": " };
        Failure::Input(format!("{name}{between}{error}"))
    })?;
    let age_s = age(args, &state, &name)?;
    let mut skipped = std::mem::take(&mut fabric.skipped);
    skipped.extend(state.skipped.iter().map(|item| SkippedItem {
        file: name.clone(),
        place: item.place,
        what: item.what.clone(),
    }));
    let count = args.count.into();
    let mut planner = DrainPlanner::new(&fabric.tiers, &state, args.constraint, count);
    if !args.drain.is_empty() {
        return may_drain(args, &fabric.tiers, &mut planner, &skipped);
    }
    let effect = effect(&args.table)?;
    let (broken, capacities) = (planner.below_constraint(), planner.all_capacities());
    let advice = planner.advise(STEPS_MAX);
    let steps = planner.order(&advice, STEPS_MAX);
    let load = LinkLoad { utilization: args.load, ..LinkLoad::default() };
    let kept: BTreeSet<LinkId> = advice.keep.iter().map(|kept| kept.corrupting.link).collect();
    let cost = |kept_only: bool| {
        let links =
            state.corrupting.iter().filter(|corrupting| !kept_only || kept.contains(&corrupting.link));
        CorruptionCost::for_links(&fabric.tiers, links, &effect, load)
    };
    let (now, after) = (cost(false), cost(true));
    let plan = Plan {
        args,
        fabric: &fabric,
        state: &state,
        age_s,
        count,
        skipped,
        broken,
        capacities,
        advice,
        steps,
        now,
        after,
    };
    let report = PlanReport(&plan);
    if let Some(directory) = &args.out {
        let json = format!("{:#}\n", report.json());
        let files = [
            ("plan.json", json),
            ("pods.svg", standalone(&report.picture().svg())),
            ("report.html", report.page().html()),
        ];
        write(directory, &files)?;
    }
    terminal::print(&if args.json { format!("{:#}\n", report.json()) } else { report.text() })?;
    Ok(Answer::Yes)
}

/// Returns the age of the state, or an error if it is too old.
fn age(args: &FleetPlan, state: &FabricState, name: &str) -> Result<i64, Failure> {
    let clock = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    };
    let now = args.now.unwrap_or_else(clock);
    let age_s = now.saturating_sub(state.time_s);
    let taken = format_timestamp(state.time_s);
    if age_s < -AHEAD_S {
        let what = format!("{name}: the state is of {taken}, which is in the future; check the clocks");
        return Err(Failure::Input(what));
    }
    if age_s > i64::try_from(args.max_age).unwrap_or(i64::MAX) {
        let what = format!(
            "{name}: the state is of {taken}, {} old: too old to plan from; export a new one, or raise --max-age",
            duration_text(age_s)
        );
        return Err(Failure::Input(what));
    }
    Ok(age_s)
}

/// Renders a duration in the largest suitable unit.
pub(super) fn duration_text(seconds: i64) -> String {
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Checks whether these links may be drained, one after the other.
fn may_drain(
    args: &FleetPlan,
    tiers: &Tiers,
    planner: &mut DrainPlanner<'_>,
    skipped: &[SkippedItem],
) -> Result<Answer, Failure> {
    let count = args.count.into();
    let (mut lines, mut values, mut all) = (String::new(), Vec::new(), true);
    for name in &args.drain {
        let link = tiers.link_by_name(name).ok_or_else(|| {
            Failure::Input(format!(
                "--drain {name}: unknown link; expected a number below {}, or SWITCH:PORT",
                tiers.link_count()
            ))
        })?;
        let shown = tiers.link_name(link);
        let answer = planner.may_drain(link);
        let (line, value) = match &answer {
            Ok(links) => {
                planner.take_out(links);
                let names: Vec<_> = links.iter().map(|link| tiers.link_name(*link)).collect();
                let with = if links.len() > 1 {
                    format!(", with all of its cable: {}", names.join("; "))
                } else {
                    String::new()
                };
                (format!("yes  {shown}{with}"), json!({ "links": names }))
            }
            Err(DrainRefusal::AlreadyOut) => {
                (format!("yes  {shown} is disabled already"), json!({ "links": [] }))
            }
            Err(DrainRefusal::TooLittle(broken)) => {
                all = false;
                let why = short(tiers, count, broken);
                (format!("no   {shown}: {why}"), json!({ "breaks": capacity_json(tiers, count, broken) }))
            }
        };
        lines.push_str(&line);
        lines.push('\n');
        let mut value = value;
        value["link"] = json!(shown);
        value["may_drain"] = json!(!matches!(answer, Err(DrainRefusal::TooLittle(_))));
        values.push(value);
    }
    for item in skipped {
        let _ = writeln!(lines, "check {item}");
    }
    let json = json!({ "schema": SCHEMA, "count": count.to_string(), "check": skipped_json(skipped), "drain": values });
    terminal::print(&if args.json { format!("{json:#}\n") } else { lines })?;
    Ok(if all { Answer::Yes } else { Answer::No })
}

/// Version of the JSON output.
pub(super) const SCHEMA: u32 = 2;

/// Explains why a link has to stay.
pub(super) fn short(tiers: &Tiers, count: CapacityCount, broken: &ScopeCapacity) -> String {
    format!("{} would keep {}", broken.name(tiers), broken.numbers(count))
}

pub(super) fn capacity_json(tiers: &Tiers, count: CapacityCount, capacity: &ScopeCapacity) -> Value {
    let ScopeCapacity { scope, amount, required, total } = *capacity;
    let (kind, name) = match scope {
        Scope::Tor(tor) => ("tor", tiers.name(tor)),
        Scope::Pod(pod) => ("pod", tiers.pod_name(pod)),
        Scope::Domain(first) => ("domain_of_tor", tiers.name(first)),
    };
    let unit = if count == CapacityCount::Paths { "paths" } else { "bps" };
    json!({ kind: name, unit: amount, "required": required, "total": total })
}

pub(super) fn skipped_json(skipped: &[SkippedItem]) -> Value {
    let item = |item: &SkippedItem| {
        let (line, column) = item.place.unzip();
        json!({ "file": item.file, "line": line, "column": column, "what": item.what })
    };
    skipped.iter().map(item).collect()
}
