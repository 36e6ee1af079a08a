//! What a laboratory is given by the program that makes it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;

/// How often something is looked at that nobody reports.
pub(crate) const LOOK: Duration = Duration::from_millis(2);

/// What a laboratory is given by the program that makes it.
#[derive(Clone, Debug)]
pub struct Lab {
    /// The program `wiremend`, which is started as relay, wire and daemon.
    pub program: PathBuf,
    /// Once this is set, everything that waits ends with [`Error::Interrupted`].
    pub stop: Arc<AtomicBool>,
}

impl Lab {
    /// Fails once somebody ends the program.
    pub fn go_on(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Acquire) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Waits for so long, unless somebody ends the program.
    pub(crate) fn pause(&self, span: Duration) -> Result<(), Error> {
        let until = Instant::now() + span;
        loop {
            self.go_on()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(Duration::from_millis(20)));
        }
    }
}
