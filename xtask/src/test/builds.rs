//! Checks on the built program: the quick ledger, the Python package, and equal digests of debug and optimised builds.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::runner;
use super::tally::Tally;
use crate::ledger;
use crate::process;
use crate::python;
use crate::shell::{self, call, command};

/// Time limit of the digests of one build. The debug build takes half a minute.
const DIGESTS_TIME_MAX: Duration = Duration::from_mins(15);

/// Every claim has the verdict that is documented.
pub(super) fn check_ledger() -> Result<()> {
    ledger::check(&optimised()?)
}

/// The Python package computes the same as the command line.
pub(super) fn check_python(tally: &mut Tally) -> Result<()> {
    let (passed, failed) = python::test(&optimised()?)?;
    *tally += Tally { passed, failed, skipped: 0 };
    ensure!(passed > 0 && failed == 0, "{passed} tests of the Python package passed and {failed} failed");
    println!("{passed} tests");
    Ok(())
}

/// A debug build computes the same as an optimised one. An example is enough and builds in half the time.
pub(super) fn compare_digests() -> Result<()> {
    shell::run(&mut command(runner::BUILD))?;
    shell::run(&mut command("cargo build --quiet -p wiremend-runner --example digests"))?;
    let target = shell::target_dir()?;
    let digests_by = |profile: &str| {
        let program = target.join(profile).join("examples/digests");
        let output = process::output_within(&mut call(&program, ""), DIGESTS_TIME_MAX)?;
        ensure!(output.status.success(), "the {profile} build failed ({})", output.status);
        String::from_utf8(output.stdout).context("the digests")
    };
    let (optimised, debug) = (digests_by("test-release")?, digests_by("debug")?);
    print!("{optimised}");
    ensure!(!optimised.is_empty() && optimised == debug, "the debug build prints\n{debug}");
    Ok(())
}

/// The program of the test build. Building it alone would select other features of its dependencies and
/// compile most of them again.
fn optimised() -> Result<PathBuf> {
    shell::run(&mut command(runner::BUILD))?;
    let program = shell::target_dir()?.join("test-release").join("wiremend");
    ensure!(program.is_file(), "no test of the command line built `{}`", program.display());
    Ok(program)
}
