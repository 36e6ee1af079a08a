//! The services of this crate on a Linux machine: the daemon of a node and the planner of a fabric, turn by turn in real time.
//!
//! Neither reads files or prints: whoever starts a [`Service`] hands it a checked configuration, a [`Log`] and a flag that ends it.

mod exporter;
mod log;
mod machine;
mod node;
mod planner;
mod readout;
mod retry;

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wiremend_dataplane::drive::Clock;
use wiremend_units::{Span, Time};

use crate::name::Name;

pub use exporter::{Metrics, TakePage};
pub use log::{Log, foreseen_json, foreseen_text, verdict_json, verdict_text};
pub use machine::driver_counters;
pub use readout::{AdvisedReadout, PlannerReadout, PortReadout, Readout};

/// How soon a flag is noticed.
const NAP: Duration = Duration::from_millis(100);

/// What a service is given beside its configuration.
pub struct Service<'a> {
    /// The file that it goes by. One service at a time does.
    pub file: &'a Path,
    /// How long it runs; for ever if nothing is said.
    pub duration: Option<Span>,
    /// Who is told what happens.
    pub log: Log<'a>,
    /// Who is shown its numbers.
    pub metrics: Metrics,
    /// The version of the program.
    pub version: &'static str,
    /// It ends once this is set.
    pub stop: &'a AtomicBool,
}

/// Why a service cannot start.
#[derive(Debug)]
pub enum Error {
    /// What was asked for cannot be.
    Input(String),
    /// The machine lacks something.
    Environment(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(why) | Self::Environment(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

/// Why a loop ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Asked,
    /// The clock cannot go on: it has to begin anew.
    Worn,
}

impl Service<'_> {
    /// Whether it is time to end, and why.
    fn ended(&self, clock: &Clock, now: Time, end: Option<Time>) -> Option<Ended> {
        if self.stop.load(Ordering::Relaxed) || end.is_some_and(|end| now >= end) {
            return Some(Ended::Asked);
        }
        clock.is_worn().then_some(Ended::Worn)
    }

    /// One service at a time goes by a file.
    fn lock(&self) -> Result<File, Error> {
        let shown = self.file.display();
        let file = File::open(self.file).map_err(|error| Error::Input(format!("{shown}: {error}")))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                Err(Error::Environment(format!("another daemon goes by `{shown}`; stop that one first")))
            }
            Err(TryLockError::Error(error)) => {
                Err(Error::Environment(format!("cannot lock `{shown}`: {error}")))
            }
        }
    }

    /// Who holds the lease of a name: the machine and the file, so that a service that begins anew has it at once and one that goes by
    /// another file has not.
    fn holder(&self, name: &Name) -> String {
        let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
        let file = self.file.canonicalize().unwrap_or_else(|_| self.file.to_owned());
        format!("{name}/{}{}", machine.trim(), file.display())
    }
}
