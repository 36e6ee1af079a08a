//! The supervisor process: keeps the link forwarding when the forwarding process dies.

use std::fs;
use std::io::{self, PipeReader};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use wiremend_units::{Span, Time};

use super::carrier::{Carrier, PortState};
use super::metrics::page;
use super::{InterfaceLease, RESTART, RelayError, RuntimeSettings, Settings};
use crate::event_loop::Clock;
use crate::metrics::MetricsServer;
use crate::net::{Interface, InterfaceWatch, NetError};
use crate::sys::process::{self, ProcessExit};
use crate::sys::wait::wait;

/// Supervises the forwarding process of a relay.
///
/// If the forwarding process is killed, the supervisor lets the kernel forward at once and starts another
/// process. When one interface loses its carrier, the supervisor takes the other down, like a cable.
pub struct Supervisor<'a> {
    lease: InterfaceLease,
    settings: &'a Settings,
    clock: Clock,
    watch: InterfaceWatch,
    carrier: Carrier,
    restarts: Arc<AtomicU64>,
    /// Processes that were killed and whose resources the kernel has not freed yet.
    dying: Vec<Child>,
    stop: &'a dyn Fn() -> bool,
    notify: &'a dyn Fn(&str),
    _metrics: Option<MetricsServer>,
}

/// If a process dies sooner than this, the next start is delayed.
const LIFETIME_MIN: Span = Span::from_ms(1000);
const BACKOFF: Span = Span::from_ms(100);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Returns whether a restart is pointless: success (0), or a permanent error (2: input, 3: environment).
fn is_final(code: i32) -> bool {
    matches!(code, 0 | 2 | 3)
}

impl<'a> Supervisor<'a> {
    /// Leases the interfaces. The supervisor polls `stop` and passes messages for the operator to `notify`.
    pub fn start(
        settings: &'a Settings,
        stop: &'a dyn Fn() -> bool,
        notify: &'a dyn Fn(&str),
    ) -> Result<Self, RelayError> {
        settings.check()?;
        let lease = InterfaceLease::take(settings, stop)?;
        let restarts = Arc::new(AtomicU64::new(0));
        match Self::open_resources(settings, &restarts) {
            Ok((watch, metrics)) => Ok(Self {
                lease,
                settings,
                clock: Clock::start(),
                watch,
                carrier: Carrier::new(),
                restarts,
                dying: Vec::new(),
                stop,
                notify,
                _metrics: metrics,
            }),
            Err(why) => {
                // Report the first error only.
                let _ = lease.cancel();
                Err(why)
            }
        }
    }

    fn open_resources(
        settings: &Settings,
        restarts: &Arc<AtomicU64>,
    ) -> Result<(InterfaceWatch, Option<MetricsServer>), RelayError> {
        RuntimeSettings::remove(settings);
        let watch = InterfaceWatch::open()?;
        let serve = |address| {
            let served = MetricsServer::serve(address, page(settings, Arc::clone(restarts)));
            served.map_err(RelayError::io(format!("metrics at {address}")))
        };
        Ok((watch, settings.metrics.map(serve).transpose()?))
    }

    /// Rate of the link.
    pub fn rate(&self) -> wiremend_units::Rate {
        self.lease.rate()
    }
    /// Runs `command`, which must run a [`Service`](super::Service), until it exits or `stop` is set.
    pub fn run(mut self, command: impl Fn() -> Command) -> Result<ExitStatus, RelayError> {
        let outcome = self.run_children(&command);
        RuntimeSettings::remove(self.settings);
        match &outcome {
            Ok(status) if self.settings.release && (status.success() || status.code().is_none()) => {
                self.lease.restore_all()?;
            }
            Ok(status) if status.success() || status.code().is_none() => self.lease.hand_to_kernel()?,
            Err(RelayError::Net(NetError::NoSuchInterface { .. })) => self.lease.restore_all()?,
            _ if self.restarts.load(Ordering::Relaxed) > 0 => self.lease.hand_to_kernel()?,
            _ => self.lease.cancel()?,
        }
        outcome
    }

    /// Restarts the forwarding process for as long as it gets killed.
    fn run_children(&mut self, command: &dyn Fn() -> Command) -> Result<ExitStatus, RelayError> {
        let mut early_deaths = 0;
        loop {
            let started = self.clock.now();
            let (mut child, exit_pipe) =
                self.spawn(command()).map_err(RelayError::io("start the forwarding process"))?;
            let how = match self.watch_child(&mut child, exit_pipe) {
                Ok(Some(status)) if status.code().is_some_and(is_final) || (self.stop)() => {
                    return Ok(status);
                }
                Ok(Some(status)) if status.code() == Some(RESTART) => {
                    (self.notify)("another forwarding process starts; the kernel forwards until then");
                    continue;
                }
                Ok(Some(status)) => status.to_string(),
                Ok(None) => {
                    self.dying.push(child);
                    "killed".into()
                }
                Err(why) => {
                    // Report the first error only; the process may have ended already.
                    let _ = process::terminate(child.id()).and_then(|()| child.wait());
                    return Err(why);
                }
            };
            self.restarts.fetch_add(1, Ordering::Relaxed);
            (self.notify)(&format!(
                "the forwarding process died ({how}); the kernel forwards until the next one has started"
            ));
            let now = self.clock.now();
            early_deaths = if now < started + LIFETIME_MIN { early_deaths + 1 } else { 0 };
            if early_deaths > 0 {
                self.back_off(now + BACKOFF * (1 << early_deaths.min(5)))?;
            }
        }
    }

    fn spawn(&self, mut command: Command) -> io::Result<(Child, PipeReader)> {
        process::terminate_with_parent(&mut command);
        process::inherit_descriptors(&mut command, &self.lease.locks());
        // Ctrl-C goes to the supervisor, which terminates the child.
        command.process_group(0);
        let exit_pipe = process::exit_pipe(&mut command)?;
        Ok((command.spawn()?, exit_pipe))
    }

    /// Waits until the child has exited, or has died (`None`) and the kernel still frees its resources. Hands
    /// traffic to the kernel as soon as the child stops forwarding.
    fn watch_child(
        &mut self,
        child: &mut Child,
        exit_pipe: PipeReader,
    ) -> Result<Option<ExitStatus>, RelayError> {
        let exit = ProcessExit::watch(child).map_err(RelayError::io("watch the forwarding process"))?;
        let mut terminated = false;
        let mut exit_pipe = Some(exit_pipe);
        loop {
            if let Some(status) =
                child.try_wait().map_err(RelayError::io("wait for the forwarding process"))?
            {
                return Ok(Some(status));
            }
            self.dying.retain_mut(|dying| matches!(dying.try_wait(), Ok(None)));
            if (self.stop)() && !terminated {
                terminated = true;
                process::terminate(child.id()).map_err(RelayError::io("terminate the forwarding process"))?;
            }
            let exit_event = exit_pipe.as_ref().map_or(exit.as_fd(), |exit_pipe| exit_pipe.as_fd());
            let [died, changed] =
                wait([(exit_event, false), (self.watch.as_fd(), false)], Some(POLL_INTERVAL))
                    .map_err(RelayError::io("wait for events"))?;
            if died.error && exit_pipe.take().is_some() {
                self.lease.forward()?;
                // A process that exits in order removes its socket.
                if !(self.stop)() && fs::remove_file(self.settings.socket()).is_ok() {
                    return Ok(None);
                }
            }
            if changed.read || self.carrier.needs_check(self.clock.now()) {
                self.propagate_carrier()?;
            }
        }
    }

    fn back_off(&mut self, until: Time) -> Result<(), RelayError> {
        while self.clock.now() < until && !(self.stop)() {
            let [changed] = wait([(self.watch.as_fd(), false)], Some(POLL_INTERVAL))
                .map_err(RelayError::io("wait for events"))?;
            if changed.read {
                self.propagate_carrier()?;
            }
        }
        Ok(())
    }

    fn propagate_carrier(&mut self) -> Result<(), RelayError> {
        self.watch.changes()?;
        let names = [&self.settings.lan, &self.settings.link];
        let mut ports = [PortState { up: false, carrier: false }; 2];
        for (port, name) in ports.iter_mut().zip(names) {
            let interface = Interface::by_name(name)?;
            *port = PortState { up: interface.up, carrier: interface.carrier };
        }
        let Some(change) = self.carrier.update(self.clock.now(), ports) else { return Ok(()) };
        let (followed, follows) = (names[1 - change.port], names[change.port]);
        (self.notify)(&if change.up {
            format!("`{followed}` has a carrier again: `{follows}` is brought up")
        } else {
            format!("`{followed}` has lost its carrier: `{follows}` is taken down until the carrier returns")
        });
        self.lease.set_up(change.port, change.up)
    }
}
