//! What a run is judged by.
//!
//! A simulation or a data plane produces a [`FlowRow`] for every flow that ended and a few [`Counters`] for the
//! whole run. A [`Collector`] takes the rows as they stream by, keeps nothing of them but two [`Histogram`]s and
//! some sums, and gives a [`VariantSummary`]: percentiles of completion time and slowdown, timeouts by
//! [cause](TimeoutCause), what recovery cost, and a [`RowDigest`] that two runs share exactly if they did the same.
//!
//! ```
//! use wiremend_measure::{Collector, Counters, FlowRow, Outcome};
//!
//! let mut collector = Collector::new();
//! collector.add(&FlowRow {
//!     flow: 0, src: 0, dst: 1, bytes: 1_000_000,
//!     start_ps: 0, end_ps: 90_000_000, delivered_ps: Some(88_000_000), ideal_ps: 85_000_000,
//!     outcome: Outcome::Finished,
//!     timeouts: 0, naks: 1, retransmitted_packets: 12, retransmitted_bytes: 12_288, tcp: None,
//! });
//! let counters = Counters { simulated_ps: 100_000_000, ..Counters::default() };
//! let summary = collector.summary("go-back-N", &counters);
//! assert_eq!(summary.goodput_bps, 80_000_000_000);
//! assert_eq!(summary.fct_ns.unwrap().max, 90_000.0);
//! ```
//!
//! Numbers that come from chance carry an [`interval`]: Wilson and Clopper–Pearson for proportions, the exact
//! Poisson interval for counts, Student's for means over seeds. What is too [`rare`] to be counted is estimated from weighed
//! episodes.
//!
//! [`SeriesRow`]s say how a quantity went over time; [`TraceRecord`]s say what happened to one flow, packet by
//! packet, and are what a ladder drawing is made of.
//!
//! The crate is pure: no clock, no I/O, nothing that differs from one machine to the next. Logarithms and the like
//! come from `libm` rather than from the platform, so that a summary has the same bytes everywhere.

#[macro_use]
mod counters;
#[macro_use]
mod keyed;

mod added;
mod collector;
mod congestion;
mod deadlock;
mod digest;
mod flow;
mod flow_control;
mod histogram;
pub mod interval;
mod jobs;
mod median;
mod protection;
pub mod rare;
mod series;
mod special;
mod summary;
mod timeout;
mod trace;
mod trims;

pub use added::{Added, Frames};
pub use collector::{Collector, Counters};
pub use congestion::Congestion;
pub use deadlock::{DeadlockFound, Deadlocks};
pub use digest::RowDigest;
pub use flow::{FlowRow, Outcome, TcpTrouble};
pub use flow_control::FlowControl;
pub use histogram::{CdfPoint, Histogram};
pub use interval::Interval;
pub use jobs::{GroupSummary, JobPlan, JobSummary};
pub use median::median;
pub use protection::{Delays, Protection};
pub use series::{Metric, SeriesRow};
pub use summary::{Dropped, Quantiles, Share, Summary, VariantSummary};
pub use timeout::{TimeoutCause, TimeoutCounts};
pub use trace::{Fate, PacketKind, TraceDrop, TracePacket, TraceRecord, TraceWhat};
pub use trims::Trims;
