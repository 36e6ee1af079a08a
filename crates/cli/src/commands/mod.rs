//! The commands, one file each.

mod check;
mod completions;
mod decode;
mod fleet;
pub(crate) mod lab;
mod link_header;
mod list;
mod man;
mod model;
mod monitor;
mod phy;
mod relay;
mod repro;
mod run;
mod schema;
mod show;
mod trace;
mod tune;

use std::sync::atomic::AtomicBool;

use wiremend_runner::Runner;

use crate::args::explain::ModelCommand;
use crate::args::{Arguments, CaptureCommand, Command, VERSION};
use crate::failure::{Answer, Failure};
use crate::progress::Progress;

/// Returns a runner of scenarios on these threads or all cores, with a progress bar and a stop flag.
fn runner<'a>(threads: Option<u16>, progress: &'a Progress, stop: &'a AtomicBool) -> Runner<'a> {
    let runner = Runner::new().version(VERSION).progress(progress).stop(stop);
    threads.map_or(runner, |threads| runner.threads(usize::from(threads)))
}

/// Runs the command; without one, the scenario `tour`.
pub(crate) fn run(arguments: Arguments) -> Result<Answer, Failure> {
    match arguments.command {
        Some(Command::Run(asked)) => run::run(&asked),
        Some(Command::Trace(asked)) => trace::run(&asked),
        Some(Command::Repro(asked)) => repro::run(&asked),
        Some(Command::List(asked)) => list::run(&asked),
        Some(Command::Show(asked)) => show::run(&asked),
        Some(Command::Model(asked)) => match &asked.command {
            Some(ModelCommand::Phy(asked)) => phy::run(asked),
            None => model::run(&asked),
        },
        Some(Command::Tune(asked)) => tune::run(&asked),
        Some(Command::Check(asked)) => check::run(&asked),
        Some(Command::Capture(asked)) => match asked.command {
            CaptureCommand::Decode(asked) => decode::run(&asked),
        },
        Some(Command::Relay(asked)) => relay::run(&asked),
        Some(Command::Monitor(asked)) => monitor::run(&asked),
        Some(Command::Fleet(asked)) => fleet::run(&asked),
        Some(Command::Lab(asked)) => lab::run(&asked),
        Some(Command::Schema(_)) => schema::run(),
        Some(Command::Completions(asked)) => completions::run(&asked),
        Some(Command::Man(asked)) => man::run(&asked),
        None => run::tour(),
    }
}
