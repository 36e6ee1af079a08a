//! What can go wrong with guests.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::error::Error;

/// Why there is no guest, or why it did not do as it was told.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Programs or files that this machine lacks, and the packages of Debian that have them.
    Lacking { what: Vec<String>, packages: Vec<&'static str> },
    /// There is no kernel in the cache.
    NoKernel,
    /// The programs of this machine do not run on the kernel that is meant.
    Architecture,
    /// A file or a program could not be used.
    Io { what: String, source: io::Error },
    /// A program of this machine failed, and said this.
    Program { line: String, said: String },
    /// A kernel package, a program or an answer is not as it should be.
    Unexpected(String),
    /// A guest ended; the end of what its kernel said.
    Ended { guest: String, said: String },
    /// A guest did not answer in time; the end of what its kernel said.
    Silent { guest: String, after: Duration, said: String },
    /// A command failed in a guest.
    Refused { guest: String, command: String, status: i32, said: String },
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lacking { what, packages } => write!(
                f,
                "guests need what is not here: {}; `apt-get install --no-install-recommends {}` brings it",
                what.join(", "),
                packages.join(" ")
            ),
            Self::NoKernel => f.write_str(
                "guests need Debian's kernel, which is not in the cache; `wiremend lab roce --fetch` downloads it with apt-get",
            ),
            Self::Architecture => f.write_str("guests need a machine of x86-64"),
            Self::Io { what, source } => write!(f, "{what}: {source}"),
            Self::Program { line, said } => write!(f, "`{line}` failed: {said}"),
            Self::Unexpected(what) => f.write_str(what),
            Self::Ended { guest, said } => write!(f, "guest {guest} ended: {said}"),
            Self::Silent { guest, after, said } => {
                write!(f, "guest {guest} said nothing for {} s: {said}", after.as_secs())
            }
            Self::Refused { guest, command, status, said } => {
                write!(f, "`{command}` in guest {guest} ended with {status}: {said}")
            }
        }
    }
}

impl std::error::Error for Trouble {}

impl From<Trouble> for Error {
    fn from(trouble: Trouble) -> Self {
        Self::Environment(trouble.to_string())
    }
}

impl Trouble {
    /// An error of something that names itself.
    pub(super) fn io(what: impl fmt::Display) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what: what.to_string(), source }
    }

    /// An error of a file.
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::io(format!("cannot use `{}`", path.display()))
    }
}

/// Runs a program of this machine to its end: what it wrote.
pub(super) fn output(command: &mut Command) -> Result<Vec<u8>, Trouble> {
    let line = line(command);
    let output = command.output().map_err(Trouble::io(format!("cannot run `{line}`")))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Trouble::Program { line, said: said.trim().to_owned() })
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
