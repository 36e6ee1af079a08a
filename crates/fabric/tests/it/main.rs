//! Topologies, routes, partitions, tables and lists as their users meet them.

mod corpus;
mod deadlock;
mod flow_lists;
mod graph;
mod partition;
mod routes;
mod sizes;
mod tiers;
