//! What to do about the links that corrupt now: may this one be drained, which set should be, in which order as repairs return, and what
//! waiting costs.
//!
//! A [`FabricState`] says how a fabric is: what is down, what is being drained, what corrupts, which ToRs matter more. A [`Planner`] answers from
//! there. It never advises a set that leaves a ToR fewer ways than its share; where a ToR has fewer already, nothing that it needs is
//! taken.

mod cost;
mod planner;
mod state;
mod timestamp;

pub use cost::{Cost, Load};
pub use planner::{Advice, Broken, Drain, Kept, Planner, Refusal, Step};
pub use state::{BadState, Corrupting, FabricState};
pub use timestamp::{parse_timestamp, show_timestamp};
