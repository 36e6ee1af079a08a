//! The ports of this machine without Redis: what a daemon would observe, and the state of its relays.

use wiremend_dataplane::event_loop::Clock;
use wiremend_fabric::tiers::{NamedTierLink, TiersBuilder, TiersFault};
use wiremend_units::Rate;

use super::local_machine::LocalMachine;
use super::{Error, NodePaths};
use crate::config::DaemonConfig;
use crate::daemon::{Daemon, Machine as _};
use crate::decision::Protector;
use crate::planner::NamedFabric;
use crate::redis::{CounterRecord, LinkAction, Observation};

/// The ports of this machine. It only reads.
pub struct LocalNode {
    config: DaemonConfig,
    daemon: Daemon,
    machine: LocalMachine,
}

impl LocalNode {
    /// Opens the ports of a daemon's configuration. Returns messages about ports that do not exist, too.
    pub fn open(config: &DaemonConfig, paths: NodePaths<'_>) -> Result<(Self, Vec<String>), Error> {
        let missing = LocalMachine::check(config, paths.sysfs)?;
        let DaemonConfig { links, thresholds, act, .. } = config;
        let daemon = Daemon::new(links.clone(), *thresholds, *act, String::new());
        let machine =
            LocalMachine::new(config, paths.sysfs.to_owned(), paths.run_dir.to_owned(), Clock::start());
        Ok((Self { config: config.clone(), daemon, machine }, missing))
    }

    /// Returns the links of a configuration as a fabric of two tiers: this machine, and the other ends above it.
    pub fn fabric(config: &DaemonConfig) -> Result<NamedFabric, Error> {
        let bad = |fault: TiersFault| Error::Input(fault.to_string());
        let mut tiers = TiersBuilder::default();
        let node = config.node.as_str();
        tiers.switch(node, 0, None).map_err(bad)?;
        let mut relays = Vec::new();
        for link in &config.links {
            let (peer, port) = (link.peer.node.as_str(), link.port.as_str());
            match tiers.switch(peer, 1, None) {
                Ok(_) | Err(TiersFault::SwitchTwice(_)) => {}
                Err(fault) => return Err(bad(fault)),
            }
            let ends = [(node, port), (peer, link.peer.port.as_str())];
            // The rate plays no part: a machine has no plan.
            let link_of = NamedTierLink { ends, rate: Rate::gbps(100), lag: None, cable: None };
            tiers.link(&link_of).map_err(bad)?;
            if link.protect == Protector::Relay {
                relays.push(format!("{node}:{port}"));
            }
        }
        NamedFabric::new(tiers.build().map_err(bad)?, &relays).map_err(|why| Error::Input(why.to_string()))
    }

    /// The configuration.
    pub fn config(&self) -> &DaemonConfig {
        &self.config
    }

    /// Reads all ports. Returns messages about unreadable counters, each once.
    pub fn read(&mut self) -> Vec<String> {
        self.daemon.read_ports(&mut self.machine);
        self.machine.take_messages()
    }

    /// Returns what link number `at` observes; `None` if it was not read yet, or cannot be read now.
    pub fn observation(&self, at: usize) -> Option<Observation> {
        self.daemon.observation(at).filter(|_| !self.daemon.is_unread(at))
    }

    /// Returns what the relay of link number `at` does.
    pub fn action(&mut self, at: usize) -> LinkAction {
        match self.config.links[at].protect {
            Protector::None => LinkAction::Nothing,
            Protector::Relay => match self.machine.relay_state(at) {
                Ok(state) => state.action,
                Err(reason) => LinkAction::Decline { reason: reason.chars().take(120).collect() },
            },
        }
    }

    /// Returns all counters of link number `at`.
    pub fn counters(&mut self, at: usize) -> Option<CounterRecord> {
        self.machine.counters(at)
    }
}
