//! `wiremend monitor`: port counters and their interpretation.

mod acl;
pub(super) mod config;
mod explain;
mod hold;
mod planner;
mod record;
mod records;
mod release;
mod repaired;
mod replay;
mod service;
mod status;
mod watch;

use crate::args::monitor::{Monitor, MonitorCommand};
use crate::failure::{Answer, Failure};

pub(super) fn run(args: &Monitor) -> Result<Answer, Failure> {
    match &args.command {
        MonitorCommand::Run(args) => watch::run(args),
        MonitorCommand::Planner(args) => planner::run(args),
        MonitorCommand::Release(args) => release::run(args),
        MonitorCommand::CheckConfig(args) => config::run(args),
        MonitorCommand::Status(args) => status::run(args),
        MonitorCommand::Repaired(args) => repaired::run(args),
        MonitorCommand::Hold(args) => hold::hold(args),
        MonitorCommand::Unhold(args) => hold::unhold(args),
        MonitorCommand::Acl(args) => acl::run(args),
        MonitorCommand::Record(args) => record::run(args),
        MonitorCommand::Replay(args) => replay::run(args),
        MonitorCommand::Explain(args) => explain::run(args),
    }
}
