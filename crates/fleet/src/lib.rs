//! Decides which corrupting links of a fabric to take out for repair and which to keep in service,
//! protected.
//!
//! A [`Trace`] lists when links start to corrupt frames and at which loss rate. It is drawn by a
//! [`TraceGenerator`] or read from a file. A [`Policy`] decides on each link: no action, take it out, take
//! it out if every ToR keeps enough paths to the top tier (CorrOpt, Zhuo et al., SIGCOMM 2017), protect it
//! (LinkGuardian, Joshi et al., SIGCOMM 2023), or both. [`run()`] simulates a trace on a
//! [`Tiers`](wiremend_fabric::tiers::Tiers) fabric and measures loss and capacity, weighted by time and by
//! event.
//!
//! ```
//! use wiremend_fabric::tiers::FabricShape;
//! use wiremend_fleet::{FleetSetup, Policy, ProtectionEffect, TimeWindow, TraceGenerator, run};
//! use wiremend_units::Rate;
//!
//! let tiers = FabricShape::Facebook { pods: 4, tors: 48, fabrics: 4, spines: 48 }.build(Rate::gbps(100))?;
//! let window = TimeWindow::days(0, 365);
//! let trace = TraceGenerator::default().trace(&tiers, window.end, 1);
//! let (policies, effect) = ([Policy::CORROPT, Policy::LINKGUARDIAN_CORROPT], ProtectionEffect::paper());
//! let setup = FleetSetup::new(&tiers, &trace, 0.75, &policies, &effect, window);
//! let [bare, protected] = &run(&setup)[..] else { unreachable!() };
//! assert!(protected.time.penalty < bare.time.penalty);
//! assert!(bare.least_paths_min >= 0.75);
//! # Ok::<(), wiremend_fabric::tiers::TiersError>(())
//! ```
//!
//! A link is checked twice. When it starts to corrupt, the *fast checker* takes it out if every ToR below
//! keeps its share of paths. When a repaired link returns, the [optimizer](optimize) selects exactly which
//! of the remaining corrupting links to take out. Racks without a common link are decided separately, so
//! the cost of a year depends on its events and not on the size of the fabric.
//!
//! [`plan`] gives the same answers for the current state of a fabric.
//!
//! All sums are integers, and each random draw belongs to a link, event or attempt, not to an order of
//! evaluation. The same trace gives the same numbers on every machine.

mod capacity;
mod compare;
mod metrics;
mod min_tree;
pub mod optimize;
mod parts;
mod penalty;
mod pipe_counts;
pub mod plan;
mod pod_capacity;
mod policy;
mod policy_run;
mod protection_effect;
mod protection_view;
mod random;
mod repair_model;
mod required;
mod run;
mod timeline;
mod trace;
mod trace_time;

pub use capacity::{Capacity, CapacityCount, Relaxation};
pub use compare::{GainInterval, compare_policies, distribution};
pub use metrics::{FabricSample, StateMeans};
pub use policy::{DisableRule, Objective, Policy, Protection};
pub use policy_run::RunCounters;
pub use protection_effect::{BadEffectTable, ProtectionEffect, ProtectionEffectRow};
pub use repair_model::RepairModel;
pub use required::RequiredCapacity;
pub use run::{FleetSetup, PolicyOutcome, run, run_while};
pub use trace::{
    BadTrace, CorruptionCause, CorruptionEvent, LOSS_BUCKETS, LossBucket, LossDistribution, Trace,
    TraceGenerator,
};
pub use trace_time::{TimeWindow, TraceSpan, TraceTime};
