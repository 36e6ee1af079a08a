//! `wiremend lab down`: stops labs that still run.

use std::fmt::Write as _;

use wiremend_lab::directory;

use crate::failure::{Answer, Failure};
use crate::terminal;

pub(super) fn run() -> Result<Answer, Failure> {
    let mut ended = String::new();
    for lab in directory::find_labs() {
        let id = lab.process_id();
        let had_run = lab
            .terminate()
            .map_err(|error| Failure::Environment(format!("cannot stop the lab of process {id}: {error}")))?;
        let what = if had_run { "stopped" } else { "removed the remains of" };
        let _ = writeln!(ended, "{what} the lab of process {id}");
    }
    if ended.is_empty() {
        ended.push_str("no lab is running\n");
    }
    terminal::print(&ended)?;
    Ok(Answer::Yes)
}
