//! Output to stdout and stderr.

use std::io::{self, IsTerminal, Write};

use terminal_size::{Width, terminal_size_of};
use wiremend_report::terminal::Terminal;

use crate::failure::Failure;

/// Line width in characters if neither `COLUMNS` nor a terminal gives it.
const WIDTH: usize = 100;

/// Prints data on stdout.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Converts the result of a write to stdout.
pub(crate) fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::ClosedPipe),
        Err(error) => Err(Failure::Environment(format!("cannot write to stdout: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Prints a message on stderr, in one line.
pub(crate) fn print_message(message: &str) {
    let line = format!("wiremend: {}\n", in_one_line(message));
    // If stderr is closed, the message is lost.
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// Escapes control characters, so that the text neither ends the line nor controls the terminal.
pub(crate) fn in_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { line.extend(c.escape_default()) } else { line.push(c) }
    }
    line
}

/// Returns the width and colours of stdout. `COLUMNS` overrides the width; `NO_COLOR` (see no-color.org) disables colours.
pub(crate) fn stdout() -> Terminal {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let given = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let found = terminal_size_of(io::stdout()).map(|(Width(width), _)| usize::from(width));
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    Terminal {
        width: given.or(found).unwrap_or(WIDTH).clamp(40, 240),
        colour: io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb,
    }
}
