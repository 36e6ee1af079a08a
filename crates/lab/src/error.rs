//! Errors of a lab.

use std::fmt;
use std::io;

/// Why a lab could not be built or used.
#[derive(Debug)]
pub enum Error {
    /// This process may not create network namespaces.
    NotPermitted {
        /// The reason.
        why: String,
        /// Whether root started the process: then only the container limits its capabilities.
        by_root: bool,
    },
    /// The machine lacks something, or a process of the lab failed.
    Environment(String),
    /// A process of the lab refused a request.
    Refused(String),
    /// [`Lab::stop`](crate::Lab::stop) was set.
    Interrupted,
}

impl Error {
    pub(crate) fn file(error: &io::Error) -> Self {
        Self::Environment(error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPermitted { why, by_root } => {
                let remedy = if *by_root {
                    "start the container with CAP_SYS_ADMIN and CAP_NET_ADMIN (--privileged)"
                } else {
                    "start it as root"
                };
                write!(f, "a lab needs network namespaces: {why}; {remedy}")
            }
            Self::Environment(why) | Self::Refused(why) => f.write_str(why),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {}
