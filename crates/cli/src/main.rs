//! `wiremend`: the command line.
//!
//! `args` says what can be asked for, `commands` has a file for each command, and everything else is what commands
//! share: arguments as values of the model (`question`), a bar (`progress`), Ctrl-C (`signals`), what is written where (`terminal`,
//! `rundir`). The work is done by libraries: scenarios are run by `wiremend-runner`, claims judged by `wiremend-claims`, and the
//! laboratory is `wiremend-lab`.
//!
//! Data go to stdout, everything else to stderr. How a command ends is in `failure`.

mod args;
mod commands;
mod failure;
mod libraries;
mod progress;
mod question;
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

/// Says in one line on stderr what is wrong.
fn report(failure: Failure) -> ExitCode {
    let (message, code) = match failure {
        Failure::Input(message) => (message, 2),
        Failure::Environment(message) => (message, 3),
        Failure::Interrupted(signal) => ("interrupted; no file was left behind".to_owned(), 128 + signal),
        Failure::Suspended(signal, kept) => {
            let kept = kept.display();
            let message =
                format!("interrupted; what is done is kept in `{kept}`, the same command goes on from there");
            (message, 128 + signal)
        }
        Failure::ClosedPipe | Failure::Done => return ExitCode::SUCCESS,
    };
    terminal::say(&message);
    ExitCode::from(code)
}
