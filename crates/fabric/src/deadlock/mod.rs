//! Check of lossless networks for deadlocks: which buffers wait for which, and in which cycles.

mod check;
mod cycle;
mod dependencies;
mod failure_survey;
mod routing_loop;
mod shortest_paths;
mod switch_lanes;

pub use check::{
    CheckError, DEPENDENCY_BYTES_MAX, DeadlockCheck, DeadlockVerdict, Destination, LaneComponent, LaneCycle,
    LaneOrder, RouteOverride,
};
pub use failure_survey::{CASES_MAX, FailureCase, FailureCases, FailureSurvey, Reroute};
pub use routing_loop::{Alpha, RoutingLoop};
