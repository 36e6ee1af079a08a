//! How errors of libraries end a command.

use wiremend_report::quoted;

use crate::failure::Failure;
use crate::signals;

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

impl From<wiremend_monitor::service::Error> for Failure {
    fn from(error: wiremend_monitor::service::Error) -> Self {
        use wiremend_monitor::service::Error;
        match error {
            Error::Input(why) => Self::Input(why),
            Error::Environment(why) => Self::Environment(why),
        }
    }
}
