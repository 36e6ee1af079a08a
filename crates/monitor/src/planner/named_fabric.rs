//! A fabric with port names and the positions of relays.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use wiremend_fabric::tiers::Tiers;
use wiremend_units::{LinkId, SwitchId};

use crate::name::{Name, PortName};

/// A fabric with port names and the positions of relays.
#[derive(Debug)]
pub struct NamedFabric {
    tiers: Tiers,
    /// By link: lower end, then upper end.
    names: Vec<PortName>,
    by_name: BTreeMap<PortName, LinkEnd>,
    relays: Vec<bool>,
}

/// An end of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LinkEnd {
    /// The link.
    pub link: LinkId,
    /// Whether it is the end nearer to the top tier.
    pub upper: bool,
}

impl LinkEnd {
    /// Returns the other end.
    pub fn other(self) -> Self {
        Self { upper: !self.upper, ..self }
    }

    pub(super) fn index(self) -> usize {
        2 * self.link.index() + usize::from(self.upper)
    }
}

/// A configured name that the fabric does not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownName(pub String);

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnknownName {}

impl NamedFabric {
    /// Names the ports of a fabric. `relays` contains `NODE:PORT`, or `NODE` for all ports of a node.
    pub fn new(tiers: Tiers, relays: &[String]) -> Result<Self, UnknownName> {
        let mut names = Vec::with_capacity(2 * tiers.link_count() as usize);
        for link in tiers.links() {
            let ends = tiers.link(link);
            let (low, high) = tiers.ports(link);
            for (switch, port) in [(ends.lower, low), (ends.upper, high)] {
                let name = |text: &str| text.parse::<Name>().map_err(UnknownName);
                names.push(PortName { node: name(tiers.name(switch))?, port: name(&port)? });
            }
        }
        let mut fabric = Self { relays: vec![false; names.len()], by_name: BTreeMap::new(), names, tiers };
        fabric.by_name = fabric.ends().map(|end| (fabric.name(end).clone(), end)).collect();
        for relay in relays {
            fabric.mark(relay)?;
        }
        Ok(fabric)
    }

    /// Returns the fabric.
    pub fn tiers(&self) -> &Tiers {
        &self.tiers
    }

    /// Iterates over both ends of all links.
    pub fn ends(&self) -> impl Iterator<Item = LinkEnd> + use<> {
        self.tiers.links().flat_map(|link| [LinkEnd { link, upper: false }, LinkEnd { link, upper: true }])
    }

    /// Returns the names of all ends, in the order of [`ends`](Self::ends).
    pub fn names(&self) -> &[PortName] {
        &self.names
    }

    /// Returns the name of an end.
    pub fn name(&self, end: LinkEnd) -> &PortName {
        &self.names[end.index()]
    }

    /// Returns the end with this name.
    pub fn end(&self, name: &PortName) -> Option<LinkEnd> {
        self.by_name.get(name).copied()
    }

    /// Returns whether a relay runs at this end.
    pub fn has_relay(&self, end: LinkEnd) -> bool {
        self.relays[end.index()]
    }

    /// Returns the number of ports with a relay.
    pub fn relay_count(&self) -> usize {
        self.relays.iter().filter(|has| **has).count()
    }

    /// Returns the switch of an end.
    pub fn switch(&self, end: LinkEnd) -> SwitchId {
        let ends = self.tiers.link(end.link);
        if end.upper { ends.upper } else { ends.lower }
    }

    /// Returns the ports of both ends of the links that an operator names: `NODE:PORT` for the link of a
    /// port, `NODE` for all links of a node, `pod:NAME` for all links of the nodes of a pod.
    pub fn ports_of(&self, target: &str) -> Result<Vec<PortName>, UnknownName> {
        let of = |is_meant: &dyn Fn(LinkEnd) -> bool| -> Vec<PortName> {
            let links = self.tiers.links().map(|link| [false, true].map(|upper| LinkEnd { link, upper }));
            let meant = links.filter(|ends| ends.iter().any(|end| is_meant(*end)));
            meant.flatten().map(|end| self.name(end).clone()).collect()
        };
        let ports = if let Some(pod) = target.strip_prefix("pod:") {
            let is_in = |switch| self.tiers.pod(switch).is_some_and(|at| self.tiers.pod_name(at) == pod);
            of(&|end| is_in(self.switch(end)))
        } else if let Some(switch) = self.tiers.switch_by_name(target) {
            of(&|end| self.switch(end) == switch)
        } else {
            let named = target.parse().ok().and_then(|name| self.end(&name));
            named.map_or_else(Vec::new, |named| of(&|end| end == named))
        };
        if ports.is_empty() {
            return Err(UnknownName(format!(
                "`{}` is neither a NODE:PORT, nor a node, nor a pod:NAME of the fabric",
                target.escape_debug()
            )));
        }
        Ok(ports)
    }

    /// Returns the nodes, sorted.
    pub fn nodes(&self) -> BTreeSet<Name> {
        self.names.iter().map(|port| port.node.clone()).collect()
    }

    fn mark(&mut self, relay: &str) -> Result<(), UnknownName> {
        let unknown = || {
            UnknownName(format!(
                "`{}` is neither a switch nor a NODE:PORT of the fabric",
                relay.escape_debug()
            ))
        };
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
