//! `wiremend fleet plan`: what to do about the links that corrupt now.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use wiremend_fabric::tiers::Tiers;
use wiremend_fleet::optimize::STEPS_MAX;
use wiremend_fleet::plan::{Advice, Broken, Cost, FabricState, Load, Planner, Refusal, Step, show_timestamp};
use wiremend_report::plot::standalone;

use super::fabric::Named;
use super::plan_told::Told;
use super::run::write;
use super::{effect, is_json, read};
use crate::args::fleet::FleetPlan;
use crate::failure::{Answer, Failure};
use crate::{signals, terminal};

/// A clock may be a little ahead of another.
const AHEAD_S: i64 = 300;

/// All that is known and advised.
pub(super) struct Plan<'a> {
    pub(super) asked: &'a FleetPlan,
    pub(super) fabric: &'a Named,
    pub(super) state: &'a FabricState,
    pub(super) age_s: i64,
    pub(super) broken: Vec<Broken>,
    /// The ways of every ToR before anything is drained.
    pub(super) standings: Vec<Broken>,
    pub(super) advice: Advice,
    pub(super) steps: Vec<Step>,
    pub(super) now: Cost,
    pub(super) after: Cost,
}

pub(super) fn run(asked: &FleetPlan) -> Result<Answer, Failure> {
    signals::catch()?;
    let fabric = Named::load(&asked.fabric)?;
    let (name, text) = read(&asked.state)?;
    let parsed = if is_json(&asked.state) {
        FabricState::parse_json(&text, &fabric.tiers)
    } else {
        FabricState::parse_csv(&text, &fabric.tiers)
    };
    let state = parsed.map_err(|error| {
        let between = if error.place.is_some() { ":" } else { ": " };
        Failure::Input(format!("{name}{between}{error}"))
    })?;
    let age_s = age(asked, &state, &name)?;
    let mut planner = Planner::new(&fabric.tiers, &state, asked.constraint);
    if !asked.drain.is_empty() {
        return may_drain(asked, &fabric.tiers, &mut planner);
    }
    let effect = effect(&asked.table)?;
    let (broken, standings) = (planner.broken(), planner.standings().collect());
    let advice = planner.advise(STEPS_MAX);
    let steps = planner.order(&advice, STEPS_MAX);
    let load = Load { part: asked.load, ..Load::default() };
    let cost = |kept_only: bool| {
        let is_kept = |link| advice.keep.iter().any(|kept| kept.corrupting.link == link);
        let links = state.corrupting.iter().filter(|ill| !kept_only || is_kept(ill.link));
        Cost::of(&fabric.tiers, links, &effect, load)
    };
    let (now, after) = (cost(false), cost(true));
    let plan =
        Plan { asked, fabric: &fabric, state: &state, age_s, broken, standings, advice, steps, now, after };
    let told = Told(&plan);
    if let Some(directory) = &asked.out {
        let json = format!("{:#}\n", told.json());
        let files = [
            ("plan.json", json),
            ("pods.svg", standalone(&told.picture().svg())),
            ("report.html", told.page().html()),
        ];
        write(directory, &files)?;
    }
    terminal::print(&if asked.json { format!("{:#}\n", told.json()) } else { told.text() })?;
    Ok(Answer::Yes)
}

/// How old the state is; too old is refused.
fn age(asked: &FleetPlan, state: &FabricState, name: &str) -> Result<i64, Failure> {
    let clock = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    };
    let now = asked.now.unwrap_or_else(clock);
    let age_s = now.saturating_sub(state.time_s);
    let taken = show_timestamp(state.time_s);
    if age_s < -AHEAD_S {
        let what = format!("{name}: the state is of {taken}, which is to come; check the clocks");
        return Err(Failure::Input(what));
    }
    if age_s > i64::try_from(asked.max_age).unwrap_or(i64::MAX) {
        let what = format!(
            "{name}: the state is of {taken}, {} old: too stale to plan from; take a new one, or allow it by --max-age",
            spoken(age_s)
        );
        return Err(Failure::Input(what));
    }
    Ok(age_s)
}

/// A time as people say it.
pub(super) fn spoken(seconds: i64) -> String {
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Whether these links may go, one after the other.
fn may_drain(asked: &FleetPlan, tiers: &Tiers, planner: &mut Planner<'_>) -> Result<Answer, Failure> {
    let (mut lines, mut values, mut all) = (String::new(), Vec::new(), true);
    for name in &asked.drain {
        let link = tiers.link_by_name(name).ok_or_else(|| {
            Failure::Input(format!(
                "--drain {name}: no such link; write a number below {}, or SWITCH:PORT",
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
            Err(Refusal::IsOut) => (format!("yes  {shown} is out already"), json!({ "links": [] })),
            Err(Refusal::Breaks(broken)) => {
                all = false;
                let why = short(tiers, broken);
                (format!("no   {shown}: {why}"), json!({ "breaks": broken_json(tiers, broken) }))
            }
        };
        lines.push_str(&line);
        lines.push('\n');
        let mut value = value;
        value["link"] = json!(shown);
        value["may_drain"] = json!(!matches!(answer, Err(Refusal::Breaks(_))));
        values.push(value);
    }
    terminal::print(&if asked.json { format!("{:#}\n", json!({ "drain": values })) } else { lines })?;
    Ok(if all { Answer::Yes } else { Answer::No })
}

/// Why a link has to stay.
pub(super) fn short(tiers: &Tiers, broken: &Broken) -> String {
    let Broken { tor, ways, need, all } = *broken;
    format!("ToR {} would keep {ways} of {all} ways to the top, and needs {need}", tiers.name(tor))
}

pub(super) fn broken_json(tiers: &Tiers, broken: &Broken) -> Value {
    let Broken { tor, ways, need, all } = *broken;
    json!({ "tor": tiers.name(tor), "ways": ways, "need": need, "all": all })
}
