//! `wiremend`: the command line.
//!
//! `args` says what can be asked for, `commands` has a file for each command, and everything else is what commands
//! share: a scenario from wherever it is (`input`), its runs side by side (`batch`), what they leave behind (`output`), and what is told about them (`reading`, `progress`); a `question` that is answered by reckoning, and
//! how that is held against simulation (`verify`); years of whole fabrics (`fleet`). `claims` is
//! what papers say, and `ledger` measures and judges it.
//!
//! Data go to stdout, everything else to stderr. How a command ends is in `failure`.

mod args;
mod batch;
mod cause;
mod claims;
mod commands;
mod failure;
mod fleet;
mod input;
mod ledger;
mod machine;
mod order;
mod output;
mod pauses;
mod progress;
mod question;
mod rundir;
mod signals;
mod terminal;
mod verify;

use std::process::ExitCode;

fn main() -> ExitCode {
    match args::parse().and_then(commands::run) {
        Ok(answer) => answer.into(),
        Err(failure) => failure.report(),
    }
}
