//! Replays the corpus of a fuzzer in an ordinary test.

use std::fs;
use std::path::Path;

/// Checks every file of a target's corpus; an empty corpus is a failure.
pub(crate) fn replay(target: &str, check: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", directory.display());
    for path in paths {
        println!("{}", path.display());
        check(&fs::read(&path).unwrap());
    }
}
