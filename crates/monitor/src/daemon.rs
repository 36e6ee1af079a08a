//! The daemon of a node: reads its ports, tells what they see, and does what the other ends ask for.
//!
//! One turn is to [watch](Daemon::watch) the ports and, if there is a store, to [exchange](Daemon::exchange) words with others. Without a store it goes on
//! seeing, keeps what is protected as it is, and says what changed when the store is back.

use std::time::Duration;

use wiremend_units::{Span, Time};

use crate::agent::{Conduct, Known, Link, Mode, Protect, decide};
use crate::bus::{Advice, Deed, Doing, Fault, Lease, Put, Repair, Sighting, Standing, Store, Stored};
use crate::detector::{Thresholds, Verdict};
use crate::foresight::{Foreseen, Foresight};
use crate::name::PortName;
use crate::port::{Port, Reading};
use crate::register::Pace;

/// What a daemon needs of the machine that it runs on.
pub trait Machine {
    /// Reads the port of link number `at`. `None` if it cannot be read now.
    fn read(&mut self, at: usize) -> Option<Reading>;

    /// What is done about link number `at`: whether what is sent over it is protected. `Err` says why that cannot be known or done.
    fn doing(&mut self, at: usize) -> Result<Doing, String>;

    /// Does something about link number `at`. Doing it twice is as good as once.
    fn act(&mut self, at: usize, doing: &Doing) -> Result<(), String>;
}

/// Something worth a line in a log.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// What a port sees has changed.
    Saw {
        /// The link, by number.
        link: usize,
        /// What it sees.
        verdict: Verdict,
    },
    /// What error correction has to do at a port says what is to come.
    Foresaw {
        /// The link, by number.
        link: usize,
        /// What.
        foreseen: Foreseen,
    },
    /// Something was done about a link.
    Did {
        /// The link, by number.
        link: usize,
        /// What.
        doing: Doing,
    },
    /// Something could not be done.
    Failed {
        /// The link, by number.
        link: usize,
        /// Why.
        why: String,
    },
    /// Somebody else speaks for this node.
    Ousted,
    /// Somebody said what makes no sense, so often.
    Nonsense(u64),
}

/// The daemon of one node.
pub struct Daemon {
    links: Vec<Watched>,
    conduct: Conduct,
    holder: String,
    tally: Tally,
    lease: Option<(Lease, Time)>,
    reread_at: Time,
    /// When to look whether what was said still stands. Bells do not put it off.
    look_at: Time,
    resumed: bool,
    ousted: bool,
}

/// A link, and all that is known of it.
struct Watched {
    link: Link,
    port: Port,
    foresight: Foresight,
    /// Readings in a row without a carrier.
    dark: u32,
    /// What the port sees, as it is to be told.
    sighting: Sighting,
    /// What the port has been told to see, and stands.
    told: Option<Sighting>,
    /// The deed that stands.
    answered: Option<Deed>,
    /// What was last read of the other end.
    seen: Option<Stored<Sighting>>,
    /// What the planner was last heard to say.
    advice: Option<Advice>,
}

impl Watched {
    fn known(&self) -> Known<'_> {
        Known { link: &self.link, seen: self.seen.as_ref(), advice: self.advice.as_ref() }
    }
}

/// What a daemon has done since it was begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Times that it did something about a link.
    pub acts: u64,
    /// Times that it could not.
    pub failures: u64,
    /// Words of others that made no sense.
    pub senseless: u64,
}

impl Daemon {
    /// A port counts as down after so many readings without a carrier.
    const DARK_MIN: u32 = 2;
    /// How long the right to speak for a node is asked for.
    pub const LEASE: Duration = Duration::from_secs(15);
    const LEASE_RENEWED: Span = Span::from_ms(5_000);
    /// What stands is read again at least so often, bells or not.
    pub const REREAD: Span = Span::from_ms(30_000);

    /// Of these links. `holder` tells two daemons of one node apart, and should stay the same when one begins anew.
    pub fn new(links: Vec<Link>, thresholds: Thresholds, conduct: Conduct, holder: String) -> Self {
        let watched = |link| Watched {
            link,
            port: Port::new(thresholds, Pace::ANY),
            foresight: Foresight::new(thresholds.loss),
            dark: 0,
            sighting: Sighting::default(),
            told: None,
            answered: None,
            seen: None,
            advice: None,
        };
        Self {
            links: links.into_iter().map(watched).collect(),
            tally: Tally::default(),
            conduct,
            holder,
            lease: None,
            reread_at: Time::ZERO,
            look_at: Time::ZERO,
            resumed: false,
            ousted: false,
        }
    }

    /// How many links it has.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// What the port of link number `at` sees.
    pub fn port(&self, at: usize) -> &Port {
        &self.links[at].port
    }

    /// What is to come at the port of link number `at`.
    pub fn foresight(&self, at: usize) -> &Foresight {
        &self.links[at].foresight
    }

    /// What it last said that it does about link number `at`.
    pub fn doing(&self, at: usize) -> Option<&Doing> {
        self.links[at].answered.as_ref().map(|deed| &deed.doing)
    }

    /// Whether the port of link number `at` has no carrier.
    pub fn is_down(&self, at: usize) -> bool {
        self.links[at].sighting.down
    }

    /// Whether it speaks for its node.
    pub fn speaks(&self) -> bool {
        self.lease.is_some()
    }

    /// What it has done.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Looks at the ports.
    pub fn watch(&mut self, machine: &mut impl Machine) -> Vec<Event> {
        let mut events = Vec::new();
        for (link, watched) in self.links.iter_mut().enumerate() {
            let Some(reading) = machine.read(link) else { continue };
            watched.dark = if reading.up { 0 } else { watched.dark.saturating_add(1) };
            watched.sighting.down = watched.dark >= Self::DARK_MIN;
            let foreseen = watched.foresight.on_reading(reading.fec);
            events.extend(foreseen.map(|foreseen| Event::Foresaw { link, foreseen }));
            let Some(verdict) = watched.port.on_reading(reading) else { continue };
            watched.sighting.corrupting = match verdict {
                Verdict::Raised(estimate) | Verdict::Moved(estimate) => Some(estimate),
                Verdict::Cleared { .. } => None,
            };
            events.push(Event::Saw { link, verdict });
        }
        events
    }

    /// The store is gone, or a new connection to it was made: whatever is thought to stand there has to be read again.
    pub fn on_disconnect(&mut self) {
        self.lease = None;
        for watched in &mut self.links {
            (watched.told, watched.answered) = (None, None);
        }
        (self.reread_at, self.look_at) = (Time::ZERO, Time::ZERO);
    }

    /// Tells what is new, reads what others said if `rang` or it is time, and does it.
    pub fn exchange(
        &mut self,
        now: Time,
        store: &mut Store,
        machine: &mut impl Machine,
        rang: bool,
    ) -> Result<Vec<Event>, Fault> {
        let mut events = Vec::new();
        let Some(lease) = self.hold(now, store)? else {
            if !std::mem::replace(&mut self.ousted, true) {
                events.push(Event::Ousted);
            }
            return Ok(events);
        };
        self.ousted = false;
        self.resume(store)?;
        let is_time = rang || now >= self.reread_at;
        if is_time {
            self.hear_of_repairs(store, &mut events)?;
        }
        if now >= self.look_at {
            self.look_after(store)?;
            self.look_at = now.saturating_add(Self::REREAD);
        }
        if !self.tell(store, lease)? {
            self.lease = None;
            return Ok(events);
        }
        if is_time {
            let peers: Vec<PortName> = self.links.iter().map(|watched| watched.link.peer.clone()).collect();
            let Standing { words, senseless } = store.get::<Sighting>(&peers)?;
            for (watched, seen) in self.links.iter_mut().zip(words) {
                watched.seen = seen;
            }
            self.reread_at = now.saturating_add(Self::REREAD);
            let advised = self.hear_advice(store)?;
            if senseless + advised > 0 {
                self.tally.senseless += senseless + advised;
                events.push(Event::Nonsense(senseless + advised));
            }
        }
        self.act(store, lease, machine, &mut events)?;
        Ok(events)
    }

    fn hold(&mut self, now: Time, store: &mut Store) -> Result<Option<Lease>, Fault> {
        if let Some((lease, renewed)) = self.lease
            && now < renewed.saturating_add(Self::LEASE_RENEWED)
        {
            return Ok(Some(lease));
        }
        let lease = store.lease(&self.holder, Self::LEASE)?;
        self.lease = lease.map(|lease| (lease, now));
        Ok(lease)
    }

    /// A daemon that begins anew does not know yet what it had seen; until it does, what it had said holds.
    fn resume(&mut self, store: &mut Store) -> Result<(), Fault> {
        if self.resumed {
            return Ok(());
        }
        let said = store.get::<Sighting>(&self.own_ports(store))?;
        for (watched, said) in self.links.iter_mut().zip(said.words) {
            let Some(Sighting { corrupting, repairs, .. }) = said.map(|stored| stored.word) else { continue };
            watched.sighting.repairs = repairs;
            if let Some(estimate) = corrupting.filter(|_| !watched.port.is_corrupting()) {
                watched.port.resume(estimate.loss);
                watched.sighting.corrupting = corrupting;
            }
        }
        self.resumed = true;
        Ok(())
    }

    /// A link that was repaired counts as clean at once.
    fn hear_of_repairs(&mut self, store: &mut Store, events: &mut Vec<Event>) -> Result<(), Fault> {
        let repairs = store.get::<Repair>(&self.own_ports(store))?;
        for (link, (watched, repair)) in self.links.iter_mut().zip(repairs.words).enumerate() {
            let Some(number) = repair.map(|repair| repair.version) else { continue };
            if number <= watched.sighting.repairs {
                continue;
            }
            watched.sighting = Sighting { corrupting: None, repairs: number, ..watched.sighting };
            events.extend(watched.port.on_repair().map(|verdict| Event::Saw { link, verdict }));
        }
        Ok(())
    }

    /// Whether what was said still stands: whoever may write there may also spoil it, and a server may have lost it.
    fn look_after(&mut self, store: &mut Store) -> Result<(), Fault> {
        let own = self.own_ports(store);
        let said = store.get::<Sighting>(&own)?.words;
        let done = store.get::<Deed>(&own)?.words;
        for (watched, (said, done)) in self.links.iter_mut().zip(said.into_iter().zip(done)) {
            watched.told = said.map(|stored| stored.word);
            watched.answered = done.map(|stored| stored.word);
        }
        Ok(())
    }

    /// What the planner says of this node's ports; how much of it makes no sense.
    fn hear_advice(&mut self, store: &mut Store) -> Result<u64, Fault> {
        if self.conduct.mode != Mode::Advised {
            return Ok(0);
        }
        let Standing { words, senseless } = store.get::<Advice>(&self.own_ports(store))?;
        for (watched, stored) in self.links.iter_mut().zip(words) {
            watched.advice = stored.map(|stored| stored.word);
        }
        Ok(senseless)
    }

    fn own_ports(&self, store: &Store) -> Vec<PortName> {
        let own =
            |watched: &Watched| PortName { node: store.node().clone(), port: watched.link.port.clone() };
        self.links.iter().map(own).collect()
    }

    /// Says what the ports see. `false` if somebody else speaks for this node by now.
    fn tell(&mut self, store: &mut Store, lease: Lease) -> Result<bool, Fault> {
        for Watched { link, sighting, told, .. } in &mut self.links {
            if *told == Some(*sighting) {
                continue;
            }
            match store.put(lease, &link.port, sighting, &link.peer.node)? {
                Put::Stands(_) => *told = Some(*sighting),
                Put::Outdated => return Ok(false),
            }
        }
        Ok(true)
    }

    fn act(
        &mut self,
        store: &mut Store,
        lease: Lease,
        machine: &mut impl Machine,
        events: &mut Vec<Event>,
    ) -> Result<(), Fault> {
        let known: Vec<Known<'_>> = self.links.iter().map(Watched::known).collect();
        for (link, deed) in decide(&known, &self.conduct).into_iter().enumerate() {
            let Some(deed) = deed else { continue };
            let deed = match self.perform(link, deed.clone(), machine) {
                Ok(Some(doing)) => {
                    self.tally.acts += 1;
                    events.push(Event::Did { link, doing });
                    deed
                }
                Ok(None) => deed,
                Err(why) => {
                    let why: String = why.chars().take(120).collect();
                    let deed = Deed { doing: Doing::Abstains { why: why.clone() }, ..deed };
                    if self.links[link].answered.as_ref() != Some(&deed) {
                        self.tally.failures += 1;
                        events.push(Event::Failed { link, why });
                    }
                    deed
                }
            };
            if self.links[link].answered.as_ref() == Some(&deed) {
                continue;
            }
            let Link { port, peer, .. } = &self.links[link].link;
            if store.put(lease, port, &deed, &peer.node)? == Put::Outdated {
                self.lease = None;
                return Ok(());
            }
            self.links[link].answered = Some(deed);
        }
        Ok(())
    }

    /// Makes it so, if it is not already. What was done, if anything was.
    fn perform(&self, link: usize, deed: Deed, machine: &mut impl Machine) -> Result<Option<Doing>, String> {
        if self.links[link].link.protect == Protect::None || self.conduct.mode == Mode::Observe {
            return Ok(None);
        }
        let wanted = match deed.doing {
            Doing::Abstains { .. } => Doing::Nothing,
            doing => doing,
        };
        if machine.doing(link)? == wanted {
            return Ok(None);
        }
        machine.act(link, &wanted)?;
        Ok(Some(wanted))
    }
}
