//! Integration tests of the monitor: ports read once a second, links with a known cause, a real Redis.

mod corpus;
mod counter_file;
mod daemons;
mod detector;
mod explain;
mod hostile_node;
mod metrics;
mod operators;
mod planner;
mod port_monitor;
mod recording;
mod redis_failures;
mod sonic;
mod store;
mod sysfs;
mod test_redis;
mod tls;
mod two_nodes;
