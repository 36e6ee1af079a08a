//! Writer of `flow_series.parquet` and `flow_series.csv`.

use std::io;
use std::path::Path;

use wiremend_measure::{FlowSample, Summary};

use crate::contents::{Contents, Need};
use crate::flow_table::RunId;
use crate::json::origin_json;
use crate::table::{Cell, Column, Format, Record, TableWriter, int, optional, text};

/// Writes [`FlowSample`]s as they arrive.
pub struct FlowSeriesWriter(TableWriter);

impl FlowSeriesWriter {
    /// Starts the file.
    pub fn create(path: &Path, format: Format, contents: Contents) -> io::Result<Self> {
        TableWriter::create::<FlowSampleRecord<'_>>(path, format, contents).map(Self)
    }

    /// Appends a sample.
    pub fn push(&mut self, run_id: RunId<'_>, sample: &FlowSample) -> io::Result<()> {
        self.0.push(&FlowSampleRecord { run_id, sample })
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

/// A row of the table of samples of flows.
#[derive(Clone, Copy, Debug)]
pub struct FlowSampleRecord<'a> {
    /// Its run.
    pub run_id: RunId<'a>,
    /// The sample.
    pub sample: &'a FlowSample,
}

impl Record for FlowSampleRecord<'_> {
    const COLUMNS: &'static [Column] = &[
        text("variant"),
        int("seed"),
        int("time_ps"),
        int("flow"),
        int("span_ps"),
        int("sent_bytes"),
        int("retransmitted_bytes"),
        int("throughput_bps"),
        optional("rate_bps").needing(Need::Rates),
        optional("window_bytes").needing(Need::Windows),
    ];

    fn cells(&self, mut put: impl FnMut(Cell<'_>)) {
        let sample = self.sample;
        put(Cell::Text(self.run_id.variant));
        put(Cell::Int(self.run_id.seed));
        put(Cell::Int(sample.time_ps));
        put(Cell::Int(sample.flow));
        put(Cell::Int(sample.span_ps));
        put(Cell::Int(sample.sent_bytes));
        put(Cell::Int(sample.retransmitted_bytes));
        put(Cell::Int(sample.throughput_bps()));
        put(Cell::OptionalInt(sample.rate_bps));
        put(Cell::OptionalInt(sample.window_bytes));
    }
}
