//! Why a laboratory could not be built or used.

use std::fmt;
use std::io;

/// Why a laboratory could not be built or used.
#[derive(Debug)]
pub enum Error {
    /// This process may not make networks.
    NotPermitted {
        /// What the kernel says.
        why: String,
        /// It was started by root: more rights than these only a container's owner can give.
        by_root: bool,
    },
    /// The machine lacks something, or a part of the laboratory does not work.
    Environment(String),
    /// A part of the laboratory refuses what it was asked for.
    Refused(String),
    /// [`Lab::stop`](crate::Lab::stop) was set.
    Interrupted,
}

impl Error {
    /// An error of a file.
    pub(crate) fn file(error: &io::Error) -> Self {
        Self::Environment(error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPermitted { why, by_root } => {
                let remedy = if *by_root {
                    "a container has to be started with CAP_SYS_ADMIN and CAP_NET_ADMIN (--privileged)"
                } else {
                    "start it as root"
                };
                write!(f, "a lab needs networks of its own, and {why}; {remedy}")
            }
            Self::Environment(why) | Self::Refused(why) => f.write_str(why),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {}
