//! What the routes of a network make wait for what.

use std::fmt;

use wiremend_units::{HostId, LaneId, NodeId, Rate, SwitchId};

use super::cycle::{Successors as _, components, ranks, shortest_cycles};
use super::dependency::{Dependencies, bytes_of};
use super::filling::RoutingLoop;
use super::mesh::{Mesh, Slot};
use super::ways::{Class, Ways};
use crate::graph::{Graph, Node};

/// The most memory that is taken for dependencies, 1 GiB: a switch with n neighbours needs n²/8 bytes.
pub const DEPENDENCY_BYTES_MAX: u64 = 1 << 30;
/// Cycles of one component that are listed.
const CYCLES_MAX: usize = 8;

/// A network under examination: its lanes between switches, and its destinations in classes that share all routes.
///
/// Cyclic buffer dependency is necessary for a deadlock and not sufficient (Hu et al., `HotNets` 2016); in a routing loop
/// enough packets make it sufficient ([`RoutingLoop`]).
pub struct Check<'g> {
    pub(super) graph: &'g Graph,
    pub(super) mesh: Mesh,
    /// Hosts on each switch.
    pub(super) hosts: Vec<u32>,
    pub(super) classes: Vec<Class>,
}

/// An entry of a forwarding table that is not the shortest way: at `switch`, packets to `to` leave for `next`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Override {
    /// Where.
    pub switch: SwitchId,
    /// The destination: a host, or a switch for all its hosts.
    pub to: NodeId,
    /// A neighbour.
    pub next: NodeId,
}

/// Hosts that all switches treat alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Destination {
    /// Their switch.
    pub tor: SwitchId,
    /// The only one, or all hosts of the switch that have no class of their own.
    pub host: Option<HostId>,
}

/// What came out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Pairs of lanes of which the first drains only if the second does.
    pub dependencies: u64,
    /// The order of the lanes if there is no cycle.
    pub order: Option<Order>,
    /// Lanes that wait for each other; none if there is an order.
    pub components: Vec<Component>,
}

/// Why nothing waits in a circle: each lane waits only for lanes of a higher rank, and those of the highest for hosts,
/// which always take what comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// How many ranks there are.
    pub ranks: u32,
    /// Whether that is because packets first go up, away from the hosts, and then down: no lane down waits for one up.
    pub up_down: bool,
}

/// Lanes each of which waits, over others, for itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Component {
    /// How many.
    pub lanes: u32,
    /// Its routing loops; if it has none, its shortest cycles. Not more than a few.
    pub cycles: Vec<Cycle>,
}

/// Lanes of which each waits for the next, and the last for the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cycle {
    /// In the order of packets.
    pub lanes: Vec<LaneId>,
    /// Whose packets run around in it: it is a routing loop. If nobody's do, packets of several classes that all
    /// arrive hold each other up.
    pub looping: Vec<Destination>,
}

impl Cycle {
    /// The routing loop that it is.
    pub fn routing_loop(&self, graph: &Graph) -> Option<RoutingLoop> {
        let slowest: Option<Rate> = self.lanes.iter().map(|lane| graph.link(lane.link()).rate).min();
        let rate = slowest.filter(|_| !self.looping.is_empty())?;
        Some(RoutingLoop { switches: self.lanes.len() as u32, rate })
    }
}

impl<'g> Check<'g> {
    /// Shortest ways everywhere ([`Routes`](crate::Routes)), except where overrides say otherwise.
    pub fn new(graph: &'g Graph, overrides: &[Override]) -> Result<Self, CheckError> {
        let mesh = Mesh::new(graph);
        let bytes = bytes_of(&mesh);
        if bytes > DEPENDENCY_BYTES_MAX {
            return Err(CheckError::TooDense { bytes });
        }
        let mut hosts = vec![0; graph.switch_count() as usize];
        for host in graph.hosts() {
            hosts[graph.tor(host).index()] += 1;
        }
        let mut check = Self { graph, mesh, hosts, classes: Vec::new() };
        check.classes = check.classes(overrides)?;
        Ok(check)
    }

    /// Lanes between switches.
    pub fn lane_count(&self) -> usize {
        self.mesh.lanes.len()
    }

    /// Classes of destinations.
    pub fn class_count(&self) -> usize {
        self.classes.len()
    }

    /// Examines the routes as they are.
    pub fn verdict(&self) -> Verdict {
        let mut ways = Ways::new(&self.mesh, &self.hosts, &[]);
        let (dependencies, loops) = self
            .examine(&mut ways, |ways, class| (!class.overrides.is_empty()).then(|| ways.next_hops(class)));
        self.judge(&dependencies, &loops)
    }

    /// All dependencies, and the loops of classes that do not go by shortest ways: `unusual` has the lanes of those.
    pub(super) fn examine(
        &self,
        ways: &mut Ways<'_>,
        mut unusual: impl FnMut(&mut Ways<'_>, &Class) -> Option<Vec<Vec<Slot>>>,
    ) -> (Dependencies<'_>, Vec<(Destination, Vec<Slot>)>) {
        let mut all = Dependencies::none(&self.mesh);
        let mut loops = Vec::new();
        for class in &self.classes {
            let Some(next) = unusual(ways, class) else {
                ways.add_shortest(class.destination.tor.0, &mut all);
                continue;
            };
            ways.add(class, &next, &mut all);
            let mut alone = Dependencies::none(&self.mesh);
            ways.add(class, &next, &mut alone);
            // Packets of one class that wait in a circle for each other run around in it.
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
    ) -> Verdict {
        let order = ranks(dependencies).map(|ranks| Order { ranks, up_down: self.is_up_down(dependencies) });
        let components = match order {
            Some(_) => Vec::new(),
            None => components(dependencies),
        };
        let described = |component: Vec<Slot>| Component {
            lanes: component.len() as u32,
            cycles: self.cycles(dependencies, &component, loops),
        };
        Verdict {
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
    ) -> Vec<Cycle> {
        let lanes = |slots: &[Slot]| slots.iter().map(|slot| self.mesh.lanes[*slot as usize]).collect();
        let mut cycles: Vec<Cycle> = Vec::new();
        for (destination, slots) in
            loops.iter().filter(|(_, slots)| component.binary_search(&slots[0]).is_ok())
        {
            let lanes: Vec<LaneId> = lanes(slots);
            match cycles.iter().position(|cycle| cycle.lanes == lanes) {
                Some(known) => cycles[known].looping.push(*destination),
                None if cycles.len() < CYCLES_MAX => {
                    cycles.push(Cycle { lanes, looping: vec![*destination] });
                }
                None => {}
            }
        }
        if cycles.is_empty() {
            let shortest = shortest_cycles(dependencies, component, CYCLES_MAX);
            cycles.extend(shortest.iter().map(|slots| Cycle { lanes: lanes(slots), looping: Vec::new() }));
        }
        cycles
    }

    /// Whether no lane towards the hosts waits for one away from them. Tiers are hops to the nearest host.
    fn is_up_down(&self, dependencies: &Dependencies<'_>) -> bool {
        let tiers = self.tiers();
        let rises = |slot: Slot| {
            let from = self.mesh.to[self.mesh.reverse[slot as usize] as usize];
            tiers[self.mesh.to[slot as usize] as usize].cmp(&tiers[from as usize])
        };
        let rises: Vec<_> = (0..self.mesh.lanes.len() as u32).map(rises).collect();
        (0..self.mesh.lanes.len() as u32).all(|slot| {
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
            let around = |switch: &u32| self.mesh.leaving(*switch).map(|slot| self.mesh.to[slot as usize]);
            level = level.iter().flat_map(around).filter(|to| tiers[*to as usize] == u32::MAX).collect();
            level.sort_unstable();
            level.dedup();
        }
        tiers
    }

    /// A class for each edge switch, and one for each host that an override names.
    fn classes(&self, overrides: &[Override]) -> Result<Vec<Class>, CheckError> {
        let tors =
            (0..self.hosts.len() as u32).filter(|switch| self.hosts[*switch as usize] > 0).map(SwitchId);
        let mut destinations: Vec<Destination> = tors.map(|tor| Destination { tor, host: None }).collect();
        for asked in overrides {
            if let Node::Host(host) = self.graph.node(asked.to) {
                destinations.push(Destination { tor: self.graph.tor(host), host: Some(host) });
            }
        }
        destinations.sort_unstable();
        destinations.dedup();
        let mut classes: Vec<Class> = destinations
            .into_iter()
            .map(|destination| Class { destination, overrides: Vec::new() })
            .collect();
        for (place, asked) in overrides.iter().enumerate() {
            if overrides[..place].iter().any(|other| (other.switch, other.to) == (asked.switch, asked.to)) {
                return Err(CheckError::Twice(*asked));
            }
            let lanes = self.lanes(asked)?;
            for class in &mut classes {
                let is_meant = match self.graph.node(asked.to) {
                    Node::Host(host) => class.destination.host == Some(host),
                    Node::Switch(tor) => class.destination.tor == tor,
                };
                // What is said about a host holds more than what is said about all hosts of its switch.
                let is_said = class.overrides.iter().any(|(switch, _)| *switch == asked.switch.0);
                let is_host = matches!(self.graph.node(asked.to), Node::Host(_));
                if is_meant && (is_host || !is_said) {
                    class.overrides.retain(|(switch, _)| *switch != asked.switch.0);
                    class.overrides.push((asked.switch.0, lanes.clone()));
                }
            }
        }
        // A class whose hosts all have classes of their own is empty.
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

    /// The lanes that an override means.
    fn lanes(&self, asked: &Override) -> Result<Vec<Slot>, CheckError> {
        if let Node::Switch(tor) = self.graph.node(asked.to)
            && self.hosts[tor.index()] == 0
        {
            return Err(CheckError::NoHosts(*asked));
        }
        let ports = self.graph.ports(self.graph.switch_node(asked.switch));
        if !ports.iter().any(|lane| self.graph.lane_to(*lane) == asked.next) {
            return Err(CheckError::NotNeighbours(*asked));
        }
        match self.graph.node(asked.next) {
            Node::Switch(next) => Ok(self.mesh.between(asked.switch, next)),
            Node::Host(_) if asked.next == asked.to => Ok(Vec::new()),
            Node::Host(_) => Err(CheckError::IntoHost(*asked)),
        }
    }
}

/// Why a network cannot be examined so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckError {
    /// Switches with too many neighbours.
    TooDense {
        /// Memory that the dependencies would take.
        bytes: u64,
    },
    /// The destination of an override is a switch without hosts.
    NoHosts(Override),
    /// An override over a link that does not exist.
    NotNeighbours(Override),
    /// An override into a host that is not the destination.
    IntoHost(Override),
    /// Two overrides for the same packets.
    Twice(Override),
    /// More cases than can be examined one by one.
    TooManyCases {
        /// How many.
        cases: u64,
        /// At most.
        max: u64,
    },
}

impl CheckError {
    /// In words, with the names of the network.
    pub fn describe(&self, graph: &Graph) -> String {
        let switch = |asked: &Override| graph.name(graph.switch_node(asked.switch)).to_owned();
        match self {
            Self::NoHosts(asked) => {
                format!("no host hangs on `{}`; name a host, or a switch that has some", graph.name(asked.to))
            }
            Self::NotNeighbours(asked) => {
                let switch = switch(asked);
                let ports = graph.ports(graph.switch_node(asked.switch)).iter();
                let mut around: Vec<&str> = ports.map(|lane| graph.name(graph.lane_to(*lane))).collect();
                around.dedup();
                let more = if around.len() > 8 { ", …" } else { "" };
                around.truncate(8);
                let around = around.join(", ");
                format!(
                    "no link joins `{switch}` and `{}`; its neighbours are {around}{more}",
                    graph.name(asked.next)
                )
            }
            Self::IntoHost(asked) => format!(
                "host `{}` passes nothing on; the next hop is a switch, or the destination itself",
                graph.name(asked.next)
            ),
            Self::Twice(asked) => format!(
                "two overrides say where `{}` sends packets to `{}`; leave one",
                switch(asked),
                graph.name(asked.to)
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
                "the dependencies would take {bytes} bytes, at most {DEPENDENCY_BYTES_MAX}: fewer neighbours for each switch"
            ),
            Self::NoHosts(asked) => write!(f, "no host hangs on {}", asked.to),
            Self::NotNeighbours(asked) => write!(f, "no link joins {} and {}", asked.switch, asked.next),
            Self::IntoHost(asked) => write!(f, "host {} passes nothing on", asked.next),
            Self::Twice(asked) => {
                write!(f, "two overrides say where {} sends packets to {}", asked.switch, asked.to)
            }
            Self::TooManyCases { cases, max } => {
                write!(f, "{cases} cases of failed links are too many: at most {max}, or fewer links at once")
            }
        }
    }
}

impl std::error::Error for CheckError {}
