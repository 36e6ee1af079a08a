//! Why something could not be run.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why something could not be run. Each message is a line that says what is wrong, where, and what would be right.
#[derive(Debug)]
pub enum Error {
    /// No scenario of the library has this name; the message lists those there are.
    UnknownScenario(String),
    /// A scenario, or a file that it names, cannot be read.
    Unreadable {
        /// What was asked for.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// The text is no scenario, at this place.
    Scenario(wiremend_scenario::Error),
    /// The text is too long or not UTF-8; the message says where.
    NoText(String),
    /// The scenario has no such variant.
    UnknownVariant(String),
    /// The network has no such link.
    UnknownLink(String),
    /// Two captures would go into one file.
    SameFile(PathBuf),
    /// The scenario reads well, and cannot be simulated, at this place.
    Refused {
        /// The line with its place.
        message: String,
        /// The machine lacks something, the scenario is fine.
        environment: bool,
    },
    /// Frames and flows under way need more memory than is free.
    Memory {
        /// The scenario.
        scenario: String,
        /// The variant.
        variant: String,
        /// What a run may take.
        bytes_max: u64,
    },
    /// A file or directory cannot be written; the error names it.
    File(io::Error),
    /// [`Runner::stop`](crate::Runner::stop) was set. No file was left behind.
    Interrupted,
}

/// Who can do something about an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Whoever asked: what was asked for cannot be.
    Input,
    /// Whoever has the machine: it lacks something.
    Environment,
    /// Nobody has to.
    Interrupted,
}

impl Error {
    /// Who can do something about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::UnknownScenario(_)
            | Self::Unreadable { .. }
            | Self::Scenario(_)
            | Self::NoText(_)
            | Self::UnknownVariant(_)
            | Self::UnknownLink(_)
            | Self::SameFile(_)
            | Self::Refused { environment: false, .. } => Kind::Input,
            Self::Refused { environment: true, .. } | Self::Memory { .. } | Self::File(_) => {
                Kind::Environment
            }
            Self::Interrupted => Kind::Interrupted,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownScenario(what)
            | Self::NoText(what)
            | Self::UnknownVariant(what)
            | Self::UnknownLink(what)
            | Self::Refused { message: what, .. } => f.write_str(what),
            Self::Unreadable { name, source } => write!(f, "{name}: cannot be read: {source}"),
            Self::Scenario(error) => error.fmt(f),
            Self::SameFile(path) => {
                write!(f, "two captures into one file `{}`; give each its own", path.display())
            }
            Self::Memory { scenario, variant, bytes_max } => write!(
                f,
                "{scenario}: variant \"{variant}\": the frames and flows under way need more than the {} of memory that \
                 are free; bound them by transport.window, topology.buffer or transport.qp, or lower the load",
                wiremend_report::human::bytes(*bytes_max as f64)
            ),
            Self::File(error) => error.fmt(f),
            Self::Interrupted => f.write_str("interrupted; no file was left behind"),
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

/// An interrupted call was interrupted by us: observers have no other way to say so.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::Interrupted => Self::Interrupted,
            _ => Self::File(error),
        }
    }
}
