//! Errors of the runner.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Error of a run. Each message is one line: what is wrong, where, and what is valid.
#[derive(Debug)]
pub enum Error {
    /// The library has no scenario of this name; the message lists the existing ones.
    UnknownScenario(String),
    /// A scenario, or a file that it names, cannot be read.
    Unreadable {
        /// Requested name.
        name: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The text is not a valid scenario.
    Scenario(wiremend_scenario::Error),
    /// The text is too long or not UTF-8; the message has the position.
    NotText(String),
    /// The scenario has no such variant.
    UnknownVariant(String),
    /// The network has no such link.
    UnknownLink(String),
    /// The directory holds no run that can be repeated.
    NotARun(String),
    /// The output directory holds files that are not of a run.
    Occupied(String),
    /// Two captures have the same file.
    SameFile(PathBuf),
    /// The scenario is valid but cannot be simulated.
    Refused {
        /// Message with its position in the scenario.
        message: String,
        /// Whether the machine lacks something and the scenario is fine.
        environment: bool,
    },
    /// Frames and flows in flight need more memory than is free.
    Memory {
        /// The scenario.
        scenario: String,
        /// The variant.
        variant: String,
        /// Memory limit of a run.
        bytes_max: u64,
    },
    /// A file or directory cannot be written; the error names it.
    File(io::Error),
    /// The flag of [`Runner::stop`](crate::Runner::stop) was set. No file was left behind.
    Interrupted,
}

/// Who can resolve an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// The caller: the request is invalid.
    Input,
    /// The operator: the machine lacks something.
    Environment,
    /// The run was stopped on request.
    Interrupted,
}

impl Error {
    /// Who can resolve the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::UnknownScenario(_)
            | Self::Unreadable { .. }
            | Self::Scenario(_)
            | Self::NotText(_)
            | Self::UnknownVariant(_)
            | Self::UnknownLink(_)
            | Self::NotARun(_)
            | Self::Occupied(_)
            | Self::SameFile(_)
            | Self::Refused { environment: false, .. } => ErrorKind::Input,
            Self::Refused { environment: true, .. } | Self::Memory { .. } | Self::File(_) => {
                ErrorKind::Environment
            }
            Self::Interrupted => ErrorKind::Interrupted,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownScenario(what)
            | Self::NotText(what)
            | Self::UnknownVariant(what)
            | Self::UnknownLink(what)
            | Self::NotARun(what)
            | Self::Occupied(what)
            | Self::Refused { message: what, .. } => f.write_str(what),
            Self::Unreadable { name, source } => write!(f, "{name}: cannot be read: {source}"),
            Self::Scenario(error) => error.fmt(f),
            Self::SameFile(path) => {
                write!(f, "two captures into one file `{}`; give each its own", path.display())
            }
            Self::Memory { scenario, variant, bytes_max } => write!(
                f,
                "{scenario}: variant \"{variant}\": the frames and flows in flight need more than the {} of free memory; \
                 limit them with transport.window, topology.buffer or transport.qp, or lower the load",
                wiremend_report::human::bytes(*bytes_max as f64)
            ),
            Self::File(error) => error.fmt(f),
            Self::Interrupted => f.write_str("interrupted; no files were written"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<wiremend_scenario::Error> for Error {
    fn from(error: wiremend_scenario::Error) -> Self {
        Self::Scenario(error)
    }
}

/// `ErrorKind::Interrupted` means that the runner stopped the observer.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::Interrupted => Self::Interrupted,
            _ => Self::File(error),
        }
    }
}
