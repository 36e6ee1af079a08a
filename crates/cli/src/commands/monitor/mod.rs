//! `wiremend monitor`: what ports count, and what it means.

mod explain;
mod record;

use crate::args::monitor::{Monitor, MonitorCommand};
use crate::failure::{Answer, Failure};

pub(super) fn run(asked: &Monitor) -> Result<Answer, Failure> {
    match &asked.command {
        MonitorCommand::Record(asked) => record::run(asked),
        MonitorCommand::Explain(asked) => explain::run(asked),
    }
}
