//! Environment of a lab.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;

pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Environment of a lab, set by the program that creates it.
#[derive(Clone, Debug)]
pub struct Lab {
    /// Path of the program `wiremend`, which runs as relay, wire and daemon.
    pub program: PathBuf,
    /// Stop flag: when it is set, all waits end with [`Error::Interrupted`].
    pub stop: Arc<AtomicBool>,
}

impl Lab {
    /// Fails with [`Error::Interrupted`] if the stop flag is set.
    pub fn check_stop(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Acquire) { Err(Error::Interrupted) } else { Ok(()) }
    }

    pub(crate) fn pause(&self, span: Duration) -> Result<(), Error> {
        let until = Instant::now() + span;
        loop {
            self.check_stop()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(Duration::from_millis(20)));
        }
    }
}
