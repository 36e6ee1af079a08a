//! Measurements of a run.
//!
//! A simulation or a data plane produces a [`FlowRow`] for every flow and [`Counters`] for the whole run. A
//! [`Collector`] aggregates the rows in two [`Histogram`]s and some sums, and returns a [`VariantSummary`]:
//! percentiles of completion time and slowdown, timeouts by [cause](TimeoutCause), the cost of recovery, and
//! a [`RowDigest`], which is equal for equal runs.
//!
//! ```
//! use wiremend_measure::{Collector, Counters, FlowRow, FlowOutcome};
//!
//! let mut collector = Collector::new();
//! collector.add(&FlowRow {
//!     flow: 0, src: 0, dst: 1, class: 0, connection: Some(1), entropy: None, bytes: 1_000_000,
//!     start_ps: 0, end_ps: 90_000_000, delivered_ps: Some(88_000_000), ideal_ps: 85_000_000,
//!     outcome: FlowOutcome::Finished,
//!     timeouts: 0, naks: 1, retransmitted_packets: 12, retransmitted_bytes: 12_288,
//!     failed_frames: None, tcp: None,
//! });
//! let counters = Counters { simulated_ps: 100_000_000, ..Counters::default() };
//! let summary = collector.summary("go-back-N", &counters);
//! assert_eq!(summary.whole_run_goodput_bps, 80_000_000_000);
//! assert_eq!(summary.fct_ns.unwrap().max, 90_000.0);
//! ```
//!
//! Flows of one run are not independent: one timeout delays many. So intervals of results are over
//! [seeds](SeedResult). For independent events there are [`interval`]s for proportions and counts. Events too [`rare`] to count are estimated from
//! weighted episodes.
//!
//! [`SeriesRow`]s are samples over time. [`TraceRecord`]s describe one flow packet by packet, for a ladder
//! diagram. A [`Breakdown`] of them says where its time went.
//!
//! The crate has no clock and no I/O. Logarithms come from `libm`, so that a summary has the same bytes on
//! every machine.

#[macro_use]
mod counters;
#[macro_use]
mod keyed;

mod breakdown;
mod collector;
mod congestion;
mod deadlock;
mod digest;
mod extra_frames;
mod failures;
mod flow;
mod flow_control;
mod flow_sample;
mod flow_search;
mod goodput;
mod headline;
mod histogram;
pub mod interval;
mod jobs;
mod lane;
mod median;
mod origin;
mod protection;
pub mod rare;
mod series;
mod size_bins;
mod skipped_time;
mod special;
mod summary;
mod terms;
mod timeout_cause;
mod trace;
mod trims;

pub use breakdown::{Breakdown, TimePart};
pub use collector::{Collector, Counters};
pub use congestion::Congestion;
pub use deadlock::{DeadlockCounts, DeadlockReport};
pub use digest::RowDigest;
pub use extra_frames::{ExtraFrames, FrameCount};
pub use failures::Failures;
pub use flow::{FlowOutcome, FlowRow, TcpStats};
pub use flow_control::FlowControl;
pub use flow_sample::FlowSample;
pub use flow_search::FlowSearch;
pub use goodput::{Goodput, GoodputMeter};
pub use headline::{Headline, MeanOverSeeds, SeedResult, over_seeds};
pub use histogram::{CdfPoint, Histogram};
pub use interval::Interval;
pub use jobs::{GroupSummary, JobPlan, JobSummary};
pub use lane::{LaneFlows, LaneRow};
pub use median::median;
pub use origin::{EffectiveScenario, InputFile, Origin};
pub use protection::{DelayHistogram, Protection};
pub use series::{Metric, SeriesRow};
pub use size_bins::SizeBin;
pub use skipped_time::SkippedTime;
pub use summary::{DropCounts, Percentile, Quantiles, Share, Summary, VariantSummary};
pub use terms::Terms;
pub use timeout_cause::{TimeoutCause, TimeoutCounts};
pub use trace::{
    Fate, FlowTrace, PacketKind, TraceDropReason, TraceEvent, TracePacket, TraceRecord, TracedPause,
};
pub use trims::Trims;
