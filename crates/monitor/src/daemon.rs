//! The daemon of a node: reads its ports, tells what they see, and does what the other ends ask for.
//!
//! One turn is to [watch](Daemon::watch) the ports and, if there is a store, to [exchange](Daemon::exchange) words with others. Without a store it goes on
//! seeing, keeps what is protected as it is, and says what changed when the store is back.

use std::time::Duration;

use wiremend_units::{Span, Time};

use crate::agent::{Conduct, Link, Mode, Protect, decide};
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
    links: Vec<Link>,
    conduct: Conduct,
    holder: String,
    ports: Vec<Port>,
    foresights: Vec<Foresight>,
    /// Readings in a row without a carrier.
    dark: Vec<u32>,
    /// What each port sees, as it is to be told.
    sightings: Vec<Sighting>,
    /// What each port has been told to see, and stands.
    told: Vec<Option<Sighting>>,
    /// Deeds that stand.
    answered: Vec<Option<Deed>>,
    /// What was last read of the other ends.
    seen: Vec<Option<Stored<Sighting>>>,
    /// What the planner was last heard to say.
    advice: Vec<Option<Advice>>,
    tally: Tally,
    lease: Option<(Lease, Time)>,
    reread_at: Time,
    /// When to look whether what was said still stands. Bells do not put it off.
    look_at: Time,
    resumed: bool,
    ousted: bool,
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
        let count = links.len();
        Self {
            ports: (0..count).map(|_| Port::new(thresholds, Pace::ANY)).collect(),
            foresights: vec![Foresight::new(thresholds.loss); count],
            dark: vec![0; count],
            sightings: vec![Sighting::default(); count],
            told: vec![None; count],
            answered: vec![None; count],
            seen: vec![None; count],
            advice: vec![None; count],
            tally: Tally::default(),
            links,
            conduct,
            holder,
            lease: None,
            reread_at: Time::ZERO,
            look_at: Time::ZERO,
            resumed: false,
            ousted: false,
        }
    }

    /// Its links.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// What the port of link number `at` sees.
    pub fn port(&self, at: usize) -> &Port {
        &self.ports[at]
    }

    /// What is to come at the port of link number `at`.
    pub fn foresight(&self, at: usize) -> &Foresight {
        &self.foresights[at]
    }

    /// What it last said that it does about link number `at`.
    pub fn doing(&self, at: usize) -> Option<&Doing> {
        self.answered[at].as_ref().map(|deed| &deed.doing)
    }

    /// Whether the port of link number `at` has no carrier.
    pub fn is_down(&self, at: usize) -> bool {
        self.sightings[at].down
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
        for link in 0..self.links.len() {
            let Some(reading) = machine.read(link) else { continue };
            self.dark[link] = if reading.up { 0 } else { self.dark[link].saturating_add(1) };
            self.sightings[link].down = self.dark[link] >= Self::DARK_MIN;
            let foreseen = self.foresights[link].on_reading(reading.fec);
            events.extend(foreseen.map(|foreseen| Event::Foresaw { link, foreseen }));
            let Some(verdict) = self.ports[link].on_reading(reading) else { continue };
            self.sightings[link].corrupting = match verdict {
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
        self.told.fill(None);
        self.answered.fill(None);
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
            let peers: Vec<PortName> = self.links.iter().map(|link| link.peer.clone()).collect();
            let Standing { words, senseless } = store.get::<Sighting>(&peers)?;
            self.seen = words;
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
        for (link, said) in said.words.into_iter().enumerate() {
            let Some(Sighting { corrupting, repairs, .. }) = said.map(|stored| stored.word) else { continue };
            self.sightings[link].repairs = repairs;
            if let Some(estimate) = corrupting.filter(|_| !self.ports[link].is_corrupting()) {
                self.ports[link].resume(estimate.loss);
                self.sightings[link].corrupting = corrupting;
            }
        }
        self.resumed = true;
        Ok(())
    }

    /// A link that was repaired counts as clean at once.
    fn hear_of_repairs(&mut self, store: &mut Store, events: &mut Vec<Event>) -> Result<(), Fault> {
        let repairs = store.get::<Repair>(&self.own_ports(store))?;
        for (link, repair) in repairs.words.into_iter().enumerate() {
            let Some(number) = repair.map(|repair| repair.version) else { continue };
            if number <= self.sightings[link].repairs {
                continue;
            }
            self.sightings[link] = Sighting { corrupting: None, repairs: number, ..self.sightings[link] };
            events.extend(self.ports[link].on_repair().map(|verdict| Event::Saw { link, verdict }));
        }
        Ok(())
    }

    /// Whether what was said still stands: whoever may write there may also spoil it, and a server may have lost it.
    fn look_after(&mut self, store: &mut Store) -> Result<(), Fault> {
        let own = self.own_ports(store);
        let said = store.get::<Sighting>(&own)?.words;
        let done = store.get::<Deed>(&own)?.words;
        for (link, (said, done)) in said.into_iter().zip(done).enumerate() {
            self.told[link] = said.map(|stored| stored.word);
            self.answered[link] = done.map(|stored| stored.word);
        }
        Ok(())
    }

    /// What the planner says of this node's ports; how much of it makes no sense.
    fn hear_advice(&mut self, store: &mut Store) -> Result<u64, Fault> {
        if self.conduct.mode != Mode::Advised {
            return Ok(0);
        }
        let Standing { words, senseless } = store.get::<Advice>(&self.own_ports(store))?;
        self.advice = words.into_iter().map(|stored| stored.map(|stored| stored.word)).collect();
        Ok(senseless)
    }

    fn own_ports(&self, store: &Store) -> Vec<PortName> {
        let own = |link: &Link| PortName { node: store.node().clone(), port: link.port.clone() };
        self.links.iter().map(own).collect()
    }

    /// Says what the ports see. `false` if somebody else speaks for this node by now.
    fn tell(&mut self, store: &mut Store, lease: Lease) -> Result<bool, Fault> {
        for (at, link) in self.links.iter().enumerate() {
            let sighting = self.sightings[at];
            if self.told[at] == Some(sighting) {
                continue;
            }
            match store.put(lease, &link.port, &sighting, &link.peer.node)? {
                Put::Stands(_) => self.told[at] = Some(sighting),
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
        for (link, deed) in
            decide(&self.links, &self.seen, &self.advice, &self.conduct).into_iter().enumerate()
        {
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
                    if self.answered[link].as_ref() != Some(&deed) {
                        self.tally.failures += 1;
                        events.push(Event::Failed { link, why });
                    }
                    deed
                }
            };
            if self.answered[link].as_ref() == Some(&deed) {
                continue;
            }
            let Link { port, peer, .. } = &self.links[link];
            if store.put(lease, port, &deed, &peer.node)? == Put::Outdated {
                self.lease = None;
                return Ok(());
            }
            self.answered[link] = Some(deed);
        }
        Ok(())
    }

    /// Makes it so, if it is not already. What was done, if anything was.
    fn perform(&self, link: usize, deed: Deed, machine: &mut impl Machine) -> Result<Option<Doing>, String> {
        if self.links[link].protect == Protect::None || self.conduct.mode == Mode::Observe {
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
