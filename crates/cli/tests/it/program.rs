//! Runs the program.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The result of a call of the program.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Returns the program, without settings of the terminal.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wiremend"));
    command.env_remove("COLUMNS").env_remove("NO_COLOR").env("TERM", "xterm").stdin(Stdio::null());
    command
}

/// Runs the program to its end.
pub(crate) fn wiremend<A: AsRef<OsStr>>(arguments: &[A]) -> Ended {
    ended(command().args(arguments).output().expect("the program starts"))
}

/// Runs the program in a directory.
pub(crate) fn wiremend_in<A: AsRef<OsStr>>(directory: &Path, arguments: &[A]) -> Ended {
    ended(command().current_dir(directory).args(arguments).output().expect("the program starts"))
}

/// Runs the program with this text on stdin.
pub(crate) fn wiremend_with(stdin: &str, arguments: &[&str]) -> Ended {
    let mut command = command();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // It may have ended before it read everything.
    let _ = child.stdin.take().expect("stdin is a pipe").write_all(stdin.as_bytes());
    ended(child.wait_with_output().expect("the program ends"))
}

pub(crate) fn ended(output: Output) -> Ended {
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("stdout is text"),
        stderr: String::from_utf8(output.stderr).expect("stderr is text"),
    }
}

impl Ended {
    /// Asserts success and returns stdout.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self.stdout
    }

    /// Asserts success and returns stdout as JSON.
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.ok()).expect("stdout is JSON")
    }

    /// Asserts that it failed with this code and one line on stderr, and returns the line. Services log it with its
    /// time.
    pub(crate) fn refused(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        assert_eq!(self.stdout, "");
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        let is_logged = self.stderr.get(27..).is_some_and(|line| line.starts_with(" ERROR "));
        assert!(self.stderr.starts_with("wiremend: ") || is_logged, "{}", self.stderr);
        assert!(self.stderr.ends_with('\n'), "{}", self.stderr);
        self.stderr
    }

    /// Asserts that it failed as above with this reason.
    pub(crate) fn refused_for(self, code: i32, reason: &str) {
        assert_has(&self.refused(code), reason);
    }
}

/// Asserts that the text contains all parts, which are separated by ` | `.
pub(crate) fn assert_has(text: &str, parts: &str) {
    for part in parts.split(" | ") {
        assert!(text.contains(part), "`{part}` in {text}");
    }
}

/// Splits a command line into words.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// Returns the rows of a table, one per line: cells separated by `|`, in which `\n` is a line break.
pub(crate) fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [String; N]> {
    table.trim().lines().map(|line| {
        let cells: Vec<_> = line.split('|').map(|cell| cell.trim().replace("\\n", "\n")).collect();
        cells.try_into().unwrap_or_else(|_| panic!("{line}"))
    })
}

/// Returns the sorted file names of a directory, including hidden ones.
pub(crate) fn files(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("the directory is there");
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("it can be read").file_name().into_string().expect("a plain name"))
        .collect();
    names.sort();
    names
}
