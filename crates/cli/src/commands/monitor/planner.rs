//! `wiremend monitor planner`: the planner.

use std::fmt::Write as _;

use wiremend_monitor::planner::{AdviceChange, PlannerLeader};
use wiremend_monitor::redis::PlannerStore;
use wiremend_monitor::service::PlannerSetup;

use super::config;
use super::service::{reason, serve};
use crate::args::monitor::MonitorPlanner;
use crate::failure::{Answer, Failure};
use crate::{log, terminal};

pub(super) fn run(args: &MonitorPlanner) -> Result<Answer, Failure> {
    if args.dry_run {
        return dry_run(&load(args)?);
    }
    log::start(args.service.log);
    let first = load(args)?;
    serve(&args.service, |service| service.run_planner(first, &|| load(args).map_err(reason)))
}

fn load(args: &MonitorPlanner) -> Result<PlannerSetup, Failure> {
    let (config, fabric, skipped) = config::load_planner(&args.service.config)?;
    let server = config::server(&config.redis, &config.user)?;
    Ok(PlannerSetup { config, fabric, skipped: skipped.iter().map(ToString::to_string).collect(), server })
}

/// Prints how the stored advice would change. Answers no if it would.
fn dry_run(PlannerSetup { config, fabric, skipped, server }: &PlannerSetup) -> Result<Answer, Failure> {
    for item in skipped {
        terminal::print_message(&format!("skipped: {item}"));
    }
    let failed = |why: &dyn std::fmt::Display| config::redis_failure(&config.redis, why);
    let mut store = PlannerStore::open(server).map_err(|why| failed(&why))?;
    let changes = PlannerLeader::dry_run(fabric, config.limits, &mut store).map_err(|why| failed(&why))?;
    let mut text = String::new();
    for AdviceChange { link, before, after } in &changes {
        let name = fabric.tiers().link_name(*link).replace(' ', " - ");
        let because = if after.reason.is_empty() { String::new() } else { format!(": {}", after.reason) };
        let _ = writeln!(text, "{name}: {} becomes {}{because}", before.action.name(), after.action.name());
    }
    let _ =
        writeln!(text, "advice on {} of {} links would change", changes.len(), fabric.tiers().link_count());
    terminal::print(&text)?;
    Ok(if changes.is_empty() { Answer::Yes } else { Answer::No })
}
