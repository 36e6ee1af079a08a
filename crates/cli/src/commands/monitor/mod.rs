//! `wiremend monitor`: port counters and their interpretation.

mod acl;
mod config;
mod control;
mod explain;
mod record;
mod records;
mod release;
mod repaired;
mod replay;
mod service;
mod watch;

use crate::args::monitor::{Monitor, MonitorCommand};
use crate::failure::{Answer, Failure};

pub(super) fn run(asked: &Monitor) -> Result<Answer, Failure> {
    match &asked.command {
        MonitorCommand::Run(asked) => watch::run(asked),
        MonitorCommand::Control(asked) => control::run(asked),
        MonitorCommand::Release(asked) => release::run(asked),
        MonitorCommand::CheckConfig(asked) => config::run(asked),
        MonitorCommand::Repaired(asked) => repaired::run(asked),
        MonitorCommand::Acl(asked) => acl::run(asked),
        MonitorCommand::Record(asked) => record::run(asked),
        MonitorCommand::Replay(asked) => replay::run(asked),
        MonitorCommand::Explain(asked) => explain::run(asked),
    }
}
