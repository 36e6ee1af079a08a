//! Finds links that corrupt, and says why a link is slow (LG §3.6 and appendix C).
//!
//! A switch or a host reads the counters of its ports once a second. From reading to reading a [`Port`] makes of them how many
//! frames came and how many were bad, whatever registers do meanwhile: they run over, begin anew, lag behind. A
//! [`Detector`] judges these samples. No clock is read here and nothing is drawn: the same readings give the same verdicts.

mod counter;
mod detector;
mod explain;
mod port;
mod register;
mod snapshot;
mod source;
mod window;

pub use counter::{Counter, Counters};
pub use detector::{Detector, Estimate, Thresholds, Unusable, Verdict};
pub use explain::{Cause, End, Explanation, Growth, Reason, explain};
pub use port::{Counted, Port, Reading, Untold};
pub use register::{Pace, Step, step};
pub use snapshot::{Record, Snapshot, Unreadable};
pub use source::{Group, Missing, Sysfs, counter_of};
pub use window::{Sample, Window};
