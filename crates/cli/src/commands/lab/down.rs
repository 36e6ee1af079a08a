//! `wiremend lab down`: ends labs that still run.

use std::fmt::Write as _;

use wiremend_lab::place;

use crate::failure::{Answer, Failure};
use crate::terminal;

pub(super) fn run() -> Result<Answer, Failure> {
    let mut ended = String::new();
    for lab in place::found() {
        let id = lab.process_id();
        let had_run = lab
            .end()
            .map_err(|error| Failure::Environment(format!("cannot end the lab of process {id}: {error}")))?;
        let what = if had_run { "ended" } else { "cleared away what was left of" };
        let _ = writeln!(ended, "{what} the lab of process {id}");
    }
    if ended.is_empty() {
        ended.push_str("no lab runs here\n");
    }
    terminal::print(&ended)?;
    Ok(Answer::Yes)
}
