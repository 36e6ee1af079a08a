//! Plots as SVG, drawn here so that they need nothing but a browser.
//!
//! A [`Plot`] is two [`Axis`]es and some [`Curve`]s; [`Bars`] are counts in parts. Each curve has its own dash pattern
//! beside its colour, so that a print in grey or a colour-blind eye still tells them apart. Colours are CSS variables
//! that follow the reader's light or dark setting.
//!
//! [`figures`] are the plots of a report; the parts are public for what will be plotted next.

mod axis;
mod bars;
mod curves;
pub(crate) mod drawing;
pub mod figures;
pub(crate) mod style;
mod ticks;

pub(crate) use axis::fitted_ticks;
pub use axis::{Axis, Scale, Unit};
pub use bars::{Bar, Bars};
pub use curves::{Curve, Line, Plot};
pub use style::standalone;
