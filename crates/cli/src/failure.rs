//! How a command ends: 0, 1 (it ran and the answer is no), 2 (bad input), 3 (the environment lacks something), or
//! 128 and the number of the signal that ended it (130 after Ctrl-C).

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::signals;
use wiremend_report::quoted;

/// A command that ran to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Yes,
    /// It ran, and the answer is no.
    No,
}

/// A command that could not.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for cannot be.
    Input(String),
    /// The machine lacks something; the message says how to get it.
    Environment(String),
    /// Somebody ended it by this signal.
    Interrupted(u8),
    /// Somebody ended it by this signal, and what was done by then is kept in this directory.
    Suspended(u8, PathBuf),
    /// Nobody reads the output any more: a fine way to end.
    ClosedPipe,
    /// Nothing failed: all there was to do is done.
    Done,
}

impl Failure {
    /// An error of a file, which names itself.
    pub(crate) fn file(error: &io::Error) -> Self {
        Self::Environment(error.to_string())
    }

    /// A file that is not there, or not for us.
    pub(crate) fn unreadable(name: &str, error: &io::Error) -> Self {
        Self::Input(format!("{name}: cannot be read: {error}"))
    }

    /// Says in one line on stderr what is wrong.
    pub(crate) fn report(self) -> ExitCode {
        let (message, code) = match self {
            Self::Input(message) => (message, 2),
            Self::Environment(message) => (message, 3),
            Self::Interrupted(signal) => ("interrupted; no file was left behind".to_owned(), 128 + signal),
            Self::Suspended(signal, kept) => {
                let kept = kept.display();
                let message = format!(
                    "interrupted; what is done is kept in `{kept}`, the same command goes on from there"
                );
                (message, 128 + signal)
            }
            Self::ClosedPipe | Self::Done => return ExitCode::SUCCESS,
        };
        crate::terminal::say(&message);
        ExitCode::from(code)
    }
}

/// The signal that ended the program.
pub(crate) fn interrupted() -> Failure {
    Failure::Interrupted(signals::caught().unwrap_or(0))
}

impl From<wiremend_runner::Error> for Failure {
    fn from(error: wiremend_runner::Error) -> Self {
        use wiremend_runner::{Error, Kind};
        match error.kind() {
            Kind::Input if matches!(error, Error::UnknownLink(_) | Error::SameFile(_)) => {
                Self::Input(format!("--capture: {error}"))
            }
            Kind::Input => Self::Input(error.to_string()),
            Kind::Environment => Self::Environment(error.to_string()),
            Kind::Interrupted => interrupted(),
        }
    }
}

impl From<wiremend_claims::Error> for Failure {
    fn from(error: wiremend_claims::Error) -> Self {
        use wiremend_claims::Error;
        match error {
            Error::Run(error) => error.into(),
            Error::UnknownClaim(_) | Error::NothingToChange | Error::NotSimulable(_) => {
                Self::Input(error.to_string())
            }
            Error::Memory { .. } | Error::NoEpisodes { .. } | Error::File(_) => {
                Self::Environment(error.to_string())
            }
        }
    }
}

impl From<wiremend_lab::Error> for Failure {
    fn from(error: wiremend_lab::Error) -> Self {
        use wiremend_lab::Error;
        match error {
            Error::NotPermitted { why, by_root: false } => {
                let words: Vec<String> = std::env::args().map(|word| quoted(&word)).collect();
                let remedy = format!("type: sudo {}", words.join(" "));
                Self::Environment(format!("a lab needs networks of its own, and {why}; {remedy}"))
            }
            Error::NotPermitted { .. } | Error::Environment(_) => Self::Environment(error.to_string()),
            Error::Refused(why) => Self::Input(why),
            Error::Interrupted => interrupted(),
        }
    }
}

impl From<Answer> for ExitCode {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Yes => Self::SUCCESS,
            Answer::No => Self::from(1),
        }
    }
}
