//! The real wire: relays, wires, labs and guests are processes that carry frames in real time.
//!
//! A test here passes on a slow and busy machine as well: it judges counts and order, never speed. `cargo xtask lab` judges speed.

mod account;
mod endurance;
mod fault_list;
mod lab;
mod line;
mod relay;
mod relay_classes;
mod relay_metrics;
mod relay_net;
mod two_hosts;

use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything takes that does happen, however busy the machine is.
const PATIENCE: Duration = Duration::from_mins(5);
/// How often something is looked at that nobody reports.
const LOOK: Duration = Duration::from_millis(5);

/// These tests run one at a time. A lock of a file keeps processes apart as well as threads; it ends with the value.
#[must_use]
fn alone() -> File {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wire.lock");
    let file = File::create(path).expect("a file in the target folder");
    file.lock().expect("locks of files work there");
    file
}

/// Whether it becomes true.
fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !holds() {
        if begun.elapsed() > PATIENCE {
            return false;
        }
        thread::sleep(LOOK);
    }
    true
}

/// Waits until it is true.
fn until(what: &str, holds: impl FnMut() -> bool) {
    assert!(eventually(holds), "waited in vain until {what}");
}

/// Says why a test is left out, which is a failure where `CI` is set.
fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "must run where CI is set: {why}");
    eprintln!("skipped: {why}");
}
