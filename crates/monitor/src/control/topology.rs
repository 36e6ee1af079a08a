//! A fabric by the names of its ports, and where relays are.

use std::collections::BTreeMap;
use std::fmt;

use wiremend_fabric::tiers::Tiers;
use wiremend_units::{LinkId, SwitchId};

use crate::name::{Name, PortName};

/// A fabric, and who can protect what.
#[derive(Debug)]
pub struct Topology {
    tiers: Tiers,
    /// Lower end, then upper end, by link.
    names: Vec<PortName>,
    by_name: BTreeMap<PortName, End>,
    relays: Vec<bool>,
}

/// An end of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct End {
    /// The link.
    pub link: LinkId,
    /// It is the one nearer to the top.
    pub upper: bool,
}

impl End {
    /// The other end.
    pub fn other(self) -> Self {
        Self { upper: !self.upper, ..self }
    }

    pub(super) fn index(self) -> usize {
        2 * self.link.index() + usize::from(self.upper)
    }
}

/// Something is called what nothing is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unnamed(pub String);

impl fmt::Display for Unnamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unnamed {}

impl Topology {
    /// Of a fabric. Relays are at the ports in `relays`: `NODE:PORT`, or all of a node by its name.
    pub fn new(tiers: Tiers, relays: &[String]) -> Result<Self, Unnamed> {
        let mut names = Vec::with_capacity(2 * tiers.link_count() as usize);
        for link in tiers.links() {
            let ends = tiers.link(link);
            let (low, high) = tiers.ports(link);
            for (switch, port) in [(ends.lower, low), (ends.upper, high)] {
                let name = |text: &str| text.parse::<Name>().map_err(Unnamed);
                names.push(PortName { node: name(tiers.name(switch))?, port: name(&port)? });
            }
        }
        let mut topology = Self { relays: vec![false; names.len()], by_name: BTreeMap::new(), names, tiers };
        topology.by_name = topology.ends().map(|end| (topology.name(end).clone(), end)).collect();
        for relay in relays {
            topology.mark(relay)?;
        }
        Ok(topology)
    }

    /// The fabric.
    pub fn tiers(&self) -> &Tiers {
        &self.tiers
    }

    /// All ends of all links.
    pub fn ends(&self) -> impl Iterator<Item = End> + use<> {
        self.tiers.links().flat_map(|link| [End { link, upper: false }, End { link, upper: true }])
    }

    /// Their names, in the same order.
    pub fn names(&self) -> &[PortName] {
        &self.names
    }

    /// The name of an end.
    pub fn name(&self, end: End) -> &PortName {
        &self.names[end.index()]
    }

    /// The end of a name.
    pub fn end(&self, name: &PortName) -> Option<End> {
        self.by_name.get(name).copied()
    }

    /// Whether a relay stands at this end.
    pub fn has_relay(&self, end: End) -> bool {
        self.relays[end.index()]
    }

    /// How many ports have one.
    pub fn relay_count(&self) -> usize {
        self.relays.iter().filter(|has| **has).count()
    }

    /// The switch of an end.
    pub fn switch(&self, end: End) -> SwitchId {
        let ends = self.tiers.link(end.link);
        if end.upper { ends.upper } else { ends.lower }
    }

    fn mark(&mut self, relay: &str) -> Result<(), Unnamed> {
        let unknown =
            || Unnamed(format!("`{}` is no switch and no NODE:PORT of the fabric", relay.escape_debug()));
        if let Some(end) = relay.parse().ok().and_then(|name| self.end(&name)) {
            self.relays[end.index()] = true;
            return Ok(());
        }
        let switch = self.tiers.switch_by_name(relay).ok_or_else(unknown)?;
        for end in self.ends().collect::<Vec<_>>() {
            if self.switch(end) == switch {
                self.relays[end.index()] = true;
            }
        }
        Ok(())
    }
}
