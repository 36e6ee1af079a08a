//! `wiremend monitor planner`: the planner.

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
    serve(&args.service, |service| service.run_planner(&config, &topology, &server))
}
