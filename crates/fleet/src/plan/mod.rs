//! Plans for the corrupting links of a fabric: which links to drain now, which must stay, what can be
//! drained after each repair, and the cost of waiting.
//!
//! A [`FabricState`] contains the links that are down, being drained or corrupting, and ToRs and pods with
//! their own constraint. A [`DrainPlanner`] plans from there. It never advises a drain that leaves a ToR, pod
//! or domain less capacity than its share. If one already has less, no link that it needs is drained.

mod cost;
mod drain_planner;
mod fabric_state;
mod repair_order;
mod scope_text;
mod state_reader;
mod timestamp;

pub use cost::{CorruptionCost, LinkLoad};
pub use drain_planner::{
    DrainGroup, DrainPlan, DrainPlanner, DrainRefusal, KeptLink, RepairStep, ScopeCapacity,
};
pub use fabric_state::{BadState, CorruptingLink, FabricState};
pub use timestamp::{format_timestamp, parse_timestamp};
