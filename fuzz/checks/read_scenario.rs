//! Any text may be called a scenario, and anything may follow `--set`.

use wiremend_scenario::{Override, load};

/// A scenario, and behind a zero byte a change to it a line: understood, or refused in one line that points somewhere.
pub(crate) fn check(bytes: &[u8]) {
    let input = String::from_utf8_lossy(bytes);
    let (text, sets) = input.split_once('\0').unwrap_or((&input, ""));
    let sets: Vec<Override> = sets.lines().filter_map(|line| line.parse().ok()).collect();
    match load("any", text, &sets) {
        Ok(file) => assert!(!file.variants.is_empty(), "there is something to run"),
        Err(error) => {
            let error = error.to_string();
            assert!(!error.contains(char::is_control), "{error:?}");
            assert!(error.starts_with("any:") || error.starts_with("--set "), "{error}");
            assert!(error.len() < 1600, "{error}");
        }
    }
}
