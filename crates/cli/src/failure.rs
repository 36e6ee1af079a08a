//! Exit codes: 0 success, 1 negative result, 2 bad input, 3 missing permission or resource, or 128 plus the number of
//! the signal that ended the command (130 after Ctrl-C).

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// Result of a command that ran to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Yes,
    /// The result is negative: exit code 1.
    No,
}

/// Why a command did not run to its end.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments or input files are wrong.
    Input(String),
    /// The machine lacks a permission or resource; the message says how to get it.
    Environment(String),
    /// This signal ended the command.
    Interrupted(u8),
    /// This signal ended the command; results so far are in this directory.
    Suspended(u8, PathBuf),
    /// The reader of stdout has closed the pipe: exit code 0.
    ClosedPipe,
    /// Nothing failed: the text of --help or --version was printed.
    Done,
}

impl Failure {
    /// An error of a file; its message has the path.
    pub(crate) fn file(error: &io::Error) -> Self {
        Self::Environment(error.to_string())
    }

    /// A file that cannot be opened or read.
    pub(crate) fn unreadable(name: &str, error: &io::Error) -> Self {
        Self::Input(format!("{name}: cannot be read: {error}"))
    }
}

impl From<Answer> for ExitCode {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Yes => Self::SUCCESS,
            Answer::No => Self::from(1),
        }
    }
}
