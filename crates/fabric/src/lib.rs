//! What is fixed before the first packet leaves: the network, the ways through it, how it is cut for several
//! threads, and how much its hosts have to send.
//!
//! A [`Graph`] is hosts and switches joined by links. It comes from a [`Topology`] (pair, chain, fat-tree,
//! leaf–spine) or from links written down one by one ([`Graph::from_links`]). Everything has a number, for arrays,
//! and a name, for people: node `agg0-1`, link `edge0-0-agg0-1`, lane (one direction of a link) `agg0-1>edge0-0`.
//!
//! ```
//! use wiremend_fabric::{Cable, Cables, Routes, Topology};
//! use wiremend_units::{HostId, Rate, Span};
//!
//! let cable = Cable { rate: Rate::gbps(100), delay: Span::from_us(1) };
//! let graph = Topology::FatTree { k: 4 }.build(Cables { host: cable, switch: cable })?;
//! let routes = Routes::shortest(&graph);
//! let path = routes.path(&graph, HostId(0), HostId(15), |_switch, lanes| lanes[0]);
//! let names: Vec<String> = path.into_iter().map(|lane| graph.lane_name(lane)).collect();
//! assert_eq!(names[..3], ["h0>edge0-0", "edge0-0>agg0-0", "agg0-0>core0"]);
//! # Ok::<(), wiremend_fabric::GraphError>(())
//! ```
//!
//! [`Routes`] knows all shortest ways from every switch to every host; which of several a packet takes is the
//! switch's choice. [`Plan`] cuts the graph where links are long, so that the pieces can be simulated side by side.
//!
//! [`deadlock`] asks whether a network that pauses instead of dropping can lock up: which buffers wait for which on these
//! routes, with a link down, or with a wrong entry in a forwarding table.
//!
//! [`tiers`] is a fabric for those who take links out of it: up to a hundred thousand links, from a shape or a file, and the ways
//! that each rack has to the top.
//!
//! [`SizeTable`] is a distribution of flow sizes, one of the published ones or one's own; [`flow_list`] reads flows
//! from a file.

mod assign;
mod builder;
pub mod deadlock;
pub mod flow_list;
mod graph;
mod names;
mod partition;
mod routes;
pub mod row;
mod size_table;
pub mod tiers;
mod topology;
mod workloads;

pub use builder::{Builder, GraphError, LINKS_MAX, NAME_BYTES_MAX, NODES_MAX};
pub use graph::{Cable, Graph, Link, LinkRole, NamedLink, Node, SwitchRole};
pub use partition::Plan;
pub use routes::Routes;
pub use size_table::{BadSizeTable, POINTS_MAX, Place, Point, SizeFault, SizeGroup, SizeTable};
pub use topology::{Cables, Size, Topology};
pub use workloads::{WORKLOADS, Workload};

/// The longest message of a reliable connection, 2 GiB: no flow is larger.
pub const MESSAGE_BYTES_MAX: u64 = 1 << 31;
