//! Writer of `links.parquet` and `links.csv`.

use std::io;
use std::path::Path;

use wiremend_measure::{LaneFlows, LaneRow, Summary};

use crate::contents::{Contents, Need};
use crate::flow_table::RunId;
use crate::json::origin_json;
use crate::table::{Cell, Column, Format, Record, TableWriter, boolean, float, int, optional, text};

/// Names of a lane and of its ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneNames<'a> {
    /// Of the lane: `h0>tor`.
    pub lane: &'a str,
    /// Of the node that sends.
    pub from: &'a str,
    /// Of the node that receives.
    pub to: &'a str,
}

/// Writes [`LaneRow`]s: the totals of one direction of a link in one run each.
pub struct LaneWriter(TableWriter);

impl LaneWriter {
    /// Starts the file.
    pub fn create(path: &Path, format: Format, contents: Contents) -> io::Result<Self> {
        TableWriter::create::<LaneRecord<'_>>(path, format, contents).map(Self)
    }

    /// Appends a row.
    pub fn push(&mut self, run_id: RunId<'_>, names: LaneNames<'_>, row: &LaneRow) -> io::Result<()> {
        self.0.push(&LaneRecord { run_id, names, row })
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

/// A row of the table of links.
#[derive(Clone, Copy, Debug)]
pub struct LaneRecord<'a> {
    /// Its run.
    pub run_id: RunId<'a>,
    /// Names of the lane and of its ends.
    pub names: LaneNames<'a>,
    /// The totals of the lane.
    pub row: &'a LaneRow,
}

impl Record for LaneRecord<'_> {
    const COLUMNS: &'static [Column] = &[
        text("variant"),
        int("seed"),
        text("lane"),
        text("from_node"),
        text("to_node"),
        int("rate_bps"),
        int("delay_ps"),
        boolean("corrupting"),
        int("frames"),
        int("bytes"),
        float("utilisation"),
        int("corrupted_frames"),
        int("failed_frames").needing(Need::Failures),
        int("dropped_frames"),
        int("host_retransmitted_packets"),
        int("marked_frames").needing(Need::Marks),
        int("trimmed_packets").needing(Need::Trims),
        int("dropped_headers").needing(Need::Trims),
        int("pfc_frames").needing(Need::Pauses),
        int("pfc_corrupted_frames").needing(Need::Pauses),
        int("paused_ps").needing(Need::Pauses),
        boolean("protected").needing(Need::Protection),
        int("protected_frames").needing(Need::Protection),
        int("link_retransmitted_frames").needing(Need::Protection),
        int("link_retransmitted_bytes").needing(Need::Protection),
        int("link_control_frames").needing(Need::Protection),
        int("link_missed_frames").needing(Need::Protection),
        int("link_recovered_frames").needing(Need::Protection),
        int("link_lost_frames").needing(Need::Protection),
        optional("flows").needing(Need::Paths),
        optional("flow_timeouts").needing(Need::Paths),
        optional("flow_time_lost_ps").needing(Need::Paths),
    ];

    fn cells(&self, mut put: impl FnMut(Cell<'_>)) {
        let row = self.row;
        put(Cell::Text(self.run_id.variant));
        put(Cell::Int(self.run_id.seed));
        put(Cell::Text(self.names.lane));
        put(Cell::Text(self.names.from));
        put(Cell::Text(self.names.to));
        put(Cell::Int(row.rate_bps));
        put(Cell::Int(row.delay_ps));
        put(Cell::Bool(row.is_corrupting));
        put(Cell::Int(row.frames));
        put(Cell::Int(row.bytes));
        put(Cell::Float(row.utilisation()));
        for count in [
            row.corrupted_frames,
            row.failed_frames,
            row.dropped_frames,
            row.host_retransmitted_packets,
            row.marked_frames,
            row.trimmed_packets,
            row.dropped_headers,
            row.pfc_frames,
            row.pfc_corrupted_frames,
            row.paused_ps,
        ] {
            put(Cell::Int(count));
        }
        put(Cell::Bool(row.is_protected));
        for count in [
            row.protected_frames,
            row.link_retransmitted_frames,
            row.link_retransmitted_bytes,
            row.link_control_frames,
            row.link_missed_frames,
            row.link_recovered_frames,
            row.link_lost_frames,
        ] {
            put(Cell::Int(count));
        }
        let flows: [fn(LaneFlows) -> u64; 3] =
            [|flows| flows.count, |flows| flows.timeouts, |flows| flows.lost_ps];
        for value in flows {
            put(Cell::OptionalInt(row.flows.map(value)));
        }
    }
}
