//! Integration tests of topologies, routes, partitions, size tables and flow lists.

mod corpus;
mod deadlock;
mod flow_lists;
mod graph;
mod partition;
mod routes;
mod sizes;
mod tiers;
