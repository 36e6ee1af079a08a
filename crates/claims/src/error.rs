//! Why something could not be measured.

use std::fmt;
use std::io;

/// Why something could not be measured.
#[derive(Debug)]
pub enum Error {
    /// A run failed.
    Run(wiremend_runner::Error),
    /// No claim has this id; the message lists those there are.
    UnknownClaim(String),
    /// Values were to be changed, and nothing is simulated.
    NothingToChange,
    /// A run needs more memory than is free.
    Memory {
        /// The command that runs it.
        command: String,
    },
    /// No episode of losses was seen at this rate.
    NoEpisodes {
        /// Frames that the link loses, as a share.
        loss: f64,
    },
    /// A promise of the model cannot be simulated; the message names the argument of `wiremend tune` that says so.
    NotSimulable(String),
    /// A file or directory cannot be written.
    File(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(error) => error.fmt(f),
            Self::UnknownClaim(what) | Self::NotSimulable(what) => f.write_str(what),
            Self::NothingToChange => {
                f.write_str("--set: nothing is simulated for what was asked, so that nothing can be changed")
            }
            Self::Memory { command } => {
                write!(f, "not enough memory is free for `{command}`; try --threads 1")
            }
            Self::NoEpisodes { loss } => {
                write!(f, "no episodes at a loss of {loss:e}: the scenario was changed")
            }
            Self::File(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<wiremend_runner::Error> for Error {
    fn from(error: wiremend_runner::Error) -> Self {
        Self::Run(error)
    }
}
