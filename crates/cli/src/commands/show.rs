//! `wiremend show`: the file of a built-in scenario.

use wiremend_scenario::builtin;

use crate::args::Show;
use crate::failure::{Answer, Failure};
use crate::terminal;

pub(super) fn run(args: &Show) -> Result<Answer, Failure> {
    let text = builtin::get(&args.name).map_err(Failure::Input)?;
    terminal::print(text)?;
    Ok(Answer::Yes)
}
