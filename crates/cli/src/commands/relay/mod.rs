//! `wiremend relay`: protect a link between two Linux machines.

mod ask;
mod serve;
mod view;

pub(crate) use serve::{poll, unusable};

use wiremend_dataplane::relay::{Care, ClassError, Rule};

use crate::args::operate::{Mode, Relay, RelayCommand};
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

/// The word for no classes at all.
const NO_CLASSES: &str = "none";

/// Classes as they are written on the command line.
fn rules(words: &[String]) -> Result<Vec<Rule>, Failure> {
    let words = if words == [NO_CLASSES] { &[] } else { words };
    words.iter().map(|word| word.parse().map_err(|error| misfit(&error))).collect()
}

fn misfit(error: &ClassError) -> Failure {
    Failure::Input(format!("--class: {error}"))
}

pub(crate) fn care(mode: Mode) -> Care {
    match mode {
        Mode::Ordered => Care::Ordered,
        Mode::NonBlocking => Care::NonBlocking,
        Mode::Off => Care::Off,
    }
}
