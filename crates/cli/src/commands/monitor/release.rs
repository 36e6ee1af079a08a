//! `wiremend monitor release`: lets planners act again.

use wiremend_monitor::redis::PlannerStore;

use super::config;
use crate::args::monitor::MonitorRelease;
use crate::failure::{Answer, Failure};

pub(super) fn run(args: &MonitorRelease) -> Result<Answer, Failure> {
    let (config, ..) = config::load_planner(&args.config)?;
    let server = config::server(&config.redis, &config.user)?;
    let address = &config.redis.address;
    let failed = |why: &dyn std::fmt::Display| Failure::Environment(format!("Redis at {address}: {why}"));
    let mut store = PlannerStore::open(&server).map_err(|why| failed(&why))?;
    store.release("released by an operator").map_err(|why| failed(&why))?;
    Ok(Answer::Yes)
}
