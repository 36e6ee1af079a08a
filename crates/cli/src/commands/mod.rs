//! The commands, one file each.

mod check;
mod completions;
mod decode;
mod decode_roce;
mod explain;
mod explain_page;
mod fleet;
pub(crate) mod lab;
mod link_header;
mod list;
mod lossless_buffers;
mod man;
mod model;
mod monitor;
mod peer;
mod peer_live;
mod peer_probe;
mod phy;
mod relay;
mod repro;
mod rerun;
mod run;
mod schema;
mod serve;
mod show;
mod sweep;
mod trace;
mod tune;

use std::sync::atomic::AtomicBool;

use wiremend_runner::Runner;

use crate::args::capture::CaptureCommand;
use crate::args::explain::ModelCommand;
use crate::args::{Arguments, Command, VERSION};
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
        Some(Command::Run(args)) => run::run(&args),
        Some(Command::Rerun(args)) => rerun::run(&args),
        Some(Command::Sweep(args)) => sweep::run(&args),
        Some(Command::Trace(args)) => trace::run(&args),
        Some(Command::Repro(args)) => repro::run(&args),
        Some(Command::List(args)) => list::run(&args),
        Some(Command::Show(args)) => show::run(&args),
        Some(Command::Model(args)) => match &args.command {
            Some(ModelCommand::Phy(args)) => phy::run(args),
            None => model::run(&args),
        },
        Some(Command::Tune(args)) => tune::run(&args),
        Some(Command::Check(args)) => check::run(&args),
        Some(Command::Capture(args)) => match args.command {
            CaptureCommand::Decode(args) => decode::run(&args),
            CaptureCommand::Explain(args) => explain::run(&args),
        },
        Some(Command::Relay(args)) => relay::run(&args),
        Some(Command::Monitor(args)) => monitor::run(&args),
        Some(Command::Fleet(args)) => fleet::run(&args),
        Some(Command::Lab(args)) => lab::run(&args),
        Some(Command::Peer(args)) => peer::run(&args),
        Some(Command::Serve(args)) => serve::run(&args),
        Some(Command::Schema(_)) => schema::run(),
        Some(Command::Completions(args)) => completions::run(&args),
        Some(Command::Man(args)) => man::run(&args),
        None => run::tour(),
    }
}
