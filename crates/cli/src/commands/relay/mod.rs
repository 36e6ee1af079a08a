//! `wiremend relay`: protect a link between two Linux machines.

mod ask;
mod serve;
mod view;

pub(crate) use serve::{poll, unusable};

use crate::args::operate::{Relay, RelayCommand};
use crate::failure::{Answer, Failure};

pub(crate) fn run(asked: &Relay) -> Result<Answer, Failure> {
    match &asked.command {
        RelayCommand::Run(asked) => serve::run(asked),
        RelayCommand::Status(asked) => ask::status(asked),
        RelayCommand::Activate(which) => ask::activate(which, true),
        RelayCommand::Deactivate(which) => ask::activate(which, false),
        RelayCommand::Set(asked) => ask::set(asked),
        RelayCommand::Restore(which) => serve::restore(which),
    }
}
