//! Errors of sweeps.

use std::fmt;
use std::io;
use std::path::Path;

/// Error of a sweep. Each message is one line: what is wrong, where, and what to do.
#[derive(Debug)]
pub enum Error {
    /// The study, the folder or an argument is wrong.
    Input(String),
    /// The machine lacks a program, a permission or space.
    Environment(String),
    /// A run failed or was stopped.
    Run(wiremend_runner::Error),
}

impl Error {
    /// A file that cannot be read or written; the error says which.
    pub(crate) fn file(what: &str, path: &Path, error: &io::Error) -> Self {
        Self::Environment(format!("cannot {what} `{}`: {error}", path.display()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(message) | Self::Environment(message) => f.write_str(message),
            Self::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<wiremend_runner::Error> for Error {
    fn from(error: wiremend_runner::Error) -> Self {
        Self::Run(error)
    }
}

impl From<wiremend_scenario::Error> for Error {
    fn from(error: wiremend_scenario::Error) -> Self {
        Self::Input(error.to_string())
    }
}
