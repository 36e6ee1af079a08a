//! Real links: relays, wires, labs and guests are processes that forward frames in real time.
//!
//! These tests pass on slow and busy machines too: they check counts and order, never speed. `cargo xtask lab` checks speed.

mod account;
mod endurance;
mod fault_list;
mod lab;
mod line;
mod peer;
mod peer_managed;
mod peer_probe;
mod peer_refusals;
mod peer_soak;
mod relay;
mod relay_classes;
mod relay_metrics;
mod relay_net;
mod relay_reload;
mod two_hosts;
mod units;

use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Timeout for any event, however busy the machine is.
const PATIENCE: Duration = Duration::from_mins(5);
/// Polling interval.
const LOOK: Duration = Duration::from_millis(5);

/// These tests run one at a time. A file lock excludes other processes and threads until the value is dropped.
#[must_use]
fn alone() -> File {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wire.lock");
    let file = File::create(path).expect("a file in the target folder");
    file.lock().expect("locks of files work there");
    file
}

/// Polls until the condition is true; returns whether it became true.
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

/// Waits until the condition is true, or panics.
fn until(what: &str, holds: impl FnMut() -> bool) {
    assert!(eventually(holds), "waited in vain until {what}");
}

/// Prints why a test is skipped; fails if `CI` is set.
fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "must run where CI is set: {why}");
    eprintln!("skipped: {why}");
}
