//! `wiremend fleet plan`: which corrupting links to drain now.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use wiremend_fabric::tiers::Tiers;
use wiremend_fleet::optimize::STEPS_MAX;
use wiremend_fleet::plan::{
    CorruptionCost, DrainPlan, DrainPlanner, DrainRefusal, FabricState, LinkLoad, RepairStep, TorPaths,
    format_timestamp,
};
use wiremend_report::plot::standalone;

use super::fabric::Named;
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
    pub(super) broken: Vec<TorPaths>,
    /// Paths of every ToR before the drains.
    pub(super) tor_paths: Vec<TorPaths>,
    pub(super) advice: DrainPlan,
    pub(super) steps: Vec<RepairStep>,
    pub(super) now: CorruptionCost,
    pub(super) after: CorruptionCost,
}

pub(super) fn run(args: &FleetPlan) -> Result<Answer, Failure> {
    signals::catch()?;
    let fabric = Named::load(&args.fabric)?;
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
    let mut planner = DrainPlanner::new(&fabric.tiers, &state, args.constraint);
    if !args.drain.is_empty() {
        return may_drain(args, &fabric.tiers, &mut planner);
    }
    let effect = effect(&args.table)?;
    let (broken, tor_paths) = (planner.short_of_paths(), planner.all_tor_paths().collect());
    let advice = planner.advise(STEPS_MAX);
    let steps = planner.order(&advice, STEPS_MAX);
    let load = LinkLoad { utilization: args.load, ..LinkLoad::default() };
    let cost = |kept_only: bool| {
        let is_kept = |link| advice.keep.iter().any(|kept| kept.corrupting.link == link);
        let links = state.corrupting.iter().filter(|corrupting| !kept_only || is_kept(corrupting.link));
        CorruptionCost::for_links(&fabric.tiers, links, &effect, load)
    };
    let (now, after) = (cost(false), cost(true));
    let plan =
        Plan { args, fabric: &fabric, state: &state, age_s, broken, tor_paths, advice, steps, now, after };
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
fn may_drain(args: &FleetPlan, tiers: &Tiers, planner: &mut DrainPlanner<'_>) -> Result<Answer, Failure> {
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
            Err(DrainRefusal::TooFewPaths(broken)) => {
                all = false;
                let why = short(tiers, broken);
                (format!("no   {shown}: {why}"), json!({ "breaks": broken_json(tiers, broken) }))
            }
        };
        lines.push_str(&line);
        lines.push('\n');
        let mut value = value;
        value["link"] = json!(shown);
        value["may_drain"] = json!(!matches!(answer, Err(DrainRefusal::TooFewPaths(_))));
        values.push(value);
    }
    terminal::print(&if args.json { format!("{:#}\n", json!({ "drain": values })) } else { lines })?;
    Ok(if all { Answer::Yes } else { Answer::No })
}

/// Explains why a link has to stay.
pub(super) fn short(tiers: &Tiers, broken: &TorPaths) -> String {
    let TorPaths { tor, paths, required, total } = *broken;
    format!(
        "ToR {} would keep {paths} of {total} paths to the top tier, and needs {required}",
        tiers.name(tor)
    )
}

pub(super) fn broken_json(tiers: &Tiers, broken: &TorPaths) -> Value {
    let TorPaths { tor, paths, required, total } = *broken;
    json!({ "tor": tiers.name(tor), "paths": paths, "required": required, "total": total })
}
