//! DCQCN (Zhu et al., SIGCOMM 2015): switches mark, receivers notify, senders slow down.
//!
//! ```text
//!   sender: Dcqcn ──► data ──► switch marks (RED) ──► receiver: Notification
//!        ▲ rate down, then up again                        │ at most one in an interval
//!        └────────────────────── CNP ◄─────────────────────┘
//! ```
//!
//! [`Dcqcn`] is the paper's reaction point, [`Notification`] its notification point; the marks are for a switch to make.
//! Timers need no events: what they do shows only when the next packet leaves or the next notification comes, and is made
//! up for then.

mod notification;
mod parameters;
mod reaction;

pub use notification::Notification;
pub use parameters::{Gain, Parameters};
pub use reaction::Dcqcn;
