//! Errors of measurements.

use std::fmt;
use std::io;

/// Why a measurement failed.
#[derive(Debug)]
pub enum Error {
    /// A run failed.
    Run(wiremend_runner::Error),
    /// No claim has this id; the message lists the known ids.
    UnknownClaim(String),
    /// `--set` was given, but nothing is simulated.
    NothingToChange,
    /// A run needs more memory than is free.
    Memory {
        /// The command of the run.
        command: String,
    },
    /// A link with this loss rate had no loss episode.
    NoEpisodes {
        /// Loss rate of the link.
        loss: f64,
    },
    /// The simulator cannot test this prediction of the model; the message names the argument of `wiremend tune`
    /// that prevents it.
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
                f.write_str("--set: these claims simulate nothing, so no value can be changed; remove --set")
            }
            Self::Memory { command } => {
                write!(f, "not enough memory is free for `{command}`; try --threads 1")
            }
            Self::NoEpisodes { loss } => {
                write!(
                    f,
                    "no loss episodes at a loss rate of {loss:e}: the scenario was changed; run without --set"
                )
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
