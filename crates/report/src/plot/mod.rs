//! Plots as SVG without external programs.
//!
//! A [`Plot`] has two [`Axis`]es and some [`Curve`]s; [`Bars`] show counts in parts. Each curve has its own
//! dash pattern besides its colour, so that curves differ in greyscale and for colour-blind readers. Colours
//! are CSS variables that follow the reader's light or dark setting.
//!
//! [`Multiples`] are panels on equal axes. [`figures`] are the plots of a report.

mod axis;
mod bars;
mod curves;
pub(crate) mod drawing;
pub mod figures;
mod multiples;
pub(crate) mod style;
mod ticks;
mod width;

pub(crate) use axis::fitted_ticks;
pub use axis::{Axis, Scale, Unit};
pub use bars::{Bar, Bars};
pub use curves::{Curve, Line, Plot};
pub use multiples::{Measured, Multiples, Panel};
pub use style::{standalone, style};
pub use width::{Drawing, Width};
