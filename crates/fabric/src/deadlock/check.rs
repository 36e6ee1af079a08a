//! Check of a network for cyclic buffer dependencies.

use std::fmt;

use wiremend_units::{HostId, LaneId, NodeId, Rate, SwitchId};

use super::cycle::{Successors as _, components, ranks, shortest_cycles};
use super::dependencies::{Dependencies, matrix_bytes};
use super::routing_loop::RoutingLoop;
use super::shortest_paths::{Class, ShortestPaths};
use super::switch_lanes::{Slot, SwitchLanes};
use crate::graph::{Graph, Node};

/// Maximum memory of the dependencies, 1 GiB: a switch with n neighbours needs n²/8 bytes.
pub const DEPENDENCY_BYTES_MAX: u64 = 1 << 30;
/// Maximum number of listed cycles per component.
const CYCLES_MAX: usize = 8;

/// A network with its lanes between switches, and its destinations in classes with the same routes.
///
/// A cyclic buffer dependency is necessary for a deadlock, but not sufficient (Hu et al., `HotNets` 2016).
/// In a routing loop it becomes sufficient with enough packets ([`RoutingLoop`]).
pub struct DeadlockCheck<'g> {
    pub(super) graph: &'g Graph,
    pub(super) switch_lanes: SwitchLanes,
    /// Number of hosts of each switch.
    pub(super) hosts: Vec<u32>,
    pub(super) classes: Vec<Class>,
}

/// A forwarding entry that is not a shortest path: at `switch`, packets to `to` leave for `next`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteOverride {
    /// Switch with the entry.
    pub switch: SwitchId,
    /// Destination: a host, or a switch for all its hosts.
    pub to: NodeId,
    /// Neighbour of the switch.
    pub next: NodeId,
}

/// A class of hosts with the same routes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Destination {
    /// Their switch.
    pub tor: SwitchId,
    /// The only host of the class, or `None` for all hosts of the switch without a class of their own.
    pub host: Option<HostId>,
}

/// Result of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockVerdict {
    /// Number of pairs of lanes of which the first drains only if the second does.
    pub dependencies: u64,
    /// Order of the lanes, if there is no cycle.
    pub order: Option<LaneOrder>,
    /// Sets of lanes that wait for each other; empty if there is an order.
    pub components: Vec<LaneComponent>,
}

/// Proof that no cycle exists: each lane waits only for lanes of a higher rank, and those of the highest
/// rank only for hosts, which always accept packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneOrder {
    /// Number of ranks.
    pub ranks: u32,
    /// Whether packets first go up, away from the hosts, and then down, so that no downward lane waits for
    /// an upward one.
    pub up_down: bool,
}

/// A strongly connected component: lanes that wait, through others, for themselves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneComponent {
    /// Number of lanes.
    pub lanes: u32,
    /// Its routing loops; without any, its shortest cycles. The number is limited.
    pub cycles: Vec<LaneCycle>,
}

/// A cycle of lanes: each waits for the next, and the last for the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneCycle {
    /// In the order of packets.
    pub lanes: Vec<LaneId>,
    /// Destinations whose packets circulate in a routing loop. Empty if classes only block each other.
    pub looping: Vec<Destination>,
}

impl LaneCycle {
    /// Returns the routing loop, if the cycle is one.
    pub fn routing_loop(&self, graph: &Graph) -> Option<RoutingLoop> {
        let slowest: Option<Rate> = self.lanes.iter().map(|lane| graph.link(lane.link()).rate).min();
        let rate = slowest.filter(|_| !self.looping.is_empty())?;
        Some(RoutingLoop { switches: self.lanes.len() as u32, rate })
    }
}

impl<'g> DeadlockCheck<'g> {
    /// Uses shortest paths ([`Routes`](crate::Routes)), except for the overrides.
    pub fn new(graph: &'g Graph, overrides: &[RouteOverride]) -> Result<Self, CheckError> {
        let switch_lanes = SwitchLanes::new(graph);
        let bytes = matrix_bytes(&switch_lanes);
        if bytes > DEPENDENCY_BYTES_MAX {
            return Err(CheckError::TooDense { bytes });
        }
        let mut hosts = vec![0; graph.switch_count() as usize];
        for host in graph.hosts() {
            hosts[graph.tor(host).index()] += 1;
        }
        let mut check = Self { graph, switch_lanes, hosts, classes: Vec::new() };
        check.classes = check.classes(overrides)?;
        Ok(check)
    }

    /// Returns the number of lanes between switches.
    pub fn lane_count(&self) -> usize {
        self.switch_lanes.lanes.len()
    }

    /// Returns the number of destination classes.
    pub fn class_count(&self) -> usize {
        self.classes.len()
    }

    /// Checks the routes without failures.
    pub fn verdict(&self) -> DeadlockVerdict {
        let mut paths = ShortestPaths::new(&self.switch_lanes, &self.hosts, &[]);
        let (dependencies, loops) = self.examine(&mut paths, |paths, class| {
            (!class.overrides.is_empty()).then(|| paths.next_hops(class))
        });
        self.judge(&dependencies, &loops)
    }

    /// Returns all dependencies, and the loops of classes with other routes than shortest paths. `unusual`
    /// returns the next hops of such a class.
    pub(super) fn examine(
        &self,
        paths: &mut ShortestPaths<'_>,
        mut unusual: impl FnMut(&mut ShortestPaths<'_>, &Class) -> Option<Vec<Vec<Slot>>>,
    ) -> (Dependencies<'_>, Vec<(Destination, Vec<Slot>)>) {
        let mut all = Dependencies::none(&self.switch_lanes);
        let mut loops = Vec::new();
        for class in &self.classes {
            let Some(next) = unusual(paths, class) else {
                paths.add_shortest(class.destination.tor.0, &mut all);
                continue;
            };
            paths.add(class, &next, &mut all);
            let mut alone = Dependencies::none(&self.switch_lanes);
            paths.add(class, &next, &mut alone);
            // A cycle within one class is a routing loop.
            for component in components(&alone) {
                let cycles = shortest_cycles(&alone, &component, CYCLES_MAX);
                loops.extend(cycles.into_iter().map(|cycle| (class.destination, cycle)));
            }
        }
        (all, loops)
    }

    pub(super) fn judge(
        &self,
        dependencies: &Dependencies<'_>,
        loops: &[(Destination, Vec<Slot>)],
    ) -> DeadlockVerdict {
        let order =
            ranks(dependencies).map(|ranks| LaneOrder { ranks, up_down: self.is_up_down(dependencies) });
        let components = match order {
            Some(_) => Vec::new(),
            None => components(dependencies),
        };
        let described = |component: Vec<Slot>| LaneComponent {
            lanes: component.len() as u32,
            cycles: self.cycles(dependencies, &component, loops),
        };
        DeadlockVerdict {
            dependencies: dependencies.edge_count(),
            order,
            components: components.into_iter().map(described).collect(),
        }
    }

    fn cycles(
        &self,
        dependencies: &Dependencies<'_>,
        component: &[Slot],
        loops: &[(Destination, Vec<Slot>)],
    ) -> Vec<LaneCycle> {
        let lanes =
            |slots: &[Slot]| slots.iter().map(|slot| self.switch_lanes.lanes[*slot as usize]).collect();
        let mut cycles: Vec<LaneCycle> = Vec::new();
        for (destination, slots) in
            loops.iter().filter(|(_, slots)| component.binary_search(&slots[0]).is_ok())
        {
            let lanes: Vec<LaneId> = lanes(slots);
            match cycles.iter().position(|cycle| cycle.lanes == lanes) {
                Some(known) => cycles[known].looping.push(*destination),
                None if cycles.len() < CYCLES_MAX => {
                    cycles.push(LaneCycle { lanes, looping: vec![*destination] });
                }
                None => {}
            }
        }
        if cycles.is_empty() {
            let shortest = shortest_cycles(dependencies, component, CYCLES_MAX);
            cycles
                .extend(shortest.iter().map(|slots| LaneCycle { lanes: lanes(slots), looping: Vec::new() }));
        }
        cycles
    }

    /// Returns whether no lane towards the hosts waits for a lane away from them. The tier of a switch is
    /// its distance to the nearest host.
    fn is_up_down(&self, dependencies: &Dependencies<'_>) -> bool {
        let tiers = self.tiers();
        let rises = |slot: Slot| {
            let from = self.switch_lanes.to[self.switch_lanes.reverse[slot as usize] as usize];
            tiers[self.switch_lanes.to[slot as usize] as usize].cmp(&tiers[from as usize])
        };
        let rises: Vec<_> = (0..self.switch_lanes.lanes.len() as u32).map(rises).collect();
        (0..self.switch_lanes.lanes.len() as u32).all(|slot| {
            dependencies.successors(slot).all(|next| {
                let (this, next) = (rises[slot as usize], rises[next as usize]);
                this.is_ne() && next.is_ne() && !(this.is_lt() && next.is_gt())
            })
        })
    }

    fn tiers(&self) -> Vec<u32> {
        let mut tiers = vec![u32::MAX; self.hosts.len()];
        let mut level: Vec<u32> =
            (0..self.hosts.len() as u32).filter(|switch| self.hosts[*switch as usize] > 0).collect();
        for tier in 0.. {
            level.retain(|switch| tiers[*switch as usize] == u32::MAX);
            if level.is_empty() {
                break;
            }
            for switch in &level {
                tiers[*switch as usize] = tier;
            }
            let around = |switch: &u32| {
                self.switch_lanes.leaving(*switch).map(|slot| self.switch_lanes.to[slot as usize])
            };
            level = level.iter().flat_map(around).filter(|to| tiers[*to as usize] == u32::MAX).collect();
            level.sort_unstable();
            level.dedup();
        }
        tiers
    }

    /// Creates a class for each edge switch, and one for each host with an override.
    fn classes(&self, overrides: &[RouteOverride]) -> Result<Vec<Class>, CheckError> {
        let tors =
            (0..self.hosts.len() as u32).filter(|switch| self.hosts[*switch as usize] > 0).map(SwitchId);
        let mut destinations: Vec<Destination> = tors.map(|tor| Destination { tor, host: None }).collect();
        for rule in overrides {
            if let Node::Host(host) = self.graph.node(rule.to) {
                destinations.push(Destination { tor: self.graph.tor(host), host: Some(host) });
            }
        }
        destinations.sort_unstable();
        destinations.dedup();
        let mut classes: Vec<Class> = destinations
            .into_iter()
            .map(|destination| Class { destination, overrides: Vec::new() })
            .collect();
        for (place, rule) in overrides.iter().enumerate() {
            if overrides[..place].iter().any(|other| (other.switch, other.to) == (rule.switch, rule.to)) {
                return Err(CheckError::Twice(*rule));
            }
            let lanes = self.lanes(rule)?;
            for class in &mut classes {
                let is_meant = match self.graph.node(rule.to) {
                    Node::Host(host) => class.destination.host == Some(host),
                    Node::Switch(tor) => class.destination.tor == tor,
                };
                // An override for a host has precedence over one for all hosts of its switch.
                let is_overridden = class.overrides.iter().any(|(switch, _)| *switch == rule.switch.0);
                let is_host = matches!(self.graph.node(rule.to), Node::Host(_));
                if is_meant && (is_host || !is_overridden) {
                    class.overrides.retain(|(switch, _)| *switch != rule.switch.0);
                    class.overrides.push((rule.switch.0, lanes.clone()));
                }
            }
        }
        // A class is empty if all its hosts have classes of their own.
        let alone = |tor: SwitchId| {
            classes
                .iter()
                .filter(|class| class.destination.tor == tor && class.destination.host.is_some())
                .count()
        };
        let is_empty: Vec<bool> = classes
            .iter()
            .map(|Class { destination: Destination { tor, host }, .. }| {
                host.is_none() && alone(*tor) as u32 == self.hosts[tor.index()]
            })
            .collect();
        Ok(classes
            .into_iter()
            .zip(is_empty)
            .filter(|(_, is_empty)| !is_empty)
            .map(|(class, _)| class)
            .collect())
    }

    /// Returns the lanes of an override.
    fn lanes(&self, rule: &RouteOverride) -> Result<Vec<Slot>, CheckError> {
        if let Node::Switch(tor) = self.graph.node(rule.to)
            && self.hosts[tor.index()] == 0
        {
            return Err(CheckError::NoHosts(*rule));
        }
        let ports = self.graph.ports(self.graph.switch_node(rule.switch));
        if !ports.iter().any(|lane| self.graph.lane_to(*lane) == rule.next) {
            return Err(CheckError::NotNeighbours(*rule));
        }
        match self.graph.node(rule.next) {
            Node::Switch(next) => Ok(self.switch_lanes.between(rule.switch, next)),
            Node::Host(_) if rule.next == rule.to => Ok(Vec::new()),
            Node::Host(_) => Err(CheckError::IntoHost(*rule)),
        }
    }
}

/// Why a network cannot be checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckError {
    /// Switches with too many neighbours.
    TooDense {
        /// Memory that the dependencies would need.
        bytes: u64,
    },
    /// The destination of an override is a switch without hosts.
    NoHosts(RouteOverride),
    /// An override over a missing link.
    NotNeighbours(RouteOverride),
    /// An override into a host that is not the destination.
    IntoHost(RouteOverride),
    /// Two overrides for the same packets.
    Twice(RouteOverride),
    /// Too many combinations of failed links.
    TooManyCases {
        /// Number of combinations.
        cases: u64,
        /// Maximum.
        max: u64,
    },
}

impl CheckError {
    /// Describes the error with the names of the network.
    pub fn describe(&self, graph: &Graph) -> String {
        let switch = |rule: &RouteOverride| graph.name(graph.switch_node(rule.switch)).to_owned();
        match self {
            Self::NoHosts(rule) => {
                format!("`{}` has no hosts; use a host, or a switch with hosts", graph.name(rule.to))
            }
            Self::NotNeighbours(rule) => {
                let switch = switch(rule);
                let ports = graph.ports(graph.switch_node(rule.switch)).iter();
                let mut around: Vec<&str> = ports.map(|lane| graph.name(graph.lane_to(*lane))).collect();
                around.dedup();
                let more = if around.len() > 8 { ", …" } else { "" };
                around.truncate(8);
                let around = around.join(", ");
                format!(
                    "no link connects `{switch}` and `{}`; its neighbours are {around}{more}",
                    graph.name(rule.next)
                )
            }
            Self::IntoHost(rule) => format!(
                "host `{}` does not forward; the next hop must be a switch or the destination",
                graph.name(rule.next)
            ),
            Self::Twice(rule) => format!(
                "two overrides at `{}` for packets to `{}`; remove one",
                switch(rule),
                graph.name(rule.to)
            ),
            Self::TooDense { .. } | Self::TooManyCases { .. } => self.to_string(),
        }
    }
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooDense { bytes } => write!(
                f,
                "the dependencies need {bytes} bytes, at most {DEPENDENCY_BYTES_MAX}: use fewer neighbours per switch"
            ),
            Self::NoHosts(rule) => write!(f, "{} has no hosts", rule.to),
            Self::NotNeighbours(rule) => write!(f, "no link connects {} and {}", rule.switch, rule.next),
            Self::IntoHost(rule) => write!(f, "host {} does not forward", rule.next),
            Self::Twice(rule) => {
                write!(f, "two overrides at {} for packets to {}", rule.switch, rule.to)
            }
            Self::TooManyCases { cases, max } => {
                write!(f, "{cases} combinations of failed links are too many: at most {max}; use fewer links")
            }
        }
    }
}

impl std::error::Error for CheckError {}
