//! `cargo xtask python`: the Python package as a wheel; and its test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::TaskError;
use crate::process;
use crate::shell::{self, call};

/// Time limit of the tests of the package. They take half a minute.
const TESTS_TIME_MAX: Duration = Duration::from_mins(15);

/// The virtual environment of the tests.
pub(crate) fn environment() -> Result<PathBuf> {
    Ok(shell::target_dir()?.join("python"))
}

/// Builds the wheel that is released, in `target/wheels`.
pub(crate) fn run() -> Result<(), TaskError> {
    let own = environment()?.join("bin/maturin");
    let maturin = if own.is_file() { own } else { "maturin".into() };
    if !shell::succeeds(&mut call(&maturin, "--version")) {
        let how =
            "maturin is missing; install it with `cargo xtask test --install`, or `pip install maturin`";
        return Err(TaskError::MissingProgram(how.to_owned()));
    }
    let wheel = build(&maturin, "release --strip", &shell::target_dir()?.join("wheels"))?;
    println!("{}", wheel.display());
    Ok(())
}

/// Checks format and lints, builds a wheel with the profile of the tests, installs it into the environment of the tests and runs its tests.
/// Returns how many passed and failed.
pub(crate) fn test(program: &Path) -> Result<(u64, u64)> {
    let environment = environment()?;
    shell::run(&mut shell::command("cargo fmt --check --manifest-path python/Cargo.toml"))?;
    let mut clippy = shell::command("cargo clippy --quiet --locked --manifest-path python/Cargo.toml");
    clippy.arg("--target-dir").arg(shell::target_dir()?).args(["--", "-D", "warnings"]);
    shell::run(&mut clippy)?;
    let wheels = shell::target_dir()?.join("test-release/wheels");
    let wheel = build(&environment.join("bin/maturin"), "test-release", &wheels)?;
    let mut pip = call(
        &environment.join("bin/pip"),
        "install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall",
    );
    shell::run(pip.arg(&wheel))?;
    let mut pytest = call(
        &environment.join("bin/python"),
        "-m pytest --quiet -p no:cacheprovider --config-file python/pyproject.toml python/tests",
    );
    // Nothing is written beside the sources.
    pytest.env("PYTHONDONTWRITEBYTECODE", "1").env("WIREMEND_PROGRAM", program);
    let output = process::output_within(&mut pytest, TESTS_TIME_MAX)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let counts = text.lines().rev().find_map(counts);
    if !output.status.success() || counts.is_none() {
        print!("{text}");
    }
    let (passed, failed) = counts.context("pytest printed no result")?;
    ensure!(output.status.success() == (failed == 0), "pytest failed ({})", output.status);
    Ok((passed, failed))
}

/// Builds a wheel with a profile and options into a directory of its own. The compiled dependencies are shared with
/// other builds of the profile.
fn build(maturin: &Path, profile: &str, wheels: &Path) -> Result<PathBuf> {
    if wheels.exists() {
        fs::remove_dir_all(wheels).with_context(|| format!("cannot clear `{}`", wheels.display()))?;
    }
    let mut command: Command = call(maturin, "build --quiet --locked --manifest-path python/Cargo.toml");
    command.arg("--profile").args(profile.split(' ')).arg("--out").arg(wheels);
    command.arg("--target-dir").arg(shell::target_dir()?);
    shell::run(&mut command)?;
    let mut made = fs::read_dir(wheels).with_context(|| format!("cannot read `{}`", wheels.display()))?;
    let wheel = made.next().context("maturin built no wheel")?.context("the directory of wheels")?;
    Ok(wheel.path())
}

/// Passed and failed tests in the last line of pytest: `2 failed, 40 passed, 1 warning in 3.05s`.
fn counts(line: &str) -> Option<(u64, u64)> {
    let (counts, _) = line.trim_matches(['=', ' ']).rsplit_once(" in ")?;
    let (mut passed, mut failed, mut is_result) = (0, 0, false);
    for count in counts.split(", ") {
        let (number, what) = count.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match what {
            "passed" => passed = number,
            "failed" | "error" | "errors" => failed += number,
            _ => {}
        }
        is_result = true;
    }
    is_result.then_some((passed, failed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_pytest_are_read() {
        assert_eq!(counts("40 passed in 3.05s"), Some((40, 0)));
        assert_eq!(counts("= 2 failed, 40 passed, 1 warning, 1 error in 63.05s (0:01:03) ="), Some((40, 3)));
        assert_eq!(counts("no tests ran in 0.01s"), None);
        assert_eq!(counts("FAILED tests/test_run.py::test_a - assert 1 in [2]"), None);
    }
}
