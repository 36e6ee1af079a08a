//! `wiremend relay`: protect a link between two Linux machines.

mod ask;
mod serve;
mod view;

pub(crate) use serve::{poll, unusable};

use wiremend_dataplane::relay::{ClassError, ClassRule, ProtectionMode};

use wiremend_units::canonical_name;

use crate::args::operate::{Mode, Relay, RelayCommand};
use crate::failure::{Answer, Failure};

pub(crate) fn run(args: &Relay) -> Result<Answer, Failure> {
    match &args.command {
        RelayCommand::Run(args) => serve::run(args),
        RelayCommand::Status(args) => ask::status(args),
        RelayCommand::Activate(which) => ask::activate(which, true),
        RelayCommand::Deactivate(which) => ask::activate(which, false),
        RelayCommand::Set(args) => ask::set(args),
        RelayCommand::Restore(which) => serve::restore(which),
    }
}

/// Removes all classes.
const NO_CLASSES: &str = "none";

/// Parses the classes of the command line.
fn rules(words: &[String]) -> Result<Vec<ClassRule>, Failure> {
    let words = if words == [NO_CLASSES] { &[] } else { words };
    let modes = ["ordered", "non-blocking", "off"];
    let rule = |word: &String| {
        let respelled =
            word.split_once(':').and_then(|(which, mode)| Some((which, canonical_name(mode, &modes)?)));
        let word = respelled.map_or(word.clone(), |(which, mode)| format!("{}:{mode}", which.to_lowercase()));
        word.parse().map_err(|error| class_error(&error))
    };
    words.iter().map(rule).collect()
}

fn class_error(error: &ClassError) -> Failure {
    Failure::Input(format!("--class: {error}"))
}

pub(crate) fn protection_mode(mode: Mode) -> ProtectionMode {
    match mode {
        Mode::Ordered => ProtectionMode::Ordered,
        Mode::NonBlocking => ProtectionMode::NonBlocking,
        Mode::Off => ProtectionMode::Off,
    }
}
