//! `cargo xtask test`: every check there is, cheap ones first, and a closing line that counts the tests.
//!
//! A check that fails does not stop the others, so that one run shows all there is to mend. No check is ended because a machine is
//! slow: a hang is found test by test.

mod builds;
mod cycles;
mod dependencies;
mod examples;
mod layers;
mod needs;
mod portable;
mod process;
mod runner;
mod rust_version;
mod tally;
mod tree;

use std::time::Instant;

use anyhow::{Result, anyhow};

use crate::Trouble;
use crate::shell::{self, command, spoken};
use tally::Tally;

/// A check: its name, and what it does. Only the tests themselves add to the tally.
type Check = (&'static str, fn(&mut Tally) -> Result<()>);

const CHECKS: &[Check] = &[
    ("committed files", |_| tree::check()),
    ("crates use only what lies below them", |_| layers::check()),
    ("folders of a crate use each other one way", |_| cycles::check()),
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
    ("examples run", |_| examples::run()),
    ("ledger, quick", |_| builds::check_ledger()),
    ("debug and release agree", |_| builds::compare_digests()),
];

/// Runs all checks, or those whose names contain one of `names`; with `install`, first installs what they need.
pub(crate) fn run(install: bool, names: &[String]) -> Result<(), Trouble> {
    let started = Instant::now();
    let is_wanted = |check: &&Check| names.is_empty() || names.iter().any(|name| check.0.contains(&**name));
    let checks: Vec<_> = CHECKS.iter().filter(is_wanted).collect();
    if checks.is_empty() {
        let all: Vec<_> = CHECKS.iter().map(|(name, _)| *name).collect();
        return Err(Trouble::Usage(format!("no check of that name; there are: {}", all.join("; "))));
    }
    needs::meet(install)?;
    let mut tally = Tally::default();
    let mut failed = Vec::new();
    for (name, check) in &checks {
        println!("\n== {name}");
        let started = Instant::now();
        match check(&mut tally) {
            Ok(()) => println!("ok, {}", spoken(started.elapsed())),
            Err(error) => {
                println!("FAILED, {}: {error:#}", spoken(started.elapsed()));
                failed.push(*name);
            }
        }
    }
    println!(
        "\n{} of {} checks ok, {}",
        checks.len() - failed.len(),
        checks.len(),
        spoken(started.elapsed())
    );
    println!("{tally}");
    if !failed.is_empty() {
        return Err(Trouble::No(anyhow!("failed: {}", failed.join("; "))));
    }
    Ok(())
}

fn documents() -> Result<()> {
    let mut rustdoc = command("cargo doc --quiet --no-deps --workspace --document-private-items");
    shell::run(rustdoc.env("RUSTDOCFLAGS", "-D warnings"))
}
