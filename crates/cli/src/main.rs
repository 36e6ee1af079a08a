//! `wiremend`: the command line.
//!
//! `args` defines the arguments, and `commands` has one file per command. The other modules are shared by commands:
//! conversion of arguments to model input (`model_input`), the progress bar (`progress`), Ctrl-C (`signals`), output
//! (`terminal`), the log of services (`log`) and the directory of sockets (`rundir`). Libraries do the work: `wiremend-runner` runs scenarios, `wiremend-claims` judges
//! claims, and `wiremend-lab` runs the lab.
//!
//! Data go to stdout, everything else to stderr. `failure` defines the exit codes.

mod args;
mod commands;
mod failure;
mod input_file;
mod libraries;
mod log;
mod model_input;
mod progress;
mod rundir;
mod signals;
mod terminal;

use std::process::ExitCode;

use crate::failure::Failure;

fn main() -> ExitCode {
    match args::parse().and_then(commands::run) {
        Ok(answer) => answer.into(),
        Err(failure) => report(failure),
    }
}

/// Prints the failure as one line on stderr and returns the exit code.
fn report(failure: Failure) -> ExitCode {
    let (message, code) = match failure {
        Failure::Input(message) => (message, 2),
        Failure::Environment(message) => (message, 3),
        Failure::Interrupted(signal) => ("interrupted; no files were written".to_owned(), 128 + signal),
        Failure::Suspended(signal, kept) => {
            let kept = kept.display();
            let message =
                format!("interrupted; results so far are in `{kept}`; the same command continues from them");
            (message, 128 + signal)
        }
        Failure::ClosedPipe | Failure::Done => return ExitCode::SUCCESS,
    };
    if log::is_started() {
        tracing::error!("{message}");
    } else {
        terminal::print_message(&message);
    }
    ExitCode::from(code)
}
