//! Errors of libraries as failures of commands.

use wiremend_report::shell_quoted;

use crate::failure::Failure;
use crate::signals;

/// The failure for the signal that was caught.
pub(crate) fn interrupted() -> Failure {
    Failure::Interrupted(signals::caught().unwrap_or(0))
}

impl From<wiremend_runner::Error> for Failure {
    fn from(error: wiremend_runner::Error) -> Self {
        use wiremend_runner::{Error, ErrorKind};
        match error.kind() {
            ErrorKind::Input if matches!(error, Error::UnknownLink(_) | Error::SameFile(_)) => {
                Self::Input(format!("--capture: {error}"))
            }
            ErrorKind::Input => Self::Input(error.to_string()),
            ErrorKind::Environment => Self::Environment(error.to_string()),
            ErrorKind::Interrupted => interrupted(),
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
                let words: Vec<String> = std::env::args().map(|word| shell_quoted(&word)).collect();
                let remedy = format!("run: sudo {}", words.join(" "));
                Self::Environment(format!("a lab needs network namespaces, and {why}; {remedy}"))
            }
            Error::NotPermitted { .. } | Error::Environment(_) => Self::Environment(error.to_string()),
            Error::Refused(why) => Self::Input(why),
            Error::Interrupted => interrupted(),
        }
    }
}

impl From<wiremend_monitor::service::Error> for Failure {
    fn from(error: wiremend_monitor::service::Error) -> Self {
        use wiremend_monitor::service::Error;
        match error {
            Error::Input(why) => Self::Input(why),
            Error::Environment(why) => Self::Environment(why),
        }
    }
}
