//! What the two ends of a protected link say to each other. Values and bytes are in `wiremend_wire::link`.

pub use wiremend_wire::link::{Ack, Hello, HelloKind, Hole, Missing, Signal};
