//! Flow rows and time series on disk: `flows.parquet`, `series.parquet`, and the same as CSV.

use std::io;
use std::path::Path;

use wiremend_measure::{FlowRow, SeriesRow, TcpTrouble};

use crate::table::{Cell, Column, Format, Kind, Record, TableWriter};

/// Which run a row belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin<'a> {
    /// The variant's name.
    pub variant: &'a str,
    /// The seed.
    pub seed: u64,
}

/// Writes [`FlowRow`]s as they come. The file takes its name at [`finish`](Self::finish); dropped before, it goes.
///
/// Times are exact picoseconds since the start of the run (`_ps`); `fct_ns` and `slowdown` are derived from them, for
/// convenience. `delivered_ps` is empty where the last byte never arrived, and all that begins with `tcp_` where a flow is none of TCP.
pub struct FlowWriter(TableWriter);

impl FlowWriter {
    /// Starts the file.
    pub fn create(path: &Path, format: Format) -> io::Result<Self> {
        TableWriter::create::<Flow<'_>>(path, format).map(Self)
    }

    /// Appends a row.
    pub fn push(&mut self, origin: Origin<'_>, row: &FlowRow) -> io::Result<()> {
        self.0.push(&Flow { origin, row })
    }

    /// Completes the file.
    pub fn finish(self) -> io::Result<()> {
        self.0.finish()
    }
}

/// Writes [`SeriesRow`]s as they come, in long format: one sample a line.
pub struct SeriesWriter(TableWriter);

impl SeriesWriter {
    /// Starts the file.
    pub fn create(path: &Path, format: Format) -> io::Result<Self> {
        TableWriter::create::<Sample<'_>>(path, format).map(Self)
    }

    /// Appends a sample; `entity` is the name of whose it is.
    pub fn push(&mut self, origin: Origin<'_>, entity: &str, row: &SeriesRow) -> io::Result<()> {
        self.0.push(&Sample { origin, entity, row })
    }

    /// Completes the file.
    pub fn finish(self) -> io::Result<()> {
        self.0.finish()
    }
}

struct Flow<'a> {
    origin: Origin<'a>,
    row: &'a FlowRow,
}

impl Record for Flow<'_> {
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
        optional("tcp_mended"),
        optional("tcp_sacked_bytes"),
        optional("tcp_gap_bytes"),
        optional("tcp_unsent_bytes"),
        optional("tcp_recoveries"),
        optional("tcp_undone"),
        optional("tcp_probes"),
        optional("tcp_twice"),
    ];

    fn cells(&self, mut put: impl FnMut(Cell<'_>)) {
        let row = self.row;
        put(Cell::Text(self.origin.variant));
        put(Cell::Int(self.origin.seed));
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
        let tcp: [fn(&TcpTrouble) -> u32; 8] = [
            |tcp| tcp.mended,
            |tcp| tcp.sacked_bytes,
            |tcp| tcp.gap_bytes,
            |tcp| tcp.unsent_bytes,
            |tcp| tcp.recoveries,
            |tcp| tcp.undone,
            |tcp| tcp.probes,
            |tcp| tcp.twice,
        ];
        for of in tcp {
            put(Cell::OptionalInt(row.tcp.as_ref().map(|tcp| of(tcp).into())));
        }
    }
}

struct Sample<'a> {
    origin: Origin<'a>,
    entity: &'a str,
    row: &'a SeriesRow,
}

impl Record for Sample<'_> {
    const COLUMNS: &'static [Column] =
        &[text("variant"), int("seed"), int("time_ps"), text("entity"), text("metric"), int("value")];

    fn cells(&self, mut put: impl FnMut(Cell<'_>)) {
        put(Cell::Text(self.origin.variant));
        put(Cell::Int(self.origin.seed));
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
