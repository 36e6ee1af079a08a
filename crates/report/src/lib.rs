//! Results for people and for programs.
//!
//! Programs get files: [`FlowWriter`] and [`SeriesWriter`] stream rows to Parquet or CSV, [`write_json`] writes
//! `summary.json`. Every file is a [`NewFile`]: it appears under its name when it is whole, and an error names the path.
//!
//! People get [`terminal::table`] and [`terminal::tail_plot`] on the terminal, and a [`Page`]: one HTML file with the
//! table, the [`sentences`] that it comes to, the [`plot`]s, the scenario and the command that runs it again. A [`Ladder`] draws what happened to one flow,
//! packet by packet, as SVG or as text; a [`PausePicture`] who paused whom. A [`ledger::Ledger`] sets claims beside what was measured.
//!
//! A [`Document`] is a page of any tables and drawings, and [`pods`] draws the links of a fabric that somebody should know of.
//!
//! Drawings follow the reader's light or dark setting, load nothing, and have the same bytes for the same results.

mod comparison;
mod document;
mod file;
mod grid;
pub mod human;
mod json;
pub mod lab;
mod ladder;
pub mod ledger;
mod markup;
mod page;
mod pauses;
pub mod plot;
pub mod pods;
mod reading;
mod rows;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod sample_trace;
mod shell;
mod table;
pub mod terminal;

pub use comparison::notes;
pub use document::{Document, Part};
pub use file::{NewFile, write_whole};
pub use grid::grid;
pub use json::{to_json, write_json};
pub use ladder::Ladder;
pub use page::Page;
pub use pauses::{PausePicture, PausedPort};
pub use reading::sentences;
pub use rows::{FlowWriter, Origin, SeriesWriter};
pub use shell::quoted;
pub use table::Format;
