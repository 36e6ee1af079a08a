//! Writer of `series.parquet` and `series.csv`.

use std::io;
use std::path::Path;

use wiremend_measure::{SeriesRow, Summary};

use crate::contents::Contents;
use crate::flow_table::RunId;
use crate::json::origin_json;
use crate::table::{Cell, Column, Format, Record, TableWriter, int, text};

/// Writes [`SeriesRow`]s as they arrive, in long format: one sample per line.
pub struct SeriesWriter(TableWriter);

impl SeriesWriter {
    /// Starts the file.
    pub fn create(path: &Path, format: Format) -> io::Result<Self> {
        TableWriter::create::<Sample<'_>>(path, format, Contents::default()).map(Self)
    }

    /// Appends a sample of a lane, given by its name.
    pub fn push(&mut self, run_id: RunId<'_>, lane: &str, row: &SeriesRow) -> io::Result<()> {
        self.0.push(&Sample { run_id, lane, row })
    }

    /// Stores how the rows were made in the metadata of a Parquet file, under the key `wiremend`.
    pub fn set_origin(&mut self, summary: &Summary) {
        self.0.set_metadata("wiremend", &origin_json(summary));
    }

    /// Completes the file.
    pub fn finish(self) -> io::Result<()> {
        self.0.finish()
    }
}

struct Sample<'a> {
    run_id: RunId<'a>,
    lane: &'a str,
    row: &'a SeriesRow,
}

impl Record for Sample<'_> {
    const COLUMNS: &'static [Column] =
        &[text("variant"), int("seed"), int("time_ps"), text("lane"), text("metric"), int("value")];

    fn cells(&self, mut put: impl FnMut(Cell<'_>)) {
        put(Cell::Text(self.run_id.variant));
        put(Cell::Int(self.run_id.seed));
        put(Cell::Int(self.row.time_ps));
        put(Cell::Text(self.lane));
        put(Cell::Text(self.row.metric.key()));
        put(Cell::Int(self.row.value));
    }
}
