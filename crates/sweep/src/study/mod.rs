//! The study file: a scenario, and the axes over which it is run.

mod axis;
mod condition;
mod inline;
mod text;

pub use axis::{Axis, AxisValue, Choice, PlacedOverride, Spacing};
pub use condition::Condition;
pub use text::{Output, ScenarioSource, Seeds, Study};
pub(crate) use text::{SEED, VARIANT};
