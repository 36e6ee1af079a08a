//! The planner of a fabric: advises which corrupting links to drain or protect, so that every ToR keeps
//! enough paths.
//!
//! An [`Advisor`] receives the observations of all ports and returns changed advice. It has no clock and no
//! connection. When a link starts to corrupt, the fast checker drains it if every ToR keeps its share of
//! paths to the top tier. When a link returns, the optimizer examines the links that had to stay (Zhuo et
//! al., SIGCOMM 2017). Corrupting links in service are protected where relays and limits allow it (LG
//! §3.6).
//!
//! A [`PlannerLeader`] connects it to Redis: one of several planners is the leader, and its successor
//! continues from the stored advice.

mod advisor;
mod config;
mod failure_brake;
mod holds;
mod leader;
mod named_fabric;

pub use advisor::{Advisor, FabricSummary, PlannerLimits};
pub use config::{FabricSource, PlannerConfig};
pub use failure_brake::{BrakeChange, FailureBrake};
pub use holds::LinkHold;
pub use leader::{AdviceChange, PlannerEvent, PlannerLeader};
pub use named_fabric::{LinkEnd, NamedFabric, UnknownName};
