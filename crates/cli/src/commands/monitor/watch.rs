//! `wiremend monitor run`: the daemon.

use super::config;
use super::service::serve;
use crate::args::monitor::MonitorRun;
use crate::failure::{Answer, Failure};
use crate::rundir;

pub(super) fn run(args: &MonitorRun) -> Result<Answer, Failure> {
    let config = config::load(&args.service.config)?;
    let server = config::server(&config.redis, &config.node)?;
    let run_dir = rundir::path(&args.place);
    serve(&args.service, |service| service.run_node(&config, server, &args.sysfs, &run_dir))
}
