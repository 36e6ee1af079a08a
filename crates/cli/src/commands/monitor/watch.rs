//! `wiremend monitor run`: the daemon.

use wiremend_monitor::service::{NodePaths, NodeSetup};

use super::config;
use super::service::{reason, serve};
use crate::args::monitor::MonitorRun;
use crate::failure::{Answer, Failure};
use crate::{log, rundir};

pub(super) fn run(args: &MonitorRun) -> Result<Answer, Failure> {
    log::start(args.service.log);
    let load = || -> Result<NodeSetup, Failure> {
        let config = config::load(&args.service.config)?;
        let server = config::server(&config.redis, &config.node)?;
        Ok(NodeSetup { config, server })
    };
    let first = load()?;
    let run_dir = rundir::path(&args.place);
    let paths = NodePaths { sysfs: &args.sysfs, run_dir: &run_dir };
    serve(&args.service, |service| service.run_node(first, &|| load().map_err(reason), paths))
}
