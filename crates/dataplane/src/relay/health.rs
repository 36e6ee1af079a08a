//! What the supervisor tells Prometheus and health checks over HTTP.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::metrics::text;
use super::{Request, Settings, Status};
use crate::control::send_request;
use crate::event_loop::Heartbeat;
use crate::metrics::Pages;

/// Shared by the supervisor and the threads of its HTTP server.
pub(super) struct Health {
    socket: PathBuf,
    device: String,
    version: String,
    restarts: AtomicU64,
    /// Of the supervisor's loop.
    heartbeat: Heartbeat,
}

/// The supervisor's loop turns several times a second, but waits for answers of the forwarding process.
const TURN_MAX: Duration = Duration::from_secs(10);

impl Health {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            socket: settings.socket(),
            device: settings.link.clone(),
            version: settings.version.clone(),
            restarts: AtomicU64::new(0),
            heartbeat: Heartbeat::start(),
        }
    }

    /// Restarts of the forwarding process.
    pub(super) fn restarts(&self) -> u64 {
        self.restarts.load(Ordering::Relaxed)
    }

    pub(super) fn on_restart(&self) {
        self.restarts.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn on_turn(&self) {
        self.heartbeat.beat();
    }

    fn status(&self) -> Option<Status> {
        send_request(&self.socket, &Request::Status).ok()
    }
}

impl Pages for Health {
    fn metrics(&self) -> String {
        text(&self.version, &self.device, self.restarts(), self.status().as_ref())
    }

    fn health(&self) -> Result<(), String> {
        let is_alive = self.heartbeat.age() < TURN_MAX;
        is_alive.then_some(()).ok_or_else(|| format!("the supervisor hangs for more than {TURN_MAX:?}"))
    }

    fn readiness(&self) -> Result<(), String> {
        let answered = self.status().is_some();
        answered.then_some(()).ok_or_else(|| "the forwarding process does not answer".to_owned())
    }
}
