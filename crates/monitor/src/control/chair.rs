//! The planner's place at the store: it leads or waits to, reads what all ports see, and says what should be done.

use std::time::Duration;

use wiremend_units::{LinkId, Span, Time};

use crate::bus::{Action, Advice, Board, Fault, Halt, Lease, Put, Sighting, Standing};
use crate::control::controller::{Controller, Limits, Overview};
use crate::control::topology::{End, Topology};
use crate::name::PortName;

/// Something worth a line in a log.
#[derive(Clone, PartialEq, Debug)]
pub enum ControlEvent {
    /// This one leads from here on.
    Leads,
    /// Another leads.
    Follows,
    /// Something else is advised about a link than before.
    Advised {
        /// The link.
        link: LinkId,
        /// What.
        action: Action,
        /// Why.
        why: String,
    },
    /// Too much turned bad at once: nothing is done any more.
    Halted(String),
    /// Somebody says that it may act again.
    Released,
}

/// A planner at a store.
pub struct Chair<'a> {
    topology: &'a Topology,
    limits: Limits,
    holder: String,
    controller: Controller<'a>,
    lease: Option<(Lease, Time)>,
    role: Role,
    /// Advice that was decided and does not stand yet.
    unsaid: Vec<(End, Advice)>,
    unsaid_halt: bool,
    /// All of it is said anew: what stands may differ from what this one would say.
    say_all: bool,
    /// Where the reading again of all ports is.
    cursor: usize,
    swept_at: Time,
    senseless: u64,
}

/// What a planner is to the others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It does not know yet.
    Apart,
    /// Another leads.
    Follows,
    /// It leads, and has read all that stands.
    Leads,
}

impl<'a> Chair<'a> {
    /// How long the right to lead is asked for.
    pub const LEASE: Duration = Duration::from_secs(15);
    const LEASE_RENEWED: Span = Span::from_ms(5_000);
    /// All ports are read again within this, news or not.
    pub const REREAD: Span = Span::from_ms(30_000);
    /// Ports that are read again in one breath.
    const SWEEP: usize = 2048;

    /// Of a fabric. `holder` tells planners apart, and should stay the same when one begins anew.
    pub fn new(topology: &'a Topology, limits: Limits, holder: String) -> Self {
        Self {
            topology,
            limits,
            holder,
            controller: Controller::new(topology, limits),
            lease: None,
            role: Role::Apart,
            unsaid: Vec::new(),
            unsaid_halt: false,
            say_all: false,
            cursor: 0,
            swept_at: Time::ZERO,
            senseless: 0,
        }
    }

    /// Whether it leads.
    pub fn leads(&self) -> bool {
        self.lease.is_some()
    }

    /// Whether it has stopped acting.
    pub fn is_halted(&self) -> bool {
        self.controller.is_halted()
    }

    /// What it advises.
    pub fn controller(&self) -> &Controller<'a> {
        &self.controller
    }

    /// The fabric's state in numbers.
    pub fn overview(&mut self, now: Time) -> Overview {
        self.controller.overview(now)
    }

    /// Words of ports that made no sense.
    pub fn senseless(&self) -> u64 {
        self.senseless
    }

    /// The store is gone: whoever leads when it is back reads all of it.
    pub fn on_disconnect(&mut self) {
        self.lease = None;
        self.role = Role::Apart;
    }

    /// Waits for news no longer than `within`, decides, and says what is new.
    pub fn turn(
        &mut self,
        now: Time,
        board: &mut Board,
        within: Duration,
    ) -> Result<Vec<ControlEvent>, Fault> {
        let mut events = Vec::new();
        let Some(lease) = self.hold(now, board, &mut events)? else {
            // Who follows takes no notice; only its place in the stream moves on.
            board.news(within)?;
            return Ok(events);
        };
        if self.role != Role::Leads {
            self.begin(now, board)?;
        }
        self.hear_release(board, &mut events)?;
        let news = board.news(if self.unsaid.is_empty() { within } else { Duration::from_millis(1) })?;
        let ports: Vec<PortName> =
            news.into_iter().filter(|port| self.topology.end(port).is_some()).collect();
        self.read(now, board, &ports, true)?;
        self.sweep(now, board)?;
        self.decide(&mut events);
        self.say(board, lease)?;
        Ok(events)
    }

    fn hold(
        &mut self,
        now: Time,
        board: &mut Board,
        events: &mut Vec<ControlEvent>,
    ) -> Result<Option<Lease>, Fault> {
        if let Some((lease, renewed)) = self.lease
            && now < renewed.saturating_add(Self::LEASE_RENEWED)
        {
            return Ok(Some(lease));
        }
        let held = board.lead(&self.holder, Self::LEASE)?;
        match (held, self.lease.map(|(lease, _)| lease)) {
            (Some(new), Some(old)) if new == old => {}
            (Some(_), _) => {
                self.role = Role::Apart;
                events.push(ControlEvent::Leads);
            }
            (None, _) => {
                if std::mem::replace(&mut self.role, Role::Follows) != Role::Follows {
                    events.push(ControlEvent::Follows);
                }
            }
        }
        self.lease = held.map(|lease| (lease, now));
        Ok(held)
    }

    /// Reads all that stands. What a planner before this one advised goes on.
    fn begin(&mut self, now: Time, board: &mut Board) -> Result<(), Fault> {
        self.controller = Controller::new(self.topology, self.limits);
        self.unsaid.clear();
        self.resume(board)?;
        self.controller.set_halt(board.halt()?.is_some_and(|halt| halt.on));
        let all = self.topology.names().to_vec();
        self.read(now, board, &all, false)?;
        (self.cursor, self.swept_at) = (0, now);
        self.role = Role::Leads;
        Ok(())
    }

    fn resume(&mut self, board: &mut Board) -> Result<(), Fault> {
        let name = |link, upper| self.topology.name(End { link, upper }).clone();
        let links: Vec<LinkId> = self.topology.tiers().links().collect();
        let lower: Vec<PortName> = links.iter().map(|link| name(*link, false)).collect();
        let stand: Vec<(LinkId, Advice)> = links
            .into_iter()
            .zip(board.get::<Advice>(&lower)?.words)
            .filter_map(|(link, word)| Some((link, word?.word)))
            .collect();
        let upper: Vec<PortName> = stand.iter().map(|(link, _)| name(*link, true)).collect();
        let upper = board.get::<Advice>(&upper)?.words;
        for ((link, lower), upper) in stand.into_iter().zip(upper) {
            let upper =
                upper.map_or_else(|| Advice { protect: false, ..lower.clone() }, |stored| stored.word);
            self.controller.resume(link, &lower, &upper);
        }
        self.say_all = true;
        Ok(())
    }

    fn hear_release(&mut self, board: &mut Board, events: &mut Vec<ControlEvent>) -> Result<(), Fault> {
        if self.controller.is_halted() && !self.unsaid_halt && board.halt()?.is_some_and(|halt| !halt.on) {
            self.controller.set_halt(false);
            events.push(ControlEvent::Released);
        }
        Ok(())
    }

    /// Reads what these ports see.
    fn read(&mut self, now: Time, board: &mut Board, ports: &[PortName], is_new: bool) -> Result<(), Fault> {
        let Standing { words, senseless } = board.get::<Sighting>(ports)?;
        self.senseless += senseless;
        for (port, word) in ports.iter().zip(words) {
            let Some(end) = self.topology.end(port) else { continue };
            let seen = word.map_or_else(Sighting::default, |stored| stored.word);
            self.controller.on_carrier(end, seen.down);
            let loss = seen.corrupting.map(|estimate| estimate.loss);
            self.unsaid_halt |= self.controller.on_sight(now, end, loss, is_new);
        }
        Ok(())
    }

    /// Reads all ports again, some at a time.
    fn sweep(&mut self, now: Time, board: &mut Board) -> Result<(), Fault> {
        let names = self.topology.names();
        let passed = now.since(self.swept_at.min(now)).as_ns() as f64;
        let due = (names.len() as f64 * passed / Self::REREAD.as_ns() as f64) as usize;
        if due < Self::SWEEP.min(names.len()) {
            return Ok(());
        }
        let from = self.cursor;
        let to = (from + Self::SWEEP.max(due.min(4 * Self::SWEEP))).min(names.len());
        let ports = names[from..to].to_vec();
        self.read(now, board, &ports, true)?;
        self.cursor = if to == names.len() { 0 } else { to };
        self.swept_at = now;
        Ok(())
    }

    fn decide(&mut self, events: &mut Vec<ControlEvent>) {
        if self.unsaid_halt {
            events.push(ControlEvent::Halted(self.controller.halt_reason()));
        }
        for (end, advice) in self.controller.decide() {
            if !end.upper {
                let Advice { action, why, .. } = advice.clone();
                events.push(ControlEvent::Advised { link: end.link, action, why });
            }
            self.unsaid.push((end, advice));
        }
        if std::mem::take(&mut self.say_all) {
            let links: Vec<LinkId> = self.controller.standing().map(|(link, ..)| link).collect();
            let ends = links.into_iter().flat_map(|link| [false, true].map(|upper| End { link, upper }));
            self.unsaid.extend(ends.map(|end| (end, self.controller.advice(end))));
        }
    }

    fn say(&mut self, board: &mut Board, lease: Lease) -> Result<(), Fault> {
        if self.unsaid_halt {
            let halt = Halt { on: true, why: self.controller.halt_reason() };
            if board.say_halt(lease, &halt)? == Put::Outdated {
                self.on_disconnect();
                return Ok(());
            }
            self.unsaid_halt = false;
        }
        if self.unsaid.is_empty() {
            return Ok(());
        }
        let named: Vec<(PortName, Advice)> = self
            .unsaid
            .iter()
            .map(|(end, advice)| (self.topology.name(*end).clone(), advice.clone()))
            .collect();
        if board.advise(lease, &named)? == Put::Outdated {
            self.on_disconnect();
            return Ok(());
        }
        self.unsaid.clear();
        Ok(())
    }
}
