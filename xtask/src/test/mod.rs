//! `cargo xtask test`: every check there is, cheap ones first, and a closing line that counts the tests.
//!
//! A check that fails does not stop the others, so that one run shows all there is to mend.

mod builds;
mod layers;
mod limit;
mod needs;
mod tally;
mod tree;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use crate::Trouble;
use crate::shell::{self, command, spoken};
use limit::Limit;
use tally::Tally;

/// A check: its name, and what it does. Only the tests themselves add to the tally.
type Check = (&'static str, fn(&mut Tally) -> Result<()>);

const CHECKS: &[Check] = &[
    ("committed files", |_| tree::check()),
    ("crates use only what lies below them", |_| layers::check()),
    ("format", |_| shell::run(&mut command("cargo fmt --all --check"))),
    ("dependencies: bans, licences, sources", |_| dependencies()),
    ("dependencies: advisories", |_| advisories()),
    ("lints", |_| {
        shell::run(&mut command("cargo clippy --quiet --keep-going --workspace --all-targets -- -D warnings"))
    }),
    ("documents", |_| documents()),
    ("tests", tally::run_tests),
    ("ledger, quick", |_| builds::check_ledger()),
    ("debug and release agree", |_| builds::compare_digests()),
];

/// No check needs half of it, on two cores and from nothing.
const CHECK_TIME_MAX: Duration = Duration::from_mins(20);

/// Runs all checks; with `install`, first installs what they need.
pub(crate) fn run(install: bool) -> Result<(), Trouble> {
    let started = Instant::now();
    needs::meet(install)?;
    let mut tally = Tally::default();
    let mut failed = Vec::new();
    for (name, check) in CHECKS {
        println!("\n== {name}");
        let started = Instant::now();
        let limit = Limit::start(CHECK_TIME_MAX);
        let mut outcome = check(&mut tally);
        if limit.was_over() {
            outcome = outcome.context("it took too long, and was ended");
        }
        match outcome {
            Ok(()) => println!("ok, {}", spoken(started.elapsed())),
            Err(error) => {
                println!("FAILED, {}: {error:#}", spoken(started.elapsed()));
                failed.push(*name);
            }
        }
    }
    println!(
        "\n{} of {} checks ok, {}",
        CHECKS.len() - failed.len(),
        CHECKS.len(),
        spoken(started.elapsed())
    );
    println!("{tally}");
    if !failed.is_empty() {
        return Err(Trouble::No(anyhow!("failed: {}", failed.join("; "))));
    }
    Ok(())
}

fn dependencies() -> Result<()> {
    shell::run(&mut command("cargo deny check --hide-inclusion-graph bans licenses sources"))
}

/// The database of advisories comes over the network; a machine without it can still be checked for all else.
fn advisories() -> Result<()> {
    if !shell::succeeds(&mut command("cargo deny fetch db")) {
        println!("skipped: the database of advisories is out of reach");
        return Ok(());
    }
    shell::run(&mut command("cargo deny check advisories"))
}

fn documents() -> Result<()> {
    let mut rustdoc = command("cargo doc --quiet --no-deps --workspace --document-private-items");
    shell::run(rustdoc.env("RUSTDOCFLAGS", "-D warnings"))
}
