//! `wiremend completions`: scripts for shells.

use crate::args::{self, Completions};
use crate::failure::{Answer, Failure};
use crate::terminal;

pub(super) fn run(asked: &Completions) -> Result<Answer, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(asked.shell, &mut args::command(), "wiremend", &mut script);
    terminal::print(&String::from_utf8_lossy(&script))?;
    Ok(Answer::Yes)
}
