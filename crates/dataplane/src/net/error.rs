//! Errors of network configuration.

use std::error::Error;
use std::fmt;
use std::io;

use crate::sys::netlink::NetlinkError;

/// Why a change or query of the network configuration failed.
#[derive(Debug)]
pub enum NetError {
    /// The network namespace has no interface of this name.
    NoSuchInterface {
        /// The name.
        name: String,
    },
    /// An interface of this name exists already.
    Exists {
        /// The name.
        name: String,
    },
    /// A capability is missing.
    NotPermitted {
        /// The operation, as a verb phrase.
        what: String,
        /// The missing capability.
        capability: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// The kernel or the driver does not support it.
    Unsupported {
        /// The operation, as a verb phrase.
        what: String,
        /// The missing feature.
        lacks: &'static str,
        /// The kernel's error and message.
        source: NetlinkError,
    },
    /// Another program or the driver prevents it.
    Taken {
        /// The operation, as a verb phrase.
        what: String,
        /// The reason.
        by: String,
    },
    /// Other errors.
    Failed {
        /// The operation, as a verb phrase.
        what: String,
        /// The kernel's error and message.
        source: NetlinkError,
    },
}

impl NetError {
    /// Converts a netlink error about the interface `name`.
    pub(crate) fn for_interface(name: &str, what: impl Into<String>, error: NetlinkError) -> Self {
        match error.errno() {
            Some(libc::ENODEV | libc::ENXIO) => Self::NoSuchInterface { name: name.to_owned() },
            Some(libc::EPERM | libc::EACCES) => Self::not_permitted(what, "CAP_NET_ADMIN", error.source),
            _ => Self::Failed { what: what.into(), source: error },
        }
    }

    pub(crate) fn not_permitted(
        what: impl Into<String>,
        capability: &'static str,
        source: io::Error,
    ) -> Self {
        Self::NotPermitted { what: what.into(), capability, source }
    }

    pub(crate) fn failed(what: impl Into<String>, source: impl Into<NetlinkError>) -> Self {
        Self::Failed { what: what.into(), source: source.into() }
    }
}

impl fmt::Display for NetError {
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

impl Error for NetError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NotPermitted { source, .. } => Some(source),
            Self::Unsupported { source, .. } | Self::Failed { source, .. } => source.source.source(),
            Self::NoSuchInterface { .. } | Self::Exists { .. } | Self::Taken { .. } => None,
        }
    }
}
