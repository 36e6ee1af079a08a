//! `cargo xtask test`: all checks, cheap ones first, and a last line with the number of tests.
//!
//! A failing check does not stop the others. There is no time limit for a check; a hanging test or program is
//! detected by its own time, in which nothing is compiled.

mod browser;
mod builds;
mod cycles;
mod dependencies;
mod examples;
mod layers;
mod needs;
mod pages;
mod portable;
mod runner;
mod rust_version;
mod tally;
mod tree;

use std::time::Instant;

use anyhow::{Result, anyhow};

use crate::TaskError;
use crate::shell::{self, command, format_duration};
use tally::Tally;

/// Name and function of a check. Only the tests, also those of the Python package, add to the tally.
type Check = (&'static str, fn(&mut Tally) -> Result<()>);

const CHECKS: &[Check] = &[
    ("committed files", |_| tree::check()),
    ("Markdown pages", |_| pages::check()),
    ("crates use only what lies below them", |_| layers::check()),
    ("modules of a crate use each other one way", |_| cycles::check()),
    ("format", |_| shell::run(&mut command("cargo fmt --all --check"))),
    ("dependencies", |_| dependencies::check()),
    ("nothing needs a newer Rust than declared", |_| rust_version::check()),
    ("lints", |_| {
        shell::run(&mut command("cargo clippy --quiet --keep-going --workspace --all-targets -- -D warnings"))
    }),
    ("documents", |_| documents()),
    ("fuzzers compile", |_| examples::check_fuzzers()),
    ("portable crates compile for WebAssembly", |_| portable::check()),
    ("tests", runner::run),
    ("pages in a browser", browser::check),
    ("examples run", |_| examples::run()),
    ("Python package", builds::check_python),
    ("ledger, quick", |_| builds::check_ledger()),
    ("debug and release agree", |_| builds::compare_digests()),
    ("instructions and cache misses per packet-hop", |_| crate::bench::check_counts(false)),
];

/// Runs all checks, or those whose names contain one of `names`; with `install`, first installs missing
/// programs.
pub(crate) fn run(install: bool, names: &[String]) -> Result<(), TaskError> {
    let started = Instant::now();
    let is_wanted = |check: &&Check| names.is_empty() || names.iter().any(|name| check.0.contains(&**name));
    let checks: Vec<_> = CHECKS.iter().filter(is_wanted).collect();
    if checks.is_empty() {
        let all: Vec<_> = CHECKS.iter().map(|(name, _)| *name).collect();
        return Err(TaskError::Usage(format!("unknown check; valid: {}", all.join("; "))));
    }
    needs::check_or_install(install)?;
    let mut tally = Tally::default();
    let mut failed = Vec::new();
    for (name, check) in &checks {
        println!("\n== {name}");
        let started = Instant::now();
        match check(&mut tally) {
            Ok(()) => println!("ok, {}", format_duration(started.elapsed())),
            Err(error) => {
                println!("FAILED, {}: {error:#}", format_duration(started.elapsed()));
                failed.push(*name);
            }
        }
    }
    println!(
        "\n{} of {} checks ok, {}",
        checks.len() - failed.len(),
        checks.len(),
        format_duration(started.elapsed())
    );
    println!("{tally}");
    if !failed.is_empty() {
        return Err(TaskError::Failed(anyhow!("failed: {}", failed.join("; "))));
    }
    Ok(())
}

fn documents() -> Result<()> {
    let mut rustdoc = command("cargo doc --quiet --no-deps --workspace --document-private-items");
    shell::run(rustdoc.env("RUSTDOCFLAGS", "-D warnings"))
}
