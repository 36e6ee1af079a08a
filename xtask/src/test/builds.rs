//! Checks on the program as it is built: the quick ledger, and the same digests from both ends of optimisation.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::runner;
use crate::ledger;
use crate::shell::{self, call, command};

/// Every claim has the verdict that `docs/VALIDATION.md` gives it.
pub(super) fn check_ledger() -> Result<()> {
    ledger::check(&optimised()?)
}

/// A debug build computes what an optimised one does. It is that of an example, which takes half of the time of the whole program.
pub(super) fn compare_digests() -> Result<()> {
    shell::run(&mut command(runner::BUILD))?;
    shell::run(&mut command("cargo build --quiet -p wiremend-runner --example digests"))?;
    let target = shell::target_dir()?;
    let digests_by = |profile: &str| {
        let program = target.join(profile).join("examples/digests");
        shell::output(&mut call(&program, ""))
    };
    let (optimised, debug) = (digests_by("test-release")?, digests_by("debug")?);
    print!("{optimised}");
    ensure!(!optimised.is_empty() && optimised == debug, "the debug build says\n{debug}");
    Ok(())
}

/// The program as the tests were run on it. Building it alone would choose other features of its dependencies, and
/// so compile most of them again.
fn optimised() -> Result<PathBuf> {
    shell::run(&mut command(runner::BUILD))?;
    let program = shell::target_dir()?.join("test-release").join("wiremend");
    ensure!(program.is_file(), "no test of the command line built `{}`", program.display());
    Ok(program)
}
