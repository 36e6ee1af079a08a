//! Two nodes connected by a link, each with a daemon, in steps of a second.

use wiremend_monitor::redis::{LinkAction, RedisServer, Store};
use wiremend_monitor::{
    ActionConfig, Daemon, DaemonEvent, DaemonMode, FecCounts, FrameCounts, LinkConfig, Machine, Name,
    PortName, PortReading, Protector, RelayState, Thresholds,
};
use wiremend_units::{Span, Time};

use crate::test_redis::TestRedis;

/// Action for a loss of 1e-3.
pub(crate) const PROTECTED: LinkAction = LinkAction::Protect { copies: 2 };

/// A leaf and a spine, in steps of a second.
pub(crate) struct TwoNodes {
    pub(crate) leaf: Site,
    pub(crate) spine: Site,
    pub(crate) second: u64,
    /// Corrupted frames per million towards the leaf, each second.
    pub(crate) loss_to_leaf: u64,
    /// Notifications are not delivered.
    pub(crate) deaf: bool,
    pub(crate) events: Vec<DaemonEvent>,
}

impl TwoNodes {
    pub(crate) fn new(server: &RedisServer) -> Self {
        Self {
            leaf: Site::new("leaf-1", "eth0", "spine-3", "eth7", server),
            spine: Site::new("spine-3", "eth7", "leaf-1", "eth0", server),
            second: 0,
            loss_to_leaf: 0,
            deaf: false,
            events: Vec::new(),
        }
    }

    /// Both nodes and a Redis, if it is installed.
    pub(crate) fn start() -> Option<(TestRedis, Self)> {
        let redis = TestRedis::start(&[])?;
        let nodes = Self::new(&redis.server());
        Some((redis, nodes))
    }

    /// A connection with the user of the spine.
    pub(crate) fn operator(&self) -> Store {
        Store::open(&self.spine.server, self.spine.node.clone()).unwrap()
    }

    /// Sets the corrupted frames per million towards the leaf and runs for some seconds.
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
    link: LinkConfig,
    pub(crate) act: ActionConfig,
    pub(crate) daemon: Daemon,
    pub(crate) machine: Device,
    pub(crate) server: RedisServer,
    pub(crate) store: Option<Store>,
}

impl Site {
    pub(crate) fn new(node: &str, port: &str, peer: &str, peer_port: &str, server: &RedisServer) -> Self {
        let name = |text: &str| text.parse::<Name>().unwrap();
        let peer = PortName { node: name(peer), port: name(peer_port) };
        let link = LinkConfig { port: name(port), peer, protect: Protector::Relay };
        let act = ActionConfig { mode: DaemonMode::Act, ..ActionConfig::default() };
        let daemon = Daemon::new(vec![link.clone()], Thresholds::default(), act, node.to_owned());
        let server = server.clone();
        Self { node: name(node), link, act, daemon, machine: Device::default(), server, store: None }
    }

    pub(crate) fn fresh(&self, holder: &str) -> Daemon {
        Daemon::new(vec![self.link.clone()], Thresholds::default(), self.act, holder.to_owned())
    }

    /// Kills the daemon and starts it again.
    pub(crate) fn begin_anew(&mut self) {
        self.daemon = self.fresh(self.node.as_str());
        self.store = None;
    }

    pub(crate) fn turn(&mut self, now: Time, notified: bool) -> Vec<DaemonEvent> {
        let mut events = self.daemon.read_ports(&mut self.machine);
        if self.store.is_none() {
            self.daemon.on_connection_change();
            self.store = Store::open(&self.server, self.node.clone()).ok();
        }
        let Some(store) = &mut self.store else { return events };
        match self.daemon.sync(now, store, &mut self.machine, notified) {
            Ok(more) => events.extend(more),
            Err(_) => self.store = None,
        }
        events
    }
}

/// A port and its relay.
pub(crate) struct Device {
    reading: Option<PortReading>,
    pub(crate) relay: LinkAction,
    pub(crate) acts: u32,
    pub(crate) broken: bool,
    /// Whether the counters of the port cannot be read.
    pub(crate) unreadable: bool,
    process: u32,
    /// Called after each action.
    pub(crate) upon_act: Option<Box<dyn FnMut()>>,
}

impl Default for Device {
    fn default() -> Self {
        Self {
            reading: None,
            relay: LinkAction::Nothing,
            acts: 0,
            broken: false,
            unreadable: false,
            process: 1,
            upon_act: None,
        }
    }
}

impl Device {
    /// Restarts the relay, which then protects nothing.
    pub(crate) fn restart_relay(&mut self) {
        self.process += 1;
        self.relay = LinkAction::Nothing;
    }

    fn arrive(&mut self, now: Time, more_bad: u64) {
        let (good, bad) = match self.reading.map(|reading| reading.counted) {
            Some(FrameCounts::GoodAndBad { good, bad }) => (good, bad),
            _ => (0, 0),
        };
        let counted = FrameCounts::GoodAndBad { good: good + 1_000_000, bad: bad + more_bad };
        self.reading = Some(PortReading {
            at: now,
            up: true,
            carrier_changes: None,
            counted,
            fec: FecCounts::default(),
        });
    }
}

impl Machine for Device {
    fn read(&mut self, _: usize) -> Option<PortReading> {
        self.reading.filter(|_| !self.unreadable)
    }

    fn relay_state(&mut self, _: usize) -> Result<RelayState, String> {
        if self.broken {
            return Err("the relay does not answer".to_owned());
        }
        Ok(RelayState { action: self.relay.clone(), process: self.process })
    }

    fn apply(&mut self, _: usize, action: &LinkAction) -> Result<(), String> {
        self.relay = action.clone();
        self.acts += 1;
        if let Some(upon_act) = &mut self.upon_act {
            upon_act();
        }
        Ok(())
    }
}
