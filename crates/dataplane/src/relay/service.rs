//! The relay as a service: ports, clock and questions around a bump.

use std::time::{SystemTime, UNIX_EPOCH};

use wiremend_units::{Rate, Span, Time};
use wiremend_wire::Malformed;

use super::bump::{Bump, BumpConfig};
use super::junction::Junction;
use super::notices::{Facts, Notices};
use super::ports::Ports;
use super::status::{self, Class, Recovery, Request, Status};
use super::{Settings, Unusable, Wishes};
use crate::control::{Answer, Inbox, Pending, Server};
use crate::drive::{Clock, idle};
use crate::net::{Interface, tc};
use crate::port::LinuxPort;
use crate::sys::capability::{self, Capability};
use crate::sys::{process, sched, wait};

/// A relay that is ready to run.
pub struct Service {
    settings: Settings,
    rate: Rate,
    clock: Clock,
    bump: Bump<LinuxPort>,
    junction: Junction,
    inbox: Inbox<Request>,
    wanted: bool,
    kernel_dropped: [u64; 2],
    notices: Notices,
    /// Removes the socket at the end.
    _server: Server,
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Somebody asked for it.
    Stopped,
    /// Its clock is worn: another one takes over.
    Worn,
}

/// An end that has no answer asks again after this, as long as protection is wanted.
const RETRY: Span = Span::from_ms(100);
/// Protection is ended in order within this, or without.
const FAREWELL: Span = Span::from_ms(300);
/// Questions are looked for after so many turns without a pause.
const TURNS: u32 = 256;
/// The longest sleep: whoever wants it to stop is heard by then.
const SLEEP_MAX: Span = Span::from_ms(200);

impl Service {
    /// Opens the ports, gives up what privileges it needs no more, leaves traffic to the kernel and listens for questions.
    ///
    /// The interfaces are in the [`Hold`](super::Hold) of the process that started this one.
    pub fn start(mut settings: Settings) -> Result<Self, Unusable> {
        if let Some(wishes) = Wishes::left_for(&settings) {
            wishes.apply(&mut settings).map_err(|error| Unusable::Settings(error.to_string()))?;
        }
        let ports = Ports::open(&settings)?;
        let link = settings.link_config(ports.rate, ports.frame_bytes_max);
        link.check().map_err(|error| Unusable::Settings(error.to_string()))?;
        let config = BumpConfig {
            slots: settings.slots(&link),
            link,
            dialect: settings.dialect,
            source: ports.source,
            classes: settings.classes.clone(),
            queue_bytes_max: settings.queue.get(),
            handed_frames: settings.handed_frames,
        };
        let junction = Junction::new(&settings.lan, &settings.link, settings.dialect.ethertype)?;
        let attended = junction.attend(&ports.lan, &ports.link);
        attended.map_err(Unusable::io("a filter on a packet socket"))?;
        for (port, name) in [(&ports.lan, &settings.lan), (&ports.link, &settings.link)] {
            let index = Interface::by_name(name)?.index;
            port.begin(index).map_err(Unusable::io("binding a packet socket"))?;
        }
        // Rules change when protection begins and ends; all else is open by now. Threads that start later have no more.
        capability::keep_only(&[Capability::NetAdmin])
            .and_then(|()| process::no_new_privileges())
            .map_err(Unusable::io("giving up privileges"))?;
        let path = settings.socket();
        let (server, inbox) = Server::listen(&path, settings.user)
            .map_err(Unusable::io(format!("the socket {}", path.display())))?;
        Ok(Self {
            rate: ports.rate,
            clock: Clock::start(),
            bump: Bump::new(ports.lan, ports.link, config),
            junction,
            inbox,
            wanted: false,
            kernel_dropped: [0; 2],
            notices: Notices::default(),
            _server: server,
            settings,
        })
    }

    /// Carries frames until `stop` says so; `say` tells the operator what has happened. At the end traffic is the kernel's again.
    pub fn run(mut self, stop: impl Fn() -> bool, say: &dyn Fn(&str)) -> Result<Ended, Unusable> {
        wait::precise_timers();
        sched::short_turns();
        if let Some(cpu) = self.settings.cpu {
            sched::pin(cpu).map_err(Unusable::io(format!("processor {cpu}")))?;
        }
        if self.settings.active {
            self.set_wanted(true);
        }
        let mut retry_at = Time::ZERO;
        let mut turns = 0;
        while !stop() && !self.clock.is_worn() {
            let now = self.clock.now();
            let more = self.turn(now)?;
            if retry_at <= now {
                retry_at = now + RETRY;
                self.look_around(now, say);
            }
            turns += 1;
            if more && turns < TURNS {
                continue;
            }
            turns = 0;
            self.answer_all();
            if !more {
                self.pause(retry_at)?;
            }
        }
        let ended = if self.clock.is_worn() { Ended::Worn } else { Ended::Stopped };
        self.farewell()?;
        Ok(ended)
    }

    /// What is done ten times a second.
    fn look_around(&mut self, now: Time, say: &dyn Fn(&str)) {
        if self.wanted {
            self.bump.end_mut().on_traffic(now);
        }
        self.count_kernel_drops();
        let facts = Facts {
            lan: &self.settings.lan,
            link: &self.settings.link,
            sending: self.bump.end().is_active(),
            receiving: self.bump.end().is_receiving(),
            counts: &self.bump.counts(),
            misread: self.bump.misread(),
            kernel_dropped: self.kernel_dropped,
        };
        self.notices.tell(&facts, say);
    }

    fn count_kernel_drops(&mut self) {
        for (dropped, socket) in self.kernel_dropped.iter_mut().zip([self.bump.lan(), self.bump.link()]) {
            *dropped += socket.kernel_counts().map_or(0, |counts| counts.dropped);
        }
    }

    fn turn(&mut self, now: Time) -> Result<bool, Unusable> {
        let turned = self.bump.turn(now);
        let more = turned.map_err(|source| Unusable::Io { what: "an interface".into(), source })?;
        let sockets = [self.bump.lan(), self.bump.link()];
        let unsettled = self.junction.follow(self.bump.end(), !more && self.bump.is_empty(), sockets)?;
        Ok(more || unsettled)
    }

    fn pause(&mut self, retry_at: Time) -> Result<(), Unusable> {
        let now = self.clock.now();
        let latest = now + SLEEP_MAX;
        let latest = if self.wanted { latest.min(retry_at) } else { latest };
        let due = self.bump.next_due(now).map_or(latest, |due| due.min(latest));
        let ports: [&dyn std::os::fd::AsFd; 2] = [self.bump.lan(), self.bump.link()];
        let ready = idle(self.settings.poll, &self.clock, ports, self.inbox.waker(), Some(due))
            .map_err(|source| Unusable::Io { what: "waiting".into(), source })?;
        for (ready, socket) in ready.into_iter().zip([self.bump.lan(), self.bump.link()]) {
            if ready.error {
                // The interface went down; it is seen again when it comes up.
                let _ = socket.take_error();
            }
        }
        Ok(())
    }

    /// Ends protection in order and gives both directions back to the kernel.
    fn farewell(&mut self) -> Result<(), Unusable> {
        let until = self.clock.now() + FAREWELL;
        self.set_wanted(false);
        loop {
            let now = self.clock.now();
            let more = self.turn(now)?;
            let over = self.bump.end().is_plain() && self.bump.is_empty() && !more;
            if over || now >= until {
                break;
            }
            if !more {
                self.pause(now + Span::from_ms(1))?;
            }
        }
        Ok(self.junction.leave_all()?)
    }

    fn set_wanted(&mut self, wanted: bool) {
        let now = self.clock.now();
        self.wanted = wanted;
        if wanted {
            self.bump.end_mut().activate(now, fresh_epoch());
        } else {
            self.bump.end_mut().deactivate(now);
        }
    }

    fn answer_all(&mut self) {
        while let Some(pending) = self.inbox.take() {
            self.answer(pending);
        }
    }

    fn answer(&mut self, pending: Pending<Request>) {
        if let Err(why) = self.obey(&pending.request) {
            return pending.answer(&Answer::<()>::Refused(why));
        }
        let status = self.status();
        pending.answer(&Answer::Done(status));
    }

    fn obey(&mut self, request: &Request) -> Result<(), String> {
        let mut wishes = Wishes { active: self.wanted, ..Wishes::of(&self.settings) };
        match request {
            Request::Status => return Ok(()),
            Request::Activate => wishes.active = true,
            Request::Deactivate => wishes.active = false,
            Request::Set { mode, classes, copies, target } => {
                wishes.mode = mode.unwrap_or(wishes.mode);
                wishes.classes = classes.clone().unwrap_or(wishes.classes);
                wishes.copies = copies.map_or(wishes.copies, |copies| (copies > 0).then_some(copies));
                wishes.target_ppt = match *target {
                    Some(target) if target > 0.0 && target < 1.0 => (target * 1e12).ceil() as u64,
                    Some(target) => {
                        return Err(format!("a target loss of {target} does not lie between 0 and 1"));
                    }
                    None => wishes.target_ppt,
                };
            }
        }
        let mut settings = self.settings.clone();
        wishes.apply(&mut settings).map_err(|error| error.to_string())?;
        self.bump.end_mut().aim(settings.target, settings.copies).map_err(|error| error.to_string())?;
        self.bump.set_classes(settings.classes.clone());
        self.settings = settings;
        if wishes.active != self.wanted {
            self.set_wanted(wishes.active);
        }
        wishes
            .leave(&self.settings)
            .map_err(|error| format!("done, but not for the process after this: {error}"))
    }

    fn status(&mut self) -> Status {
        self.count_kernel_drops();
        let names = [&self.settings.lan, &self.settings.link];
        let by_kernel = names.map(|name| tc::counts(name).unwrap_or_default());
        let misread = self.bump.misread();
        let end = self.bump.end();
        Status {
            version: env!("CARGO_PKG_VERSION").into(),
            pid: std::process::id(),
            lan: self.settings.lan.clone(),
            link: self.settings.link.clone(),
            port: self.bump.link().name().into(),
            uptime_s: self.clock.now().as_ns() as f64 / 1e9,
            wanted: self.wanted,
            sending: end.is_active(),
            receiving: end.is_receiving(),
            stance: status::stance_name(end).into(),
            mode: self.settings.classes.other(),
            classes: self.bump.classes().map(|(class, care, counts)| Class { class, care, counts }).collect(),
            rate_bits_per_s: self.rate.bits_per_s(),
            rtt_ns: end.rtt().map(Span::as_ns),
            loss: end.loss().map(|loss| loss.as_parts_per_trillion() as f64 / 1e12),
            copies: end.copies(),
            counts: self.bump.counts(),
            link_counts: status::link_counts(end),
            tx_buffer_bytes: end.counters().tx_bytes,
            rx_buffer_bytes: end.counters().rx_bytes,
            pool_used: self.bump.pool_used() as u64,
            kernel_dropped: self.kernel_dropped,
            kernel_forwarded: by_kernel.map(|counts| counts.redirected),
            kernel_untaken: by_kernel.map(|counts| counts.untaken),
            carrier: names.map(|name| Interface::by_name(name).is_ok_and(|port| port.up && port.carrier)),
            peer_version: match misread {
                Some(Malformed::LinkVersion(version)) => Some(version),
                _ => None,
            },
            malformed_because: misread.map(|why| why.to_string()),
            recovery: Recovery::of(end.delays()),
        }
    }
}

/// One that no start before had: milliseconds of the calendar.
#[expect(
    clippy::disallowed_methods,
    reason = "an epoch must differ from those before this process was started"
)]
fn fresh_epoch() -> u32 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_millis() as u32)
}
