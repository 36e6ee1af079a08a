//! Counts of tests.

use std::fmt;
use std::ops::AddAssign;

/// How many tests passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, part: Self) {
        self.passed += part.passed;
        self.failed += part.failed;
        self.skipped += part.skipped;
    }
}

impl Tally {
    /// Adds all lines `test result: ok. 3 passed; 0 failed; 1 ignored; …` of test programs.
    pub(super) fn from_output(output: &str) -> Self {
        let mut sum = Self::default();
        output.lines().filter_map(Self::from_line).for_each(|part| sum += part);
        sum
    }

    /// The counts in such a line.
    pub(super) fn from_line(line: &str) -> Option<Self> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 3 tests
test time::tests::rounds_up ... ok
test time::tests::wraps ... ignored, needs root

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.00s

running 1 test
test crates/units/src/time.rs - time (line 4) ... FAILED
test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.12s
";

    #[test]
    fn results_of_all_test_programs_are_added() {
        assert_eq!(Tally::from_output(OUTPUT).to_string(), "2 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn other_lines_count_nothing() {
        for line in ["", "test result", "test result: ok", "test result: ok. x passed; 0 failed"] {
            assert_eq!(Tally::from_line(line), None, "{line}");
        }
    }
}
