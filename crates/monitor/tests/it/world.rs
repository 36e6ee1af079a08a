//! Two nodes with a link between them, each with a daemon, and a second at a time.

use wiremend_monitor::bus::{Doing, Server, Store};
use wiremend_monitor::{
    Conduct, Counted, Daemon, Event, Fec, Link, Machine, Mode, Name, PortName, Protect, Reading, Thresholds,
};
use wiremend_units::{Span, Time};

use crate::redis::Redis;

/// What is done about a loss of a thousandth.
pub(crate) const PROTECTS: Doing = Doing::Protects { copies: 2 };

/// A leaf and a spine, and a second at a time.
pub(crate) struct World {
    pub(crate) leaf: Site,
    pub(crate) spine: Site,
    pub(crate) second: u64,
    /// Broken frames among a million towards the leaf, each second.
    pub(crate) loss_to_leaf: u64,
    /// Nobody hears bells.
    pub(crate) deaf: bool,
    pub(crate) events: Vec<Event>,
}

impl World {
    pub(crate) fn new(server: &Server) -> Self {
        Self {
            leaf: Site::new("leaf-1", "eth0", "spine-3", "eth7", server),
            spine: Site::new("spine-3", "eth7", "leaf-1", "eth0", server),
            second: 0,
            loss_to_leaf: 0,
            deaf: false,
            events: Vec::new(),
        }
    }

    /// Both, and a Redis between them, if there is any on this machine.
    pub(crate) fn start() -> Option<(Redis, Self)> {
        let redis = Redis::start(&[])?;
        let world = Self::new(&redis.server());
        Some((redis, world))
    }

    /// So many frames of a million are broken towards the leaf from now on.
    pub(crate) fn turns_losing(&mut self, loss_to_leaf: u64, seconds: u64) {
        self.loss_to_leaf = loss_to_leaf;
        self.turns(seconds);
    }

    pub(crate) fn turns(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.second += 1;
            let now = Time::ZERO.saturating_add(Span::from_ms(1_000 * self.second));
            for (site, bad) in [(&mut self.leaf, self.loss_to_leaf), (&mut self.spine, 0)] {
                site.machine.arrive(now, bad);
                self.events.extend(site.turn(now, !self.deaf));
            }
        }
    }
}

/// A node with one link.
pub(crate) struct Site {
    node: Name,
    link: Link,
    pub(crate) conduct: Conduct,
    pub(crate) daemon: Daemon,
    pub(crate) machine: Device,
    pub(crate) server: Server,
    pub(crate) store: Option<Store>,
}

impl Site {
    pub(crate) fn new(node: &str, port: &str, peer: &str, peer_port: &str, server: &Server) -> Self {
        let name = |text: &str| text.parse::<Name>().unwrap();
        let peer = PortName { node: name(peer), port: name(peer_port) };
        let link = Link { port: name(port), peer, protect: Protect::Relay };
        let conduct = Conduct { mode: Mode::Act, ..Conduct::default() };
        let daemon = Daemon::new(vec![link.clone()], Thresholds::default(), conduct, node.to_owned());
        let server = server.clone();
        Self { node: name(node), link, conduct, daemon, machine: Device::default(), server, store: None }
    }

    pub(crate) fn fresh(&self, holder: &str) -> Daemon {
        Daemon::new(vec![self.link.clone()], Thresholds::default(), self.conduct, holder.to_owned())
    }

    /// Killed, and started again.
    pub(crate) fn begin_anew(&mut self) {
        self.daemon = self.fresh(self.node.as_str());
        self.store = None;
    }

    pub(crate) fn turn(&mut self, now: Time, rang: bool) -> Vec<Event> {
        let mut events = self.daemon.watch(&mut self.machine);
        if self.store.is_none() {
            self.daemon.on_disconnect();
            self.store = Store::open(&self.server, self.node.clone()).ok();
        }
        let Some(store) = &mut self.store else { return events };
        match self.daemon.exchange(now, store, &mut self.machine, rang) {
            Ok(more) => events.extend(more),
            Err(_) => self.store = None,
        }
        events
    }
}

/// A port, and a relay that does as it is told.
pub(crate) struct Device {
    reading: Option<Reading>,
    pub(crate) relay: Doing,
    pub(crate) acts: u32,
    pub(crate) broken: bool,
    /// Happens right after it has acted.
    pub(crate) upon_act: Option<Box<dyn FnMut()>>,
}

impl Default for Device {
    fn default() -> Self {
        Self { reading: None, relay: Doing::Nothing, acts: 0, broken: false, upon_act: None }
    }
}

impl Device {
    fn arrive(&mut self, now: Time, more_bad: u64) {
        let (good, bad) = match self.reading.map(|reading| reading.counted) {
            Some(Counted::GoodAndBad { good, bad }) => (good, bad),
            _ => (0, 0),
        };
        let counted = Counted::GoodAndBad { good: good + 1_000_000, bad: bad + more_bad };
        self.reading =
            Some(Reading { at: now, up: true, carrier_changes: None, counted, fec: Fec::default() });
    }
}

impl Machine for Device {
    fn read(&mut self, _: usize) -> Option<Reading> {
        self.reading
    }

    fn doing(&mut self, _: usize) -> Result<Doing, String> {
        if self.broken { Err("no relay answers".to_owned()) } else { Ok(self.relay.clone()) }
    }

    fn act(&mut self, _: usize, doing: &Doing) -> Result<(), String> {
        self.relay = doing.clone();
        self.acts += 1;
        if let Some(upon_act) = &mut self.upon_act {
            upon_act();
        }
        Ok(())
    }
}
