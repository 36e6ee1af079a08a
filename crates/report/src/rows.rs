//! Writers for flow rows and time series: `flows.parquet`, `series.parquet`, and CSV.

use std::io;
use std::path::Path;

use wiremend_measure::{FlowRow, SeriesRow, Summary, TcpStats};

use crate::json::origin_json;
use crate::table::{Cell, Column, Format, Kind, Record, TableWriter};

/// The run that a row belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunId<'a> {
    /// Name of the variant.
    pub variant: &'a str,
    /// The seed.
    pub seed: u64,
}

/// Writes [`FlowRow`]s as they arrive. The file appears in [`finish`](Self::finish); a dropped writer removes
/// it.
///
/// Times are exact picoseconds since the start of the run (`_ps`). `fct_ns` and `slowdown` are derived from
/// them. `delivered_ps` is empty if the last byte never arrived. The `tcp_` columns are empty for flows that
/// do not use TCP.
pub struct FlowWriter(TableWriter);

impl FlowWriter {
    /// Starts the file.
    pub fn create(path: &Path, format: Format) -> io::Result<Self> {
        TableWriter::create::<FlowRecord<'_>>(path, format).map(Self)
    }

    /// Appends a row.
    pub fn push(&mut self, run_id: RunId<'_>, row: &FlowRow) -> io::Result<()> {
        self.0.push(&FlowRecord { run_id, row })
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

/// Writes [`SeriesRow`]s as they arrive, in long format: one sample per line.
pub struct SeriesWriter(TableWriter);

impl SeriesWriter {
    /// Starts the file.
    pub fn create(path: &Path, format: Format) -> io::Result<Self> {
        TableWriter::create::<SampleRecord<'_>>(path, format).map(Self)
    }

    /// Appends a sample; `entity` is the name of the sampled link direction.
    pub fn push(&mut self, run_id: RunId<'_>, entity: &str, row: &SeriesRow) -> io::Result<()> {
        self.0.push(&SampleRecord { run_id, entity, row })
    }

    /// Completes the file.
    pub fn finish(self) -> io::Result<()> {
        self.0.finish()
    }
}

/// A row of the table of flows.
#[derive(Clone, Copy, Debug)]
pub struct FlowRecord<'a> {
    /// Its run.
    pub run_id: RunId<'a>,
    /// The flow.
    pub row: &'a FlowRow,
}

impl Record for FlowRecord<'_> {
    const COLUMNS: &'static [Column] = &[
        text("variant"),
        int("seed"),
        int("flow"),
        int("src"),
        int("dst"),
        int("bytes"),
        int("start_ps"),
        int("end_ps"),
        optional("delivered_ps"),
        int("ideal_ps"),
        float("fct_ns"),
        float("slowdown"),
        text("outcome"),
        int("timeouts"),
        int("naks"),
        int("retransmitted_packets"),
        int("retransmitted_bytes"),
        optional("tcp_link_recovered"),
        optional("tcp_sacked_bytes_max"),
        optional("tcp_after_gap_bytes"),
        optional("tcp_unsent_bytes"),
        optional("tcp_recoveries"),
        optional("tcp_spurious_recoveries"),
        optional("tcp_tail_probes"),
        optional("tcp_dsacks"),
    ];

    fn cells(&self, mut put: impl FnMut(Cell<'_>)) {
        let row = self.row;
        put(Cell::Text(self.run_id.variant));
        put(Cell::Int(self.run_id.seed));
        put(Cell::Int(row.flow));
        put(Cell::Int(row.src.into()));
        put(Cell::Int(row.dst.into()));
        put(Cell::Int(row.bytes));
        put(Cell::Int(row.start_ps));
        put(Cell::Int(row.end_ps));
        put(Cell::OptionalInt(row.delivered_ps));
        put(Cell::Int(row.ideal_ps));
        put(Cell::Float(row.fct().as_ps() as f64 / 1e3));
        put(Cell::Float(row.slowdown()));
        put(Cell::Text(row.outcome.key()));
        put(Cell::Int(row.timeouts.into()));
        put(Cell::Int(row.naks.into()));
        put(Cell::Int(row.retransmitted_packets.into()));
        put(Cell::Int(row.retransmitted_bytes));
        let tcp: [fn(&TcpStats) -> u32; 8] = [
            |tcp| tcp.link_recovered,
            |tcp| tcp.sacked_bytes_max,
            |tcp| tcp.after_gap_bytes,
            |tcp| tcp.unsent_bytes,
            |tcp| tcp.recoveries,
            |tcp| tcp.spurious_recoveries,
            |tcp| tcp.tail_probes,
            |tcp| tcp.dsacks,
        ];
        for value in tcp {
            put(Cell::OptionalInt(row.tcp.as_ref().map(|tcp| value(tcp).into())));
        }
    }
}

/// A row of the table of samples.
#[derive(Clone, Copy, Debug)]
pub struct SampleRecord<'a> {
    /// Its run.
    pub run_id: RunId<'a>,
    /// Name of the sampled link direction.
    pub entity: &'a str,
    /// The sample.
    pub row: &'a SeriesRow,
}

impl Record for SampleRecord<'_> {
    const COLUMNS: &'static [Column] =
        &[text("variant"), int("seed"), int("time_ps"), text("entity"), text("metric"), int("value")];

    fn cells(&self, mut put: impl FnMut(Cell<'_>)) {
        put(Cell::Text(self.run_id.variant));
        put(Cell::Int(self.run_id.seed));
        put(Cell::Int(self.row.time_ps));
        put(Cell::Text(self.entity));
        put(Cell::Text(self.row.metric.key()));
        put(Cell::Int(self.row.value));
    }
}

const fn int(name: &'static str) -> Column {
    Column { name, kind: Kind::Int }
}

const fn optional(name: &'static str) -> Column {
    Column { name, kind: Kind::OptionalInt }
}

const fn float(name: &'static str) -> Column {
    Column { name, kind: Kind::Float }
}

const fn text(name: &'static str) -> Column {
    Column { name, kind: Kind::Text }
}
