//! `wiremend monitor control`: the planner.

use super::config;
use super::service::serve;
use crate::args::monitor::MonitorControl as Asked;
use crate::failure::{Answer, Failure};

pub(super) fn run(asked: &Asked) -> Result<Answer, Failure> {
    let (config, topology) = config::load_planner(&asked.service.config)?;
    let server = config::server(&config.redis, &config.user)?;
    serve(&asked.service, |service| service.run_planner(&config, &topology, &server))
}
