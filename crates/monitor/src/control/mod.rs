//! The planner of a fabric: what should be done about each link that corrupts, so that every ToR keeps its ways.
//!
//! A [`Controller`] is told what ports see, and says what is new about what it advises. It has no clock and no connection. A link that
//! begins to corrupt goes through the fast checker: it is drained if every ToR keeps its share of ways to the top without it. When
//! one returns, the optimizer looks anew at those that had to stay (Zhuo et al., SIGCOMM 2017). Those that stay, and those
//! that are not out yet, are protected where relays are and limits allow (LG §3.6).
//!
//! A [`Chair`] joins it to Redis: of several planners one leads, and the next goes on from what stands there.

mod brake;
mod chair;
mod config;
mod controller;
mod topology;

pub use brake::Brake;
pub use chair::{Chair, ControlEvent};
pub use config::{ControlConfig, FabricSource};
pub use controller::{Controller, Limits, Overview};
pub use topology::{End, Topology, Unnamed};
