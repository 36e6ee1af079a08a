//! How a command ends: 0, 1 (it ran and the answer is no), 2 (bad input), 3 (the environment lacks something), or
//! 128 and the number of the signal that ended it (130 after Ctrl-C).

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

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
}

impl From<Answer> for ExitCode {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Yes => Self::SUCCESS,
            Answer::No => Self::from(1),
        }
    }
}
