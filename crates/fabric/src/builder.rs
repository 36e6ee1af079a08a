//! Construction and validation of a graph.

use std::collections::BTreeMap;
use std::fmt;

use wiremend_units::{HostId, LaneId, LinkId, NodeId, SwitchId};

use crate::graph::{Cable, Graph, Link, NamedLink, Node, SwitchRole};
use crate::names::Names;

/// Maximum number of nodes: 24 bits, like the host part of an address in 10.0.0.0/8.
pub const NODES_MAX: u64 = 1 << 24;
/// Maximum number of links: a lane number fits into 24 bits.
pub const LINKS_MAX: u64 = 1 << 23;
/// Maximum length of a node name.
pub const NAME_BYTES_MAX: usize = 64;

/// Builder of a graph. Hosts and switches are numbered separately, each in the order of addition.
#[derive(Debug, Default)]
pub struct GraphBuilder {
    host_names: Names,
    switch_names: Names,
    roles: Vec<SwitchRole>,
    links: Vec<(Node, Node, Cable)>,
}

impl GraphBuilder {
    /// Adds a host.
    pub fn host(&mut self, name: &str) -> Node {
        self.host_names.push(name);
        Node::Host(HostId(self.host_names.len() as u32 - 1))
    }

    /// Adds a switch.
    pub fn switch(&mut self, name: &str, role: SwitchRole) -> Node {
        self.switch_names.push(name);
        self.roles.push(role);
        Node::Switch(SwitchId(self.roles.len() as u32 - 1))
    }

    /// Adds a link between two nodes that were added before.
    pub fn link(&mut self, a: Node, b: Node, cable: Cable) {
        self.links.push((a, b, cable));
    }

    /// Creates a builder from named nodes and links.
    pub(crate) fn written<N: AsRef<str>>(
        hosts: &[N],
        switches: &[N],
        links: &[NamedLink<'_>],
    ) -> Result<Self, GraphError> {
        let mut builder = Self::default();
        let mut nodes = BTreeMap::new();
        let all = hosts
            .iter()
            .map(|name| (name, None))
            .chain(switches.iter().map(|name| (name, Some(SwitchRole::Other))));
        for (name, role) in all {
            let name = name.as_ref();
            check_name(name)?;
            let node = match role {
                None => builder.host(name),
                Some(role) => builder.switch(name, role),
            };
            if nodes.insert(name, node).is_some() {
                return Err(GraphError::SameName { name: name.into() });
            }
        }
        for (index, link) in links.iter().enumerate() {
            let find = |name: &str| {
                nodes
                    .get(name)
                    .copied()
                    .ok_or_else(|| GraphError::UnknownNode { link: index + 1, name: name.into() })
            };
            let (a, b) = (find(link.a)?, find(link.b)?);
            for (host, switch) in [(a, b), (b, a)] {
                if let (Node::Host(_), Node::Switch(switch)) = (host, switch) {
                    builder.roles[switch.index()] = SwitchRole::Edge;
                }
            }
            builder.link(a, b, link.cable);
        }
        Ok(builder)
    }

    /// Builds and validates the graph.
    pub fn build(self) -> Result<Graph, GraphError> {
        let hosts = self.host_names.len() as u32;
        check_count("nodes", self.host_names.len() + self.roles.len(), NODES_MAX)?;
        check_count("links", self.links.len(), LINKS_MAX)?;
        let mut names = self.host_names;
        names.append(&self.switch_names);
        check_names(&mut names)?;
        let node = |end: &Node| match *end {
            Node::Host(host) => NodeId(host.0),
            Node::Switch(switch) => NodeId(hosts + switch.0),
        };
        // The host's end comes first, so that the even lane of each access link leads into the network.
        let ordered = |a: NodeId, b: NodeId| if b.0 < hosts && a.0 >= hosts { (b, a) } else { (a, b) };
        let mut links = Vec::with_capacity(self.links.len());
        for (a, b, cable) in &self.links {
            let (a, b) = ordered(node(a), node(b));
            assert!(
                a.index() < names.len() && b.index() < names.len(),
                "a link to a node of another builder"
            );
            links.push(Link { a, b, rate: cable.rate, delay: cable.delay });
        }
        let (ports, port_starts) = ports_of(&links, names.len());
        let graph = Graph { hosts, roles: self.roles, links, ports, port_starts, names };
        check_links(&graph)?;
        check_connected(&graph)?;
        Ok(graph)
    }
}

/// Sorts both lanes of each link by the node where they start.
fn ports_of(links: &[Link], nodes: usize) -> (Vec<LaneId>, Vec<u32>) {
    let mut starts = vec![0_u32; nodes + 1];
    for link in links {
        starts[link.a.index() + 1] += 1;
        starts[link.b.index() + 1] += 1;
    }
    for node in 0..nodes {
        starts[node + 1] += starts[node];
    }
    let mut next = starts.clone();
    let mut ports = vec![LaneId(0); links.len() * 2];
    for (index, link) in links.iter().enumerate() {
        let id = LinkId(index as u32);
        for (node, lane) in [(link.a, id.forward()), (link.b, id.backward())] {
            ports[next[node.index()] as usize] = lane;
            next[node.index()] += 1;
        }
    }
    (ports, starts)
}

fn check_count(what: &'static str, count: usize, max: u64) -> Result<(), GraphError> {
    let count = count as u64;
    if count > max { Err(GraphError::TooMany { what, count, max }) } else { Ok(()) }
}

fn check_names(names: &mut Names) -> Result<(), GraphError> {
    (0..names.len()).try_for_each(|index| check_name(names.get(index)))?;
    match names.sort() {
        Some(name) => Err(GraphError::SameName { name: name.into() }),
        None => Ok(()),
    }
}

fn check_name(name: &str) -> Result<(), GraphError> {
    let plain = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/'));
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !plain {
        return Err(GraphError::BadName { name: name.chars().take(NAME_BYTES_MAX).collect() });
    }
    Ok(())
}

fn check_links(graph: &Graph) -> Result<(), GraphError> {
    if graph.hosts < 2 {
        return Err(GraphError::TooFewHosts { hosts: graph.hosts });
    }
    let name = |node| graph.name(node).to_owned();
    for link in &graph.links {
        if link.a == link.b {
            return Err(GraphError::SelfLoop { node: name(link.a) });
        }
        if link.b.0 < graph.hosts {
            return Err(GraphError::HostToHost { a: name(link.a), b: name(link.b) });
        }
    }
    for host in graph.nodes().take(graph.hosts as usize) {
        let links = graph.ports(host).len();
        if links != 1 {
            return Err(GraphError::HostLinks { host: name(host), links });
        }
    }
    Ok(())
}

/// Checks that all hosts are reachable from the first. Unreachable switches are allowed.
fn check_connected(graph: &Graph) -> Result<(), GraphError> {
    let mut reached = vec![false; graph.node_count() as usize];
    let mut open = vec![NodeId(0)];
    reached[0] = true;
    while let Some(node) = open.pop() {
        for lane in graph.ports(node) {
            let to = graph.lane_to(*lane);
            if !std::mem::replace(&mut reached[to.index()], true) {
                open.push(to);
            }
        }
    }
    match reached[..graph.hosts as usize].iter().position(|reached| !reached) {
        None => Ok(()),
        Some(lost) => Err(GraphError::Disconnected {
            from: graph.name(NodeId(0)).into(),
            to: graph.name(NodeId(lost as u32)).into(),
        }),
    }
}

/// Why a description is not a valid network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GraphError {
    /// Too many nodes or links.
    TooMany {
        /// `nodes` or `links`.
        what: &'static str,
        /// Number in the description.
        count: u64,
        /// Maximum: [`NODES_MAX`], [`LINKS_MAX`].
        max: u64,
    },
    /// A parameter of a topology is out of range.
    OutOfRange {
        /// The parameter.
        what: &'static str,
        /// Its value.
        value: u64,
        /// Allowed values.
        allowed: &'static str,
    },
    /// Fewer than two hosts.
    TooFewHosts {
        /// Number in the description.
        hosts: u32,
    },
    /// A name with characters that lane names or files cannot contain.
    BadName {
        /// The name, shortened.
        name: String,
    },
    /// Two nodes have the same name.
    SameName {
        /// The name.
        name: String,
    },
    /// A link to an unknown node.
    UnknownNode {
        /// Position of the link, from 1.
        link: usize,
        /// Name of the node.
        name: String,
    },
    /// A link from a node to itself.
    SelfLoop {
        /// Name of the node.
        node: String,
    },
    /// Two hosts without a switch between them.
    HostToHost {
        /// First host.
        a: String,
        /// Second host.
        b: String,
    },
    /// A host with no link or several links.
    HostLinks {
        /// Name of the host.
        host: String,
        /// Number of its links.
        links: usize,
    },
    /// Two hosts that cannot reach each other.
    Disconnected {
        /// First host.
        from: String,
        /// Second host.
        to: String,
    },
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany { what, count, max } => write!(f, "{count} {what} are too many: at most {max}"),
            Self::OutOfRange { what, value, allowed } => write!(f, "{what} {value} is not {allowed}"),
            Self::TooFewHosts { hosts } => write!(f, "a network of {hosts} hosts is too small: at least 2"),
            Self::BadName { name } => write!(
                f,
                "`{}` is not a node's name: 1 to {NAME_BYTES_MAX} letters, digits or `-_.:/`",
                name.escape_debug()
            ),
            Self::SameName { name } => write!(f, "two nodes are called `{name}`: names are unique"),
            Self::UnknownNode { link, name } => {
                write!(
                    f,
                    "link {link} ends at `{}`, which is neither a host nor a switch",
                    name.escape_debug()
                )
            }
            Self::SelfLoop { node } => write!(f, "a link leads from `{node}` to itself: ends must differ"),
            Self::HostToHost { a, b } => {
                write!(f, "a link joins the hosts `{a}` and `{b}`: a host's link leads to a switch")
            }
            Self::HostLinks { host, links } => {
                write!(f, "host `{host}` has {links} links: it needs exactly one")
            }
            Self::Disconnected { from, to } => {
                write!(f, "host `{to}` cannot be reached from host `{from}`: all hosts must be connected")
            }
        }
    }
}

impl std::error::Error for GraphError {}
