//! Running the tests of the whole workspace, and counting them.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use crate::shell::{self, command};

/// How many tests passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
}

/// The closing line, which programs read too.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// Runs unit tests, integration tests and examples in documents, optimised and with assertions.
pub(super) fn run_tests(tally: &mut Tally) -> Result<()> {
    let mut cargo = command("cargo test --workspace --profile test-release --no-fail-fast");
    let mut child = cargo.stdout(Stdio::piped()).spawn().context("cannot start cargo test")?;
    let stdout = child.stdout.take().expect("standard output was piped");
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line.context("output of cargo test")?;
        let line = String::from_utf8_lossy(&line);
        let part = Tally::of_line(&line);
        tally.add(part.unwrap_or_default());
        if part.map_or_else(|| is_news(&line), |part| part != Tally::default()) {
            println!("{line}");
        }
    }
    let status = child.wait().context("cargo test")?;
    ensure!(status.success(), "`{}` failed ({status})", shell::line(&cargo));
    ensure!(tally.passed > 0, "no test ran");
    // An exit code is easily lost on the way; what the tests print is not.
    ensure!(tally.failed == 0, "{} tests failed", tally.failed);
    Ok(())
}

impl Tally {
    fn add(&mut self, part: Self) {
        self.passed += part.passed;
        self.failed += part.failed;
        self.skipped += part.skipped;
    }

    /// What `test result: ok. 3 passed; 0 failed; 1 ignored; …` says, the last line of each test program.
    fn of_line(line: &str) -> Option<Self> {
        let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
        let mut part = Self::default();
        for count in counts.split("; ") {
            let Some((number, what)) = count.split_once(' ') else { continue };
            match what {
                "passed" => part.passed = number.parse().ok()?,
                "failed" => part.failed = number.parse().ok()?,
                "ignored" => part.skipped = number.parse().ok()?,
                _ => {}
            }
        }
        Some(part)
    }
}

/// Whether a line of a test program is more than the news that nothing happened.
fn is_news(line: &str) -> bool {
    let passed = line.starts_with("test ") && (line.ends_with("... ok") || line.contains("... ok <"));
    let announced = line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test"));
    !(line.trim().is_empty() || passed || announced || line.starts_with("all doctests ran in "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 3 tests
test time::tests::a_slow_one ... ok <1.204s>
test time::tests::rounds_up ... ok
test time::tests::wraps ... ignored, needs root

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.00s

running 1 test
test crates/units/src/time.rs - time (line 4) ... FAILED
test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.12s
";

    #[test]
    fn results_of_all_test_programs_are_added() {
        let mut tally = Tally::default();
        OUTPUT.lines().filter_map(Tally::of_line).for_each(|part| tally.add(part));
        assert_eq!(tally.to_string(), "2 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn only_news_is_shown() {
        let news: Vec<_> =
            OUTPUT.lines().filter(|line| Tally::of_line(line).is_none() && is_news(line)).collect();
        assert_eq!(
            news,
            [
                "test time::tests::wraps ... ignored, needs root",
                "test crates/units/src/time.rs - time (line 4) ... FAILED"
            ]
        );
        assert!(is_news("test sim::swarm has been running for over 60 seconds"));
    }

    #[test]
    fn what_is_no_result_counts_nothing() {
        for line in ["", "test result", "test result: ok", "test result: ok. x passed; 0 failed"] {
            assert_eq!(Tally::of_line(line), None, "{line}");
        }
    }
}
