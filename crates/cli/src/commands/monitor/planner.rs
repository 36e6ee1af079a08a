//! `wiremend monitor planner`: the planner.

use std::fmt::Write as _;

use wiremend_monitor::planner::{AdviceChange, NamedFabric, PlannerConfig, PlannerLeader};
use wiremend_monitor::redis::{PlannerStore, RedisServer};

use super::config;
use super::service::serve;
use crate::args::monitor::MonitorPlanner;
use crate::failure::{Answer, Failure};
use crate::terminal;

pub(super) fn run(args: &MonitorPlanner) -> Result<Answer, Failure> {
    let (config, topology, skipped) = config::load_planner(&args.service.config)?;
    for item in &skipped {
        terminal::print_message(&format!("skipped: {item}"));
    }
    let server = config::server(&config.redis, &config.user)?;
    if args.dry_run {
        return dry_run(&config, &topology, &server);
    }
    serve(&args.service, |service| service.run_planner(&config, &topology, &server))
}

/// Prints how the stored advice would change. Answers no if it would.
fn dry_run(config: &PlannerConfig, fabric: &NamedFabric, server: &RedisServer) -> Result<Answer, Failure> {
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
