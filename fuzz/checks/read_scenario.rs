//! Any text may be passed as a scenario, and after `--set`.

use wiremend_scenario::{Override, load};

/// A scenario, and after a zero byte one override per line: valid, or refused in one line with a position.
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
