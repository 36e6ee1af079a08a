//! Static inputs of a simulation: the network, its routes, its partition for several threads, and flow
//! sizes.
//!
//! A [`Graph`] consists of hosts and switches connected by links. It is built from a [`Topology`] (pair,
//! chain, fat-tree, leaf–spine) or from a list of links ([`Graph::from_links`]). Each element has a number
//! and a name: node `agg0-1`, link `edge0-0-agg0-1`, lane (one direction of a link) `agg0-1>edge0-0`.
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
//! [`Routes`] contains all shortest paths from every switch to every host; each switch chooses among equal
//! ones. A [`Partition`] cuts the graph at long links, so that its components can be simulated in parallel.
//!
//! [`deadlock`] checks whether a network with PFC can deadlock: which buffers wait for which on these
//! routes, with failed links, or with a wrong forwarding entry.
//!
//! [`tiers`] is a fabric of up to a hundred thousand links in tiers, from a shape or a file, with the number of
//! paths of each rack to the top tier.
//!
//! A [`SizeTable`] is a distribution of flow sizes, published or user-defined. [`flow_list`] reads flows
//! from a file.

mod assign;
mod builder;
pub mod csv_line;
pub mod deadlock;
pub mod flow_list;
mod graph;
mod names;
mod partition;
mod routes;
mod size_table;
pub mod tiers;
mod topology;
mod workloads;

pub use builder::{GraphBuilder, GraphError, LINKS_MAX, NAME_BYTES_MAX, NODES_MAX};
pub use graph::{Cable, Graph, Link, LinkRole, NamedLink, Node, SwitchRole};
pub use partition::Partition;
pub use routes::Routes;
pub use size_table::{BadSizeTable, POINTS_MAX, SizeFault, SizeGroup, SizePoint, SizeTable, TablePosition};
pub use topology::{Cables, NetworkSize, Topology};
pub use workloads::{WORKLOADS, Workload};

/// Maximum message of a reliable connection, 2 GiB: no flow is larger.
pub const MESSAGE_BYTES_MAX: u64 = 1 << 31;
