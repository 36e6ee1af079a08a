//! Whatever becomes of a relay, its link goes on: a process that carries no frames watches the one that does.

use std::fs;
use std::io::{self, PipeReader};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use wiremend_units::{Span, Time};

use super::carrier::{Carrier, Standing};
use super::metrics::page;
use super::{Hold, Settings, Unusable, Wishes};
use crate::drive::Clock;
use crate::metrics::Scrape;
use crate::net::{Interface, Refused, Watch};
use crate::sys::process::{self, Death};
use crate::sys::wait::wait;

/// Watches over the process that carries a relay's frames.
///
/// If it is killed, the kernel joins the two interfaces at once, and another one is started. When one of them loses its carrier, the
/// other is taken down, as a cable would have it.
pub struct Supervisor<'a> {
    hold: Hold,
    settings: &'a Settings,
    clock: Clock,
    watch: Watch,
    carrier: Carrier,
    restarts: Arc<AtomicU64>,
    /// Killed, and not gone yet.
    dying: Vec<Child>,
    stop: &'a dyn Fn() -> bool,
    say: &'a dyn Fn(&str),
    /// Answers those who collect metrics as long as it lives.
    _scrape: Option<Scrape>,
}

/// A life shorter than this is no life: the next one waits.
const QUICK: Span = Span::from_ms(1000);
const BACKOFF: Span = Span::from_ms(100);
/// How soon the wish to stop is noticed at the latest.
const LOOK: Duration = Duration::from_millis(200);

/// Whether a process that ended with this code would end so again: all is done, or something is missing.
fn is_final(code: i32) -> bool {
    matches!(code, 0 | 2 | 3)
}

impl<'a> Supervisor<'a> {
    /// Takes the interfaces. `stop` is asked now and then; `say` tells the operator what has happened.
    pub fn start(
        settings: &'a Settings,
        stop: &'a dyn Fn() -> bool,
        say: &'a dyn Fn(&str),
    ) -> Result<Self, Unusable> {
        let hold = Hold::take(settings, stop)?;
        let restarts = Arc::new(AtomicU64::new(0));
        match Self::ready(settings, &restarts) {
            Ok((watch, scrape)) => Ok(Self {
                hold,
                settings,
                clock: Clock::start(),
                watch,
                carrier: Carrier::new(),
                restarts,
                dying: Vec::new(),
                stop,
                say,
                _scrape: scrape,
            }),
            Err(why) => {
                // The first error is the one to tell.
                let _ = hold.give_up();
                Err(why)
            }
        }
    }

    fn ready(settings: &Settings, restarts: &Arc<AtomicU64>) -> Result<(Watch, Option<Scrape>), Unusable> {
        Wishes::forget(settings);
        let watch = Watch::open()?;
        let serve = |address| {
            let served = Scrape::serve(address, page(settings, Arc::clone(restarts)));
            served.map_err(Unusable::io(format!("metrics at {address}")))
        };
        Ok((watch, settings.metrics.map(serve).transpose()?))
    }

    /// How fast the link is.
    pub fn rate(&self) -> wiremend_units::Rate {
        self.hold.rate()
    }

    /// Runs what `command` gives, which runs a [`Service`](super::Service), until it ends by itself or is told to.
    pub fn run(mut self, command: impl Fn() -> Command) -> Result<ExitStatus, Unusable> {
        let outcome = self.relay(&command);
        Wishes::forget(self.settings);
        match &outcome {
            Ok(status) if self.settings.release && (status.success() || status.code().is_none()) => {
                self.hold.give_back()?;
            }
            Ok(status) if status.success() || status.code().is_none() => self.hold.leave()?,
            Err(Unusable::Refused(Refused::NoSuchInterface { .. })) => self.hold.give_back()?,
            _ if self.restarts.load(Ordering::Relaxed) > 0 => self.hold.leave()?,
            _ => self.hold.give_up()?,
        }
        outcome
    }

    /// Starts one after another, as long as each was killed.
    fn relay(&mut self, command: &dyn Fn() -> Command) -> Result<ExitStatus, Unusable> {
        let mut quick_deaths = 0;
        loop {
            let born = self.clock.now();
            let (mut child, breath) = self.spawn(command()).map_err(Unusable::io("a process"))?;
            let how = match self.attend(&mut child, breath) {
                Ok(Some(status)) if status.code().is_some_and(is_final) || (self.stop)() => {
                    return Ok(status);
                }
                Ok(Some(status)) => status.to_string(),
                Ok(None) => {
                    self.dying.push(child);
                    "killed".into()
                }
                Err(why) => {
                    // It may have ended already; whatever it comes to, the first error is the one to tell.
                    let _ = process::terminate(child.id()).and_then(|()| child.wait());
                    return Err(why);
                }
            };
            self.restarts.fetch_add(1, Ordering::Relaxed);
            (self.say)(&format!(
                "the process that carries frames has died ({how}); the kernel forwards, and another one starts"
            ));
            let now = self.clock.now();
            quick_deaths = if now < born + QUICK { quick_deaths + 1 } else { 0 };
            if quick_deaths > 0 {
                self.back_off(now + BACKOFF * (1 << quick_deaths.min(5)))?;
            }
        }
    }

    fn spawn(&self, mut command: Command) -> io::Result<(Child, PipeReader)> {
        process::ends_with_parent(&mut command);
        process::shares(&mut command, &self.hold.locks());
        // Ctrl-C is for the one that watches: it tells the other.
        command.process_group(0);
        let breath = process::last_breath(&mut command)?;
        Ok((command.spawn()?, breath))
    }

    /// Until the child has ended, or was killed (`None`) and is about to be gone. Traffic is the kernel's as soon as it carries no
    /// more.
    fn attend(&mut self, child: &mut Child, breath: PipeReader) -> Result<Option<ExitStatus>, Unusable> {
        let death = Death::of(child).map_err(Unusable::io("watching a process"))?;
        let mut told = false;
        let mut breath = Some(breath);
        loop {
            if let Some(status) = child.try_wait().map_err(Unusable::io("waiting for a process"))? {
                return Ok(Some(status));
            }
            self.dying.retain_mut(|dying| matches!(dying.try_wait(), Ok(None)));
            if (self.stop)() && !told {
                told = true;
                process::terminate(child.id()).map_err(Unusable::io("ending a process"))?;
            }
            let sign = breath.as_ref().map_or(death.as_fd(), |breath| breath.as_fd());
            let [died, heard] = wait([(sign, false), (self.watch.as_fd(), false)], Some(LOOK))
                .map_err(Unusable::io("waiting"))?;
            if died.error && breath.take().is_some() {
                self.hold.forward()?;
                // One that ends by itself takes its socket along.
                if !(self.stop)() && fs::remove_file(self.settings.socket()).is_ok() {
                    return Ok(None);
                }
            }
            if heard.read || self.carrier.is_unsettled(self.clock.now()) {
                self.mind_carrier()?;
            }
        }
    }

    fn back_off(&mut self, until: Time) -> Result<(), Unusable> {
        while self.clock.now() < until && !(self.stop)() {
            let [heard] = wait([(self.watch.as_fd(), false)], Some(LOOK)).map_err(Unusable::io("waiting"))?;
            if heard.read {
                self.mind_carrier()?;
            }
        }
        Ok(())
    }

    /// One port has lost its carrier, or has it again: so does the other.
    fn mind_carrier(&mut self) -> Result<(), Unusable> {
        self.watch.changes()?;
        let names = [&self.settings.lan, &self.settings.link];
        let mut ports = [Standing { up: false, carrier: false }; 2];
        for (port, name) in ports.iter_mut().zip(names) {
            let interface = Interface::by_name(name)?;
            *port = Standing { up: interface.up, carrier: interface.carrier };
        }
        let Some(change) = self.carrier.follow(self.clock.now(), ports) else { return Ok(()) };
        let (followed, follows) = (names[1 - change.port], names[change.port]);
        (self.say)(&if change.up {
            format!("`{followed}` has a carrier again: `{follows}` is up again")
        } else {
            format!("`{followed}` has lost its carrier: `{follows}` is taken down until it is back")
        });
        self.hold.set_up(change.port, change.up)
    }
}
