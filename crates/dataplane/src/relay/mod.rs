//! The relay: a bump in the wire at each end of a link, which masks the link's losses from everything that crosses it.

mod bump;
mod counts;
mod queue;

pub use bump::{Bump, BumpConfig};
pub use counts::Counts;
