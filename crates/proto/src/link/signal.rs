//! Signals between the two ends of a protected link. `wiremend_wire::link` has values and bytes.

pub use wiremend_wire::link::{Ack, Hello, HelloKind, Hole, LinkHeader, Missing};
