//! Regular topologies.

use crate::builder::{GraphBuilder, GraphError, LINKS_MAX, NODES_MAX};
use crate::graph::{Cable, Graph, Node, SwitchRole};

/// A regular topology. Hosts are named `h0`, `h1`, ….
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topology {
    /// Two hosts on the switch `tor`.
    Pair,
    /// Switches `s0`, `s1`, … in a row, with the same number of hosts on the first and the last.
    Chain {
        /// Number of switches, at least 1.
        switches: u32,
        /// Number of hosts on each end, at least 1; those on `s0` have the lower numbers.
        hosts_per_end: u32,
    },
    /// The k-ary fat-tree of Al-Fares et al. (SIGCOMM 2008): k pods of k/2 edge and k/2 aggregation switches, k²/4
    /// cores, k³/4 hosts numbered pod by pod. Aggregation switch i of each pod reaches cores i·k/2 to
    /// (i + 1)·k/2 − 1.
    FatTree {
        /// Number of ports of each switch, an even number from 2 to 128.
        k: u32,
    },
    /// Every leaf connected to every spine, hosts on the leaves.
    LeafSpine {
        /// Number of switches `leaf0`, `leaf1`, …, at least 1.
        leaves: u32,
        /// Number of switches `spine0`, `spine1`, …, at least 1.
        spines: u32,
        /// Number of hosts on each leaf, at least 1.
        hosts_per_leaf: u32,
    },
    /// Two data centres, each a leaf–spine network. The numbers of the second one continue those of the
    /// first. Spine i of the first is connected to spine i of the second.
    CrossDc {
        /// Number of leaves of each data centre, at least 1.
        leaves: u32,
        /// Number of spines of each data centre, at least 1.
        spines: u32,
        /// Number of hosts on each leaf, at least 1.
        hosts_per_leaf: u32,
        /// Number of long links between spines, from 1 to the number of spines.
        long_links: u32,
        /// Rate and delay of the long links.
        long: Cable,
    },
}

/// Rates and delays of the links of a topology.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cables {
    /// Links between a host and its switch.
    pub host: Cable,
    /// Links between switches.
    pub switch: Cable,
}

/// Size of a network, computed before it is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetworkSize {
    /// Number of hosts.
    pub hosts: u64,
    /// Number of switches.
    pub switches: u64,
    /// Number of switches with hosts.
    pub tors: u64,
    /// Number of links.
    pub links: u64,
}

impl NetworkSize {
    /// Returns the memory of [`Routes`](crate::Routes), the largest part of a network.
    pub fn route_bytes(&self) -> u64 {
        self.switches.saturating_mul(self.tors).saturating_mul(4)
    }
}

impl Topology {
    /// Returns the size, saturated at 64 bits, even for parameters that [`build`](Self::build) rejects.
    pub fn size(&self) -> NetworkSize {
        let times = |factors: &[u32]| factors.iter().fold(1_u64, |all, f| all.saturating_mul(u64::from(*f)));
        match *self {
            Self::Pair => NetworkSize { hosts: 2, switches: 1, tors: 1, links: 2 },
            Self::Chain { switches, hosts_per_end } => {
                let (hosts, switches) = (times(&[2, hosts_per_end]), u64::from(switches));
                NetworkSize {
                    hosts,
                    switches,
                    tors: switches.min(2),
                    links: hosts + switches.saturating_sub(1),
                }
            }
            Self::FatTree { k } => {
                let half = k / 2;
                let (hosts, cores) = (times(&[k, half, half]), times(&[half, half]));
                let switches = times(&[k, k]).saturating_add(cores);
                NetworkSize { hosts, switches, tors: times(&[k, half]), links: hosts.saturating_mul(3) }
            }
            Self::LeafSpine { leaves, spines, hosts_per_leaf } => {
                let hosts = times(&[leaves, hosts_per_leaf]);
                let links = hosts.saturating_add(times(&[leaves, spines]));
                NetworkSize {
                    hosts,
                    switches: u64::from(leaves) + u64::from(spines),
                    tors: leaves.into(),
                    links,
                }
            }
            Self::CrossDc { leaves, spines, hosts_per_leaf, long_links, .. } => {
                let NetworkSize { hosts, switches, tors, links } =
                    Self::LeafSpine { leaves, spines, hosts_per_leaf }.size();
                let links = links.saturating_mul(2).saturating_add(long_links.into());
                NetworkSize { hosts: hosts.saturating_mul(2), switches: switches * 2, tors: tors * 2, links }
            }
        }
    }

    /// Builds the network.
    pub fn build(&self, cables: Cables) -> Result<Graph, GraphError> {
        self.check()?;
        let mut plot = Plot { builder: GraphBuilder::default(), cables, hosts: 0, leaves: 0, spines: 0 };
        match *self {
            Self::Pair => {
                let tor = plot.builder.switch("tor", SwitchRole::Edge);
                plot.add_hosts(2, tor);
            }
            Self::Chain { switches, hosts_per_end } => plot.add_chain(switches, hosts_per_end),
            Self::FatTree { k } => plot.add_fat_tree(k),
            Self::LeafSpine { leaves, spines, hosts_per_leaf } => {
                plot.add_leaf_spine(leaves, spines, hosts_per_leaf);
            }
            Self::CrossDc { leaves, spines, hosts_per_leaf, long_links, long } => {
                let near = plot.add_leaf_spine(leaves, spines, hosts_per_leaf);
                let far = plot.add_leaf_spine(leaves, spines, hosts_per_leaf);
                for (near, far) in near.iter().zip(&far).take(long_links as usize) {
                    plot.builder.link(*near, *far, long);
                }
            }
        }
        plot.builder.build()
    }

    /// Rejects parameters out of range and sizes out of bounds before memory is allocated.
    fn check(&self) -> Result<(), GraphError> {
        let refuse =
            |what, value: u32, allowed| Err(GraphError::OutOfRange { what, value: value.into(), allowed });
        let at_least_one = |what, value| if value == 0 { refuse(what, value, "at least 1") } else { Ok(()) };
        match *self {
            Self::Pair => {}
            Self::Chain { switches, hosts_per_end } => {
                at_least_one("number of switches in a chain", switches)?;
                at_least_one("number of hosts on each end of a chain", hosts_per_end)?;
            }
            Self::FatTree { k } => {
                if !(2..=128).contains(&k) || k % 2 == 1 {
                    return refuse("fat-tree k", k, "an even number from 2 to 128");
                }
            }
            Self::CrossDc { spines, long_links, .. } if long_links == 0 || long_links > spines => {
                return refuse("number of long links", long_links, "from 1 to the number of spines");
            }
            Self::LeafSpine { leaves, spines, hosts_per_leaf }
            | Self::CrossDc { leaves, spines, hosts_per_leaf, .. } => {
                at_least_one("number of leaves", leaves)?;
                at_least_one("number of spines", spines)?;
                at_least_one("number of hosts on each leaf", hosts_per_leaf)?;
            }
        }
        let size = self.size();
        let nodes = size.hosts.saturating_add(size.switches);
        for (what, count, max) in [("nodes", nodes, NODES_MAX), ("links", size.links, LINKS_MAX)] {
            if count > max {
                return Err(GraphError::TooMany { what, count, max });
            }
        }
        Ok(())
    }
}

/// A topology under construction.
struct Plot {
    builder: GraphBuilder,
    cables: Cables,
    hosts: u32,
    leaves: u32,
    spines: u32,
}

impl Plot {
    fn add_hosts(&mut self, count: u32, tor: Node) {
        for _ in 0..count {
            let host = self.builder.host(&format!("h{}", self.hosts));
            self.builder.link(host, tor, self.cables.host);
            self.hosts += 1;
        }
    }

    /// Adds switches of one role with their names.
    fn add_switches(&mut self, count: u32, role: SwitchRole, name: impl Fn(u32) -> String) -> Vec<Node> {
        (0..count).map(|index| self.builder.switch(&name(index), role)).collect()
    }

    fn add_chain(&mut self, switches: u32, hosts_per_end: u32) {
        let last = switches - 1;
        let role = |index| if index == 0 || index == last { SwitchRole::Edge } else { SwitchRole::Other };
        let name = |index: u32| format!("s{index}");
        let row: Vec<Node> =
            (0..switches).map(|index| self.builder.switch(&name(index), role(index))).collect();
        self.add_hosts(hosts_per_end, row[0]);
        self.add_hosts(hosts_per_end, row[last as usize]);
        for pair in row.windows(2) {
            self.builder.link(pair[0], pair[1], self.cables.switch);
        }
    }

    /// Adds leaves and spines with the next numbers. Returns the spines.
    fn add_leaf_spine(&mut self, leaves: u32, spines: u32, hosts_per_leaf: u32) -> Vec<Node> {
        let [first_leaf, first_spine] = [self.leaves, self.spines];
        self.leaves += leaves;
        self.spines += spines;
        let leaves =
            self.add_switches(leaves, SwitchRole::Edge, |index| format!("leaf{}", first_leaf + index));
        let spines =
            self.add_switches(spines, SwitchRole::Core, |index| format!("spine{}", first_spine + index));
        for leaf in &leaves {
            self.add_hosts(hosts_per_leaf, *leaf);
        }
        for leaf in &leaves {
            for spine in &spines {
                self.builder.link(*leaf, *spine, self.cables.switch);
            }
        }
        spines
    }

    fn add_fat_tree(&mut self, k: u32) {
        let half = (k / 2) as usize;
        let pod_of = |index: u32| (index / (k / 2), index % (k / 2));
        let in_pod = |tier: &'static str| {
            move |index| {
                let (pod, place) = pod_of(index);
                format!("{tier}{pod}-{place}")
            }
        };
        let edges = self.add_switches(k * k / 2, SwitchRole::Edge, in_pod("edge"));
        let aggregations = self.add_switches(k * k / 2, SwitchRole::Aggregation, in_pod("agg"));
        let cores = self.add_switches(k * k / 4, SwitchRole::Core, |index| format!("core{index}"));
        for edge in &edges {
            self.add_hosts(k / 2, *edge);
        }
        for (edges, aggregations) in edges.chunks(half).zip(aggregations.chunks(half)) {
            for edge in edges {
                for aggregation in aggregations {
                    self.builder.link(*edge, *aggregation, self.cables.switch);
                }
            }
        }
        for pod in aggregations.chunks(half) {
            for (aggregation, cores) in pod.iter().zip(cores.chunks(half)) {
                for core in cores {
                    self.builder.link(*aggregation, *core, self.cables.switch);
                }
            }
        }
    }
}
