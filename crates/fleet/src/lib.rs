//! Which corrupting links to take out for repair, which to keep, protected, so that capacity never breaks.
//!
//! Links begin to corrupt frames: a [`Trace`] says which, when and how much, drawn by a [`Generator`] or read from a
//! file. A [`Policy`] decides what is done about each: nothing, take it out, take it out if every rack keeps enough ways to the
//! top (CorrOpt, Zhuo et al., SIGCOMM 2017), protect it (LinkGuardian, Joshi et al., SIGCOMM 2023), or both. [`run()`] plays a
//! year of that on a [`Tiers`](wiremend_fabric::tiers::Tiers) and measures loss and capacity, weighed by time and by event.
//!
//! ```
//! use wiremend_fabric::tiers::Shape;
//! use wiremend_fleet::{Effect, Generator, Policy, Setting, Window, run};
//! use wiremend_units::Rate;
//!
//! let tiers = Shape::Facebook { pods: 4, tors: 48, fabrics: 4, spines: 48 }.build(Rate::gbps(100))?;
//! let window = Window::days(0, 365);
//! let trace = Generator::default().trace(&tiers, window.end, 1);
//! let (policies, effect) = ([Policy::CORROPT, Policy::LINKGUARDIAN_CORROPT], Effect::paper());
//! let setting = Setting::new(&tiers, &trace, 0.75, &policies, &effect, window);
//! let [bare, protected] = &run(&setting)[..] else { unreachable!() };
//! assert!(protected.time.penalty < bare.time.penalty);
//! assert!(bare.least_paths_min >= 0.75);
//! # Ok::<(), wiremend_fabric::tiers::TiersError>(())
//! ```
//!
//! A link is judged twice. On arrival, the *fast checker* asks whether every ToR below keeps its share of ways without it. When a
//! repaired link returns, the [optimizer](optimize) asks which of those that had to stay can go now, and answers exactly. Racks that
//! share no link decide apart, so that a year costs what happens in it and not what the fabric has.
//!
//! [`plan`] answers the same questions for the state that a fabric is in now.
//!
//! Everything that is summed is an integer, and draws belong to what they are for (link, event, attempt), not to an order: the same
//! trace gives the same numbers on every machine.

mod capacity;
mod changes;
mod course;
mod draws;
mod effect;
mod lowest;
mod metrics;
mod moment;
pub mod optimize;
mod penalty;
mod pipes;
pub mod plan;
mod policy;
mod repair;
mod run;
mod trace;
mod view;

pub use changes::{Change, compare, distribution};
pub use course::Counters;
pub use effect::{BadTable, Effect, EffectRow};
pub use metrics::{Means, Sample};
pub use moment::{Moment, Window};
pub use policy::{Policy, Protection, Repairing, Worth};
pub use repair::Repair;
pub use run::{Outcome, Setting, run, run_while};
pub use trace::{BUCKETS, BadTrace, Bucket, Cause, Corruption, Generator, Inside, Trace};
