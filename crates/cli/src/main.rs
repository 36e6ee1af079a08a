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
mod progress;
mod question;
mod rundir;
mod signals;
mod terminal;

use std::process::ExitCode;

fn main() -> ExitCode {
    match args::parse().and_then(commands::run) {
        Ok(answer) => answer.into(),
        Err(failure) => failure.report(),
    }
}
