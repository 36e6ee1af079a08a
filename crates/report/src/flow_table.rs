//! Writer of `flows.parquet` and `flows.csv`.

use std::io;
use std::path::Path;

use wiremend_measure::{FlowRow, Summary, TcpStats};

use crate::contents::{Contents, Need};
use crate::json::origin_json;
use crate::table::{Cell, Column, Format, Kind, Record, TableWriter, float, int, optional, text};

/// The run that a row belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunId<'a> {
    /// Name of the variant.
    pub variant: &'a str,
    /// The seed.
    pub seed: u64,
}

/// The path of a flow all of whose packets take one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowLanes<'a> {
    /// Names of the lanes that its packets crossed, from the requester's host on.
    pub path: &'a [&'a str],
    /// Those that acknowledgements and READ responses crossed.
    pub return_path: &'a [&'a str],
    /// Whether one of `path` may corrupt frames.
    pub crossed_corrupting: bool,
    /// Whether one of `return_path` may corrupt frames.
    pub return_crossed_corrupting: bool,
}

/// Writes [`FlowRow`]s as they arrive. The file appears in [`finish`](Self::finish); a dropped writer removes
/// it.
///
/// Times are exact picoseconds since the start of the run (`_ps`). `fct_ns` and `slowdown` are derived from
/// them. `delivered_ps` is empty if the last byte never arrived.
pub struct FlowWriter(TableWriter);

impl FlowWriter {
    /// Starts the file.
    pub fn create(path: &Path, format: Format, contents: Contents) -> io::Result<Self> {
        TableWriter::create::<FlowRecord<'_>>(path, format, contents).map(Self)
    }

    /// Appends a row; `lanes` if its packets took one path.
    pub fn push(
        &mut self,
        run_id: RunId<'_>,
        row: &FlowRow,
        lanes: Option<&FlowLanes<'_>>,
    ) -> io::Result<()> {
        self.0.push(&FlowRecord { run_id, row, lanes })
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

/// A row of the table of flows.
#[derive(Clone, Copy, Debug)]
pub struct FlowRecord<'a> {
    /// Its run.
    pub run_id: RunId<'a>,
    /// The flow.
    pub row: &'a FlowRow,
    /// Its path, if its packets took one.
    pub lanes: Option<&'a FlowLanes<'a>>,
}

impl Record for FlowRecord<'_> {
    const COLUMNS: &'static [Column] = &[
        text("variant"),
        int("seed"),
        int("workload"),
        int("flow"),
        int("src"),
        int("dst"),
        int("class"),
        optional("connection"),
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
        optional("failed_frames").needing(Need::Failures),
        Column { name: "path", kind: Kind::TextList, needs: Need::Paths },
        Column { name: "return_path", kind: Kind::TextList, needs: Need::Paths },
        Column { name: "crossed_corrupting_link", kind: Kind::OptionalBool, needs: Need::Paths },
        Column { name: "return_crossed_corrupting_link", kind: Kind::OptionalBool, needs: Need::Paths },
        optional("tcp_link_recovered").needing(Need::Tcp),
        optional("tcp_sacked_bytes_max").needing(Need::Tcp),
        optional("tcp_after_gap_bytes").needing(Need::Tcp),
        optional("tcp_unsent_bytes").needing(Need::Tcp),
        optional("tcp_recoveries").needing(Need::Tcp),
        optional("tcp_spurious_recoveries").needing(Need::Tcp),
        optional("tcp_tail_probes").needing(Need::Tcp),
        optional("tcp_dsacks").needing(Need::Tcp),
    ];

    fn cells(&self, mut put: impl FnMut(Cell<'_>)) {
        let row = self.row;
        put(Cell::Text(self.run_id.variant));
        put(Cell::Int(self.run_id.seed));
        put(Cell::Int(row.workload()));
        put(Cell::Int(row.flow));
        put(Cell::Int(row.src.into()));
        put(Cell::Int(row.dst.into()));
        put(Cell::Int(row.class.into()));
        put(Cell::OptionalInt(row.connection.map(u64::from)));
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
        put(Cell::OptionalInt(row.failed_frames.map(u64::from)));
        put(Cell::TextList(self.lanes.map(|lanes| lanes.path)));
        put(Cell::TextList(self.lanes.map(|lanes| lanes.return_path)));
        put(Cell::OptionalBool(self.lanes.map(|lanes| lanes.crossed_corrupting)));
        put(Cell::OptionalBool(self.lanes.map(|lanes| lanes.return_crossed_corrupting)));
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
