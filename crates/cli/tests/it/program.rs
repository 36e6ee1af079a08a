//! Running the program.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// What a call of the program came to.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The program, in no particular terminal.
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
    /// It worked: what it printed.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self.stdout
    }

    /// It worked: what it printed, as JSON.
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.ok()).expect("stdout is JSON")
    }

    /// It refused, with this code, one line and nothing else.
    pub(crate) fn refused(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        assert_eq!(self.stdout, "");
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        assert!(self.stderr.starts_with("wiremend: ") && self.stderr.ends_with('\n'), "{}", self.stderr);
        self.stderr
    }

    /// It refused as above, for this reason among others.
    pub(crate) fn refused_for(self, code: i32, reason: &str) {
        assert_has(&self.refused(code), reason);
    }
}

/// All parts stand in the text; there is ` | ` between them.
pub(crate) fn assert_has(text: &str, parts: &str) {
    for part in parts.split(" | ") {
        assert!(text.contains(part), "`{part}` in {text}");
    }
}

/// The words of a command line.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// The rows of a table, a line each: cells with `|` between them, in which `\n` is a line break.
pub(crate) fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [String; N]> {
    table.trim().lines().map(|line| {
        let cells: Vec<_> = line.split('|').map(|cell| cell.trim().replace("\\n", "\n")).collect();
        cells.try_into().unwrap_or_else(|_| panic!("{line}"))
    })
}

/// The files of a directory, hidden ones too, in order.
pub(crate) fn files(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("the directory is there");
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("it can be read").file_name().into_string().expect("a plain name"))
        .collect();
    names.sort();
    names
}
