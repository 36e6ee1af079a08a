//! Errors of guests.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::error::Error;

/// Why guests cannot be used.
#[derive(Debug)]
#[expect(missing_docs, reason = "the messages say all")]
pub enum GuestError {
    /// Missing programs or files, and the Debian packages that contain them.
    MissingFiles {
        what: Vec<String>,
        packages: Vec<&'static str>,
    },
    NoKernel,
    Architecture,
    /// A file or a program could not be used.
    Io {
        what: String,
        source: io::Error,
    },
    Program {
        line: String,
        output: String,
    },
    /// A kernel package, a program or a reply has an unexpected form.
    Unexpected(String),
    Ended {
        guest: String,
        output: String,
    },
    /// A guest did not reply in time, with the end of its kernel log.
    Timeout {
        guest: String,
        after: Duration,
        output: String,
    },
    Refused {
        guest: String,
        command: String,
        status: i32,
        output: String,
    },
}

impl fmt::Display for GuestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingFiles { what, packages } => write!(
                f,
                "guests need missing files: {}; install them with `apt-get install --no-install-recommends {}`",
                what.join(", "),
                packages.join(" ")
            ),
            Self::NoKernel => f.write_str(
                "the cache has no Debian kernel for the guests; `wiremend lab roce --fetch` downloads it with apt-get",
            ),
            Self::Architecture => f.write_str("guests need an x86-64 machine"),
            Self::Io { what, source } => write!(f, "{what}: {source}"),
            Self::Program { line, output } => write!(f, "`{line}` failed: {output}"),
            Self::Unexpected(what) => f.write_str(what),
            Self::Ended { guest, output } => write!(f, "guest {guest} ended: {output}"),
            Self::Timeout { guest, after, output } => {
                write!(f, "guest {guest} did not reply for {} s: {output}", after.as_secs())
            }
            Self::Refused { guest, command, status, output } => {
                write!(f, "`{command}` in guest {guest} ended with {status}: {output}")
            }
        }
    }
}

impl std::error::Error for GuestError {}

impl From<GuestError> for Error {
    fn from(error: GuestError) -> Self {
        Self::Environment(error.to_string())
    }
}

impl GuestError {
    pub(super) fn io(what: impl fmt::Display) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what: what.to_string(), source }
    }

    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::io(format!("cannot use `{}`", path.display()))
    }
}

/// Runs a program of this machine and returns its output.
pub(super) fn output(command: &mut Command) -> Result<Vec<u8>, GuestError> {
    let line = line(command);
    let output = command.output().map_err(GuestError::io(format!("cannot run `{line}`")))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let output = String::from_utf8_lossy(&output.stderr);
    Err(GuestError::Program { line, output: output.trim().to_owned() })
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
