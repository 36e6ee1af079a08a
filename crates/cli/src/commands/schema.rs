//! `wiremend schema`: the JSON schema of scenario files.

use crate::failure::{Answer, Failure};
use crate::terminal;

pub(super) fn run() -> Result<Answer, Failure> {
    terminal::print(&format!("{}\n", wiremend_scenario::schema_json()))?;
    Ok(Answer::Yes)
}
