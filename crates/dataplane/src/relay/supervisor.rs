//! The supervisor process: keeps the link forwarding when the forwarding process dies.

use std::fs;
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use tracing::{error, info, warn};
use wiremend_units::{Span, Time};

use super::carrier::{Carrier, PortState};
use super::health::Health;
use super::reload::{Reload, restart_options};
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
    /// Whether the last process has forwarded frames, and whether any has.
    has_served: bool,
    has_ever_served: bool,
    /// Processes that were killed and whose resources the kernel has not freed yet.
    dying: Vec<Child>,
    signals: &'a SupervisorSignals<'a>,
    /// The settings that a reload may change, as last configured.
    configured: RuntimeSettings,
    health: Arc<Health>,
    _metrics: Option<MetricsServer>,
}

/// What the operator asks of a running supervisor.
pub struct SupervisorSignals<'a> {
    /// Whether the relay must stop.
    pub stop: &'a dyn Fn() -> bool,
    /// The new configuration, or why it is unusable, if it must be read again.
    pub reload: &'a dyn Fn() -> Option<Result<Settings, String>>,
}

/// If a process dies sooner than this, the next start is delayed.
const LIFETIME_MIN: Span = Span::from_ms(1000);
const BACKOFF: Span = Span::from_ms(100);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Polls without a sign of life, once there was one, after which the forwarding process hangs. Polls are counted
/// instead of time: a machine that was suspended or overloaded stops both processes.
const SILENT_POLLS_MAX: u32 = 15;

/// For how long the forwarding process has not given a sign of life.
#[derive(Default)]
struct Silence {
    has_lived: bool,
    polls: u32,
}

impl Silence {
    /// Judges a poll: whether there was a sign of life, or another event ended the poll. True once for each silence.
    fn is_too_long(&mut self, life_pipe: &mut PipeReader, has_sign: bool, has_event: bool) -> bool {
        if has_sign {
            // Signs carry nothing. What one read leaves ends the next poll.
            self.has_lived |= life_pipe.read(&mut [0; 64]).is_ok_and(|count| count > 0);
            self.polls = 0;
        } else if !has_event {
            self.polls += 1;
        }
        self.has_lived && self.polls == SILENT_POLLS_MAX
    }
}

/// Returns whether an error at the start is permanent (2: input, 3: environment).
fn is_final(code: i32) -> bool {
    matches!(code, 2 | 3)
}

impl<'a> Supervisor<'a> {
    /// Leases the interfaces.
    pub fn start(settings: &'a Settings, signals: &'a SupervisorSignals<'a>) -> Result<Self, RelayError> {
        settings.check()?;
        let lease = InterfaceLease::take(settings, signals.stop)?;
        let health = Arc::new(Health::new(settings));
        match Self::open_resources(settings, &health) {
            Ok((watch, metrics)) => Ok(Self {
                lease,
                settings,
                clock: Clock::start(),
                watch,
                carrier: Carrier::new(),
                has_served: false,
                has_ever_served: false,
                dying: Vec::new(),
                signals,
                configured: RuntimeSettings::from_settings(settings),
                health,
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
        health: &Arc<Health>,
    ) -> Result<(InterfaceWatch, Option<MetricsServer>), RelayError> {
        RuntimeSettings::remove(settings);
        let watch = InterfaceWatch::open()?;
        let serve = |address| {
            let served = MetricsServer::serve(address, Arc::clone(health));
            served.map_err(RelayError::io(format!("metrics at {address}")))
        };
        Ok((watch, settings.metrics.map(serve).transpose()?))
    }

    /// Rate of the link.
    pub fn rate(&self) -> wiremend_units::Rate {
        self.lease.rate()
    }
    /// Runs `command`, which must run a [`Service`](super::Service), until it ends in order, cannot start or `stop`
    /// is set.
    pub fn run(mut self, command: impl Fn() -> Command) -> Result<ExitStatus, RelayError> {
        let outcome = self.run_children(&command);
        RuntimeSettings::remove(self.settings);
        match &outcome {
            Ok(status) if self.settings.release && (status.success() || status.code().is_none()) => {
                self.lease.restore_all()?;
            }
            Ok(status) if status.success() || status.code().is_none() => self.lease.hand_to_kernel()?,
            Err(RelayError::Net(NetError::NoSuchInterface { .. })) => self.lease.restore_all()?,
            _ if self.has_ever_served || self.health.restarts() > 0 => self.lease.hand_to_kernel()?,
            _ => self.lease.cancel()?,
        }
        outcome
    }

    /// Restarts the forwarding process for as long as it gets killed.
    fn run_children(&mut self, command: &dyn Fn() -> Command) -> Result<ExitStatus, RelayError> {
        let mut early_deaths = 0;
        loop {
            let started = self.clock.now();
            let (mut child, life_pipe) =
                self.spawn(command()).map_err(RelayError::io("start the forwarding process"))?;
            let how = match self.watch_child(&mut child, life_pipe) {
                Ok(Some(status)) if self.is_last(status) => return Ok(status),
                Ok(Some(status)) if status.code() == Some(RESTART) => {
                    info!(
                        link = self.settings.link,
                        "another forwarding process starts; the kernel forwards until then"
                    );
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
            self.health.on_restart();
            error!(
                link = self.settings.link,
                "the forwarding process died ({how}); the kernel forwards until the next one has started"
            );
            let now = self.clock.now();
            early_deaths = if now < started + LIFETIME_MIN { early_deaths + 1 } else { 0 };
            if early_deaths > 0 {
                self.back_off(now + BACKOFF * (1 << early_deaths.min(5)))?;
            }
        }
    }

    /// Whether no other process must follow. A process that has forwarded can fail for a reason that another one
    /// removes at its start.
    fn is_last(&self, status: ExitStatus) -> bool {
        status.success() || (self.signals.stop)() || (!self.has_served && status.code().is_some_and(is_final))
    }

    fn spawn(&self, mut command: Command) -> io::Result<(Child, PipeReader)> {
        process::terminate_with_parent(&mut command);
        process::inherit_descriptors(&mut command, &self.lease.locks());
        // Ctrl-C goes to the supervisor, which terminates the child.
        command.process_group(0);
        let life_pipe = process::life_pipe(&mut command)?;
        Ok((command.spawn()?, life_pipe))
    }

    /// Waits until the child has exited, or has died (`None`) and the kernel still frees its resources. Hands
    /// traffic to the kernel as soon as the child stops forwarding.
    fn watch_child(
        &mut self,
        child: &mut Child,
        life_pipe: PipeReader,
    ) -> Result<Option<ExitStatus>, RelayError> {
        self.has_served = false;
        let exit = ProcessExit::watch(child).map_err(RelayError::io("watch the forwarding process"))?;
        let mut terminated = false;
        let mut life_pipe = Some(life_pipe);
        let mut silence = Silence::default();
        loop {
            if let Some(status) =
                child.try_wait().map_err(RelayError::io("wait for the forwarding process"))?
            {
                return Ok(Some(status));
            }
            self.dying.retain_mut(|dying| matches!(dying.try_wait(), Ok(None)));
            self.health.on_turn();
            self.has_served |= self.settings.socket().exists();
            self.has_ever_served |= self.has_served;
            if let Some(read) = (self.signals.reload)() {
                self.reload(read);
            }
            if (self.signals.stop)() && !terminated {
                terminated = true;
                process::terminate(child.id()).map_err(RelayError::io("terminate the forwarding process"))?;
            }
            let life_or_exit = life_pipe.as_ref().map_or(exit.as_fd(), |life_pipe| life_pipe.as_fd());
            let [life, changed] =
                wait([(life_or_exit, false), (self.watch.as_fd(), false)], Some(POLL_INTERVAL))
                    .map_err(RelayError::io("wait for events"))?;
            if let Some(life_pipe) = &mut life_pipe
                && silence.is_too_long(life_pipe, life.read, changed.read)
            {
                error!(link = self.settings.link, "the forwarding process hangs: it is killed");
                child.kill().map_err(RelayError::io("kill the forwarding process"))?;
            }
            if life.error && life_pipe.take().is_some() {
                self.lease.forward()?;
                // A process that exits in order removes its socket.
                if !(self.signals.stop)() && fs::remove_file(self.settings.socket()).is_ok() {
                    return Ok(None);
                }
            }
            if changed.read || self.carrier.needs_check(self.clock.now()) {
                self.propagate_carrier()?;
            }
        }
    }

    fn back_off(&mut self, until: Time) -> Result<(), RelayError> {
        while self.clock.now() < until && !(self.signals.stop)() {
            let [changed] = wait([(self.watch.as_fd(), false)], Some(POLL_INTERVAL))
                .map_err(RelayError::io("wait for events"))?;
            if changed.read {
                self.propagate_carrier()?;
            }
        }
        Ok(())
    }

    /// Applies what may change while frames flow, and names what needs a restart.
    fn reload(&mut self, read: Result<Settings, String>) {
        let link = &self.settings.link;
        let new = match read {
            Ok(new) => new,
            Err(why) => {
                error!(link, "the configuration is not reloaded, the previous one stays in effect: {why}");
                return;
            }
        };
        let configured = RuntimeSettings::from_settings(&new);
        match Reload::between(&self.configured, &configured).send(&self.settings.socket()) {
            Ok(0) => info!(link, "the configuration is reloaded: nothing to change in the running relay"),
            Ok(_) => info!(link, "the configuration is reloaded"),
            Err(why) => {
                error!(link, "the configuration is not reloaded, reload it again: {why}");
                return;
            }
        }
        self.configured = configured;
        let fixed = restart_options(self.settings, &new);
        if !fixed.is_empty() {
            warn!(link, "a restart of the relay is needed for {}", fixed.join(", "));
        }
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
        let link = &self.settings.link;
        if change.up {
            info!(link, "`{followed}` has a carrier again: `{follows}` is brought up");
        } else {
            warn!(
                link,
                "`{followed}` has lost its carrier: `{follows}` is taken down until the carrier returns"
            );
        }
        self.lease.set_up(change.port, change.up)
    }
}
