//! `cargo xtask attack`: attacks on a protected link, and what the defence costs.

use anyhow::Result;

use crate::shell::{self, command};

/// Attacks two data paths in memory and prints the loss for each defence, then two relays on real interfaces;
/// measures the CPU time of the defence.
pub(crate) fn run() -> Result<()> {
    let test = "cargo test --quiet --package wiremend-dataplane --profile test-release --test it";
    shell::run(&mut command(&format!("{test} -- attacks::attacks_cost --nocapture")))?;
    shell::run(&mut command(&format!("{test} -- relay::attacks attacks::flood")))?;
    shell::run(&mut command("cargo bench --quiet --package wiremend-dataplane --bench link_security"))
}
