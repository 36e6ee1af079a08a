//! `wiremend monitor run`: the daemon.

use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::time::Duration;

use wiremend_dataplane::drive::Clock;
use wiremend_monitor::bus::{Bell, Fault, Server, Store, Unfit};
use wiremend_monitor::{Config, Daemon, Event};
use wiremend_units::{Span, Time};

use super::config;
use super::machine::ThisMachine;
use super::say::Voice;
use crate::args::monitor::MonitorRun as Asked;
use crate::failure::{Answer, Failure};
use crate::{rundir, signals};

/// How soon a signal is noticed.
const NAP: Duration = Duration::from_millis(100);
/// The server is tried again after this, then after twice as long, and so on.
const PAUSE_MIN: Span = Span::from_ms(500);
const PAUSE_MAX: Span = Span::from_ms(30_000);

pub(super) fn run(asked: &Asked) -> Result<Answer, Failure> {
    let config = config::load(&asked.config)?;
    let password = config.redis.password_file.as_deref().map(config::password).transpose()?;
    let _alone = alone(&asked.config)?;
    signals::catch()?;
    let voice = Voice::new(&config, asked.log);
    let mut bus = Bus::new(config.redis.server(&config.node, password), &config, &voice);
    // A clock does not last for ever. What was seen stands in the store, from which the next daemon goes on.
    while serve(asked, &config, &voice, &mut bus) == Ended::Worn {
        bus.retry_at = Time::ZERO;
    }
    Ok(Answer::Yes)
}

#[derive(PartialEq, Eq)]
enum Ended {
    Asked,
    /// The clock.
    Worn,
}

fn serve(asked: &Asked, config: &Config, voice: &Voice<'_>, bus: &mut Bus<'_>) -> Ended {
    let clock = Clock::start();
    let mut machine = ThisMachine::new(config, asked.sysfs.clone(), rundir::of(&asked.place), clock);
    let holder = holder(config, &asked.config);
    let mut daemon = Daemon::new(config.links.clone(), config.thresholds, config.conduct, holder);
    let mut due = clock.now();
    let end = asked.duration.map(|span| due.saturating_add(span));
    loop {
        let now = clock.now();
        if signals::caught().is_some() || end.is_some_and(|end| now >= end) {
            return Ended::Asked;
        }
        if clock.is_worn() {
            return Ended::Worn;
        }
        if now >= due {
            // A poll that was missed is not made up for.
            due = now.saturating_add(Span::from_ns(config.poll.as_nanos() as u64));
            let events = daemon.watch(&mut machine);
            voice.say(&events);
            for missing in machine.unsaid() {
                voice.remark(&format!("`{}` is left out: {}", missing.file.display(), missing.why));
            }
            let events = bus.exchange(now, &mut daemon, &mut machine, false);
            voice.say(&events);
        }
        let left = Duration::from_nanos(due.since(clock.now().min(due)).as_ns());
        if bus.rang(clock.now(), &mut daemon, left.min(NAP)) {
            let events = bus.exchange(clock.now(), &mut daemon, &mut machine, true);
            voice.say(&events);
        }
    }
}

/// One daemon at a time goes by a file.
fn alone(config: &Path) -> Result<File, Failure> {
    let shown = config.display();
    let file = File::open(config).map_err(|error| Failure::Input(format!("{shown}: {error}")))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(Failure::Environment(format!("another daemon goes by `{shown}`; stop that one first")))
        }
        Err(TryLockError::Error(error)) => {
            Err(Failure::Environment(format!("cannot lock `{shown}`: {error}")))
        }
    }
}

/// Who holds the lease of this node: the machine and the file, so that a daemon that begins anew has it at once and one that goes by
/// another file has not.
fn holder(config: &Config, file: &Path) -> String {
    let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    format!("{}/{}{}", config.node, machine.trim(), file.display())
}

/// The connections to Redis, and when to try again.
struct Bus<'a> {
    voice: &'a Voice<'a>,
    server: Server,
    node: wiremend_monitor::Name,
    open: Option<(Store, Bell)>,
    retry_at: Time,
    pause: Span,
    /// It was said that it cannot be reached.
    said: bool,
}

impl<'a> Bus<'a> {
    fn new(server: Server, config: &Config, voice: &'a Voice<'a>) -> Self {
        let node = config.node.clone();
        Self { voice, server, node, open: None, retry_at: Time::ZERO, pause: PAUSE_MIN, said: false }
    }

    fn exchange(
        &mut self,
        now: Time,
        daemon: &mut Daemon,
        machine: &mut ThisMachine,
        rang: bool,
    ) -> Vec<Event> {
        if self.open.is_none() && now >= self.retry_at {
            match self.connect() {
                Ok(open) => {
                    self.open = Some(open);
                    daemon.on_disconnect();
                }
                Err(why) => self.lost(now, daemon, &why),
            }
        }
        let Some((store, _)) = &mut self.open else { return Vec::new() };
        match daemon.exchange(now, store, machine, rang) {
            Ok(events) => {
                self.pause = PAUSE_MIN;
                if std::mem::take(&mut self.said) {
                    self.voice.remark("Redis is back");
                }
                events
            }
            Err(fault) => {
                self.lost(now, daemon, &Unfit::Fault(fault));
                Vec::new()
            }
        }
    }

    /// Waits for the bell. Without a connection it just waits.
    fn rang(&mut self, now: Time, daemon: &mut Daemon, within: Duration) -> bool {
        let Some((_, bell)) = &mut self.open else {
            std::thread::park_timeout(within);
            return false;
        };
        match bell.rang(within) {
            Ok(rang) => rang,
            Err(fault) => {
                self.lost(now, daemon, &Unfit::Fault(fault));
                false
            }
        }
    }

    fn connect(&self) -> Result<(Store, Bell), Unfit> {
        let store = Store::open(&self.server, self.node.clone())?;
        let bell = Bell::open(&self.server, &self.node)?;
        Ok((store, bell))
    }

    fn lost(&mut self, now: Time, daemon: &mut Daemon, why: &Unfit) {
        self.open = None;
        daemon.on_disconnect();
        self.retry_at = now.saturating_add(self.pause);
        self.pause = (self.pause + self.pause).min(PAUSE_MAX);
        if !std::mem::replace(&mut self.said, true) {
            let advice = match why {
                Unfit::Fault(Fault::Refused(_)) => "; `wiremend monitor acl` makes its user",
                _ => "",
            };
            self.voice
                .remark(&format!("no word with Redis: {why}{advice}; watching goes on, nothing is changed"));
        }
    }
}
