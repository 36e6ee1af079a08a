//! `wiremend fleet`: whole fabrics.

mod fabric;
mod outcome;
mod plan;
mod plan_report;
mod run;
mod table;
mod trace;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use wiremend_fabric::tiers::Tiers;
use wiremend_fleet::ProtectionEffect;
use wiremend_units::canonical_name;

pub(super) use self::fabric::SkippedItem;
use crate::args::fleet::{Fleet, FleetCommand};
use crate::failure::{Answer, Failure};

pub(crate) fn run(args: &Fleet) -> Result<Answer, Failure> {
    match &args.command {
        FleetCommand::Run(args) => run::run(args),
        FleetCommand::Plan(args) => plan::run(args),
        FleetCommand::Trace(args) => trace::run(args),
        FleetCommand::Table(args) => table::run(args),
    }
}

/// Reads a fabric from a file, and the items of the file that it does not have.
pub(super) fn load_tiers(file: &Path) -> Result<(Tiers, Vec<SkippedItem>), Failure> {
    let fabric = fabric::Named::from_file(&file.to_string_lossy())?;
    Ok((fabric.tiers, fabric.skipped))
}

/// Maximum length of a file.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Reads a file, or stdin (`-`). Returns its name for messages and its text.
fn read(path: &Path) -> Result<(String, String), Failure> {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin { "stdin".to_owned() } else { path.display().to_string() };
    let mut bytes = Vec::new();
    let read = if is_stdin {
        std::io::stdin().lock().take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| Failure::unreadable(&name, &error))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Failure::Input(format!("{name}: too long; at most 1 GiB")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        Failure::Input(format!("{name}:{}:1: not text in UTF-8", good.matches('\n').count() + 1))
    })?;
    Ok((name, text))
}

/// Returns whether a file is JSON, by its name.
fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// Returns the loss and speed of protected links: a built-in table, or a file.
fn effect(name: &str) -> Result<ProtectionEffect, Failure> {
    if let Some(known) = canonical_name(name, &ProtectionEffect::names()).and_then(ProtectionEffect::named) {
        return Ok(known);
    }
    let path = Path::new(name);
    if !path.is_file() {
        let what = wiremend_units::unknown_name("table", name, &ProtectionEffect::names());
        return Err(Failure::Input(format!("--table: {what}, or a file of loss,residual_loss,speed")));
    }
    let (shown, text) = read(path)?;
    ProtectionEffect::parse(&shown, &text).map_err(|error| Failure::Input(format!("{shown}:{error}")))
}
