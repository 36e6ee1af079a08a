//! Reports of results, for readers and for programs.
//!
//! Files for programs: [`FlowWriter`], [`LaneWriter`] and [`SeriesWriter`] stream rows to Parquet or CSV, [`write_json`]
//! writes `summary.json`. A [`Record`] has the columns of such a row, for tables elsewhere. Every file is an
//! [`AtomicFile`]: it appears under its name when it is complete. Every error names the path.
//!
//! Reports for readers: [`terminal::table`] and [`terminal::tail_plot`] on the terminal, and a [`Page`]: one
//! HTML file with the table, the [`sentences()`] that summarise it, the [`plot`]s, the scenario and the command
//! that repeats the run. A [`Ladder`] draws one flow packet by packet, as SVG or as text. A [`PauseTimeline`]
//! draws which ports were paused. A [`ledger::Ledger`] compares claims with measurements.
//!
//! A [`Document`] is a page of tables and drawings, and [`pods`] draws the affected links of a fabric.
//!
//! Drawings follow the reader's light or dark setting, load nothing, and are byte-identical for equal
//! results.

mod atomic_file;
mod breakdown;
mod column_buffer;
mod comparison;
mod contents;
mod difference;
mod document;
mod flow_series_table;
mod flow_table;
mod headline_cell;
pub mod human;
mod json;
pub mod lab;
mod ladder;
mod lane_table;
pub mod ledger;
mod link_costs;
mod markup;
mod page;
mod pause_timeline;
mod perfetto;
pub mod plot;
pub mod pods;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod sample_trace;
mod sentences;
mod series_table;
mod shell;
mod sketch;
mod stored_tables;
mod table;
pub mod terminal;
mod text_table;
mod tidy;
mod trace_json;
mod traffic;

pub use atomic_file::{AtomicFile, write_atomic};
pub use breakdown::breakdown_text;
pub use comparison::{deadlock, interval_note, notes};
pub use contents::{Contents, Need};
pub use document::{Document, DocumentPart};
pub use flow_series_table::{FlowSampleRecord, FlowSeriesWriter};
pub use flow_table::{FlowLanes, FlowRecord, FlowWriter, RunId};
pub use json::{RunRecord, read_json, to_json, write_json};
pub use ladder::Ladder;
pub use lane_table::{LaneNames, LaneRecord, LaneWriter};
pub use markup::Escaped;
pub use page::{Page, comparison_html, page_style};
pub use pause_timeline::{PauseTimeline, PausedPort};
pub use perfetto::perfetto_trace;
pub use sentences::sentences;
pub use series_table::{SampleRecord, SeriesWriter};
pub use shell::shell_quoted;
pub use stored_tables::{STORED_ROWS_MAX, StoredFlow, slowest_flows, stored_series};
pub use table::{Cell, Column, Format, Kind, Record};
pub use text_table::text_table;
pub use tidy::{TidyColumn, TidyTable};
pub use trace_json::{breakdown_json, trace_steps};
pub use traffic::Traffic;
