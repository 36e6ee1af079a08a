//! `wiremend fleet trace`: a random trace of links that start to corrupt.

use wiremend_fleet::TraceTime;
use wiremend_report::write_atomic;

use super::fabric::Named;
use crate::args::fleet::FleetTrace;
use crate::failure::{Answer, Failure};
use crate::terminal;

pub(super) fn run(args: &FleetTrace) -> Result<Answer, Failure> {
    let fabric = Named::load_strict(&args.fabric)?;
    let trace = args.draw.generator().trace(&fabric.tiers, TraceTime::from_days(args.days), args.draw.seed);
    let text = trace.to_csv();
    match &args.out {
        Some(path) => write_atomic(path, &text).map_err(|error| Failure::file(&error))?,
        None => terminal::print(&text)?,
    }
    Ok(Answer::Yes)
}
