//! Why the kernel did not do what was asked.

use std::error::Error;
use std::fmt;
use std::io;

use crate::sys::netlink::Fault;

/// What was refused, and what would help.
#[derive(Debug)]
pub enum Refused {
    /// There is no interface of this name in this network namespace.
    NoSuchInterface {
        /// The name.
        name: String,
    },
    /// There is one of this name already.
    Exists {
        /// The name.
        name: String,
    },
    /// A privilege is missing.
    NotPermitted {
        /// What was asked for.
        what: String,
        /// The capability that allows it.
        capability: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// The kernel or the driver cannot do it.
    Unsupported {
        /// What was asked for.
        what: String,
        /// What is missing.
        lacks: &'static str,
        /// The kernel's error, with its reason.
        source: Fault,
    },
    /// Something of another program is in the way.
    Taken {
        /// What was asked for.
        what: String,
        /// What is in the way.
        by: String,
    },
    /// Any other error.
    Failed {
        /// What was asked for.
        what: String,
        /// The kernel's error, with its reason.
        source: Fault,
    },
}

impl Refused {
    /// Sorts a fault of a change to, or a question about, the interface `name`.
    pub(crate) fn of(name: &str, what: impl Into<String>, fault: Fault) -> Self {
        match fault.errno() {
            Some(libc::ENODEV | libc::ENXIO) => Self::NoSuchInterface { name: name.to_owned() },
            Some(libc::EPERM | libc::EACCES) => Self::not_permitted(what, "CAP_NET_ADMIN", fault.error),
            _ => Self::Failed { what: what.into(), source: fault },
        }
    }

    pub(crate) fn not_permitted(
        what: impl Into<String>,
        capability: &'static str,
        source: io::Error,
    ) -> Self {
        Self::NotPermitted { what: what.into(), capability, source }
    }

    pub(crate) fn failed(what: impl Into<String>, source: impl Into<Fault>) -> Self {
        Self::Failed { what: what.into(), source: source.into() }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchInterface { name } => write!(f, "interface `{name}` does not exist"),
            Self::Exists { name } => write!(f, "an interface `{name}` exists already"),
            Self::NotPermitted { what, capability, .. } => {
                write!(f, "cannot {what}: not permitted, needs {capability}")
            }
            Self::Unsupported { what, lacks, source } => write!(f, "cannot {what}: {lacks}: {source}"),
            Self::Taken { what, by } => write!(f, "cannot {what}: {by}"),
            Self::Failed { what, source } => write!(f, "cannot {what}: {source}"),
        }
    }
}

impl Error for Refused {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NotPermitted { source, .. } => Some(source),
            Self::Unsupported { source, .. } | Self::Failed { source, .. } => source.error.source(),
            Self::NoSuchInterface { .. } | Self::Exists { .. } | Self::Taken { .. } => None,
        }
    }
}
