//! `wiremend monitor run`: the daemon.

use super::config;
use super::service::serve;
use crate::args::monitor::MonitorRun as Asked;
use crate::failure::{Answer, Failure};
use crate::rundir;

pub(super) fn run(asked: &Asked) -> Result<Answer, Failure> {
    let config = config::load(&asked.service.config)?;
    let server = config::server(&config.redis, &config.node)?;
    let run_dir = rundir::path(&asked.place);
    serve(&asked.service, |service| service.run_node(&config, server, &asked.sysfs, &run_dir))
}
