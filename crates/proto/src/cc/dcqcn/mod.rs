//! DCQCN (Zhu et al., SIGCOMM 2015): switches mark, receivers notify, senders reduce their rate.
//!
//! ```text
//!   sender: Dcqcn ──► data ──► switch marks (RED) ──► receiver: CnpLimiter
//!        ▲ rate down, then up again                        │ at most one in an interval
//!        └────────────────────── CNP ◄─────────────────────┘
//! ```
//!
//! [`Dcqcn`] is the paper's reaction point and [`CnpLimiter`] its notification point; the switch model marks
//! packets. Timers need no events: their effects are visible only at the next transmission or notification,
//! and are computed then.

mod cnp_limiter;
mod parameters;
mod reaction_point;

pub use cnp_limiter::CnpLimiter;
pub use parameters::{Gain, Parameters};
pub use reaction_point::Dcqcn;
