//! Services on Linux: the daemon of a node and the planner of a fabric, in real time.
//!
//! They neither read files nor print: the caller of [`Service`] provides a checked configuration, reads it
//! again on request, and sets a stop flag. Events go to the subscriber of `tracing`.

mod counter_trail;
mod daemon;
mod exporter;
mod local_machine;
mod local_node;
mod log;
mod metrics;
mod planner;
mod retry;

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tracing::error;
use wiremend_dataplane::event_loop::Clock;
use wiremend_units::{Span, Time};

use crate::name::Name;

pub use daemon::{NodePaths, NodeSetup};
pub use exporter::{MetricsOutput, PageSink};
pub use local_node::LocalNode;
pub use log::{forecast_json, forecast_text, verdict_json, verdict_text};
pub use metrics::{AdvisedLinkMetrics, DaemonMetrics, PlannerMetrics, PortMetrics};
pub use planner::PlannerSetup;

/// Longest wait before the stop flag is checked.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// Settings of a service besides its configuration.
pub struct Service<'a> {
    /// Path of the configuration file. It is locked, so that only one service uses it.
    pub file: &'a Path,
    /// Run time; `None` for no limit.
    pub duration: Option<Span>,
    /// Metrics outputs.
    pub metrics: MetricsOutput,
    /// Version of the program.
    pub version: &'static str,
    /// The service ends when this flag is set.
    pub stop: &'a AtomicBool,
    /// The service reads its configuration again when this flag is set, and clears it.
    pub reload: &'a AtomicBool,
}

/// Reads and checks a configuration again; `Err` with the reason if it is unusable.
pub type Load<'a, C> = &'a dyn Fn() -> Result<C, String>;

/// Why a service cannot start.
#[derive(Debug)]
pub enum Error {
    /// An invalid argument or configuration.
    Input(String),
    /// A missing requirement of the machine.
    Environment(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(reason) | Self::Environment(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Error {}

/// Why a loop ended.
enum LoopEnd<C> {
    Stopped,
    /// The clock reached its end and must be restarted.
    ClockExpired,
    /// A new configuration was read.
    Reloaded(C),
}

impl Service<'_> {
    /// Returns whether the loop must end, and why. A new configuration that is unusable is reported, and the
    /// loop goes on with the previous one.
    fn loop_end<C>(
        &self,
        clock: &Clock,
        now: Time,
        end: Option<Time>,
        load: Load<'_, C>,
    ) -> Option<LoopEnd<C>> {
        if self.stop.load(Ordering::Relaxed) || end.is_some_and(|end| now >= end) {
            return Some(LoopEnd::Stopped);
        }
        if self.reload.swap(false, Ordering::Relaxed) {
            match load() {
                Ok(new) => return Some(LoopEnd::Reloaded(new)),
                Err(why) => error!(
                    event = "not_reloaded",
                    "the configuration is not reloaded, the previous one stays in effect: {why}"
                ),
            }
        }
        clock.is_expired().then_some(LoopEnd::ClockExpired)
    }

    /// A service holds its lease by its name.
    fn check_name(&self, old: &Name, new: &Name) -> Result<(), String> {
        if old == new {
            return Ok(());
        }
        Err(format!("{}: `{old}` has become `{new}`, which needs a restart", self.file.display()))
    }

    /// When the service ends by itself.
    fn end(&self, clock: &Clock) -> Option<Time> {
        self.duration.map(|span| clock.now().saturating_add(span))
    }

    /// Locks the configuration file.
    fn lock(&self) -> Result<File, Error> {
        let shown = self.file.display();
        let file = File::open(self.file).map_err(|error| Error::Input(format!("{shown}: {error}")))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                Err(Error::Environment(format!("another daemon uses `{shown}`; stop it first")))
            }
            Err(TryLockError::Error(error)) => {
                Err(Error::Environment(format!("cannot lock `{shown}`: {error}")))
            }
        }
    }

    /// Returns the lease holder: name, machine id and configuration file. A restarted service keeps its
    /// lease; a service with another file does not get it.
    fn holder(&self, name: &Name) -> String {
        let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
        let file = self.file.canonicalize().unwrap_or_else(|_| self.file.to_owned());
        format!("{name}/{}{}", machine.trim(), file.display())
    }
}
