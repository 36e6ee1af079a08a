//! Reads tables of a run back, for pages of stored results.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::Type;
use wiremend_measure::{FlowOutcome, FlowSample, Metric, SeriesRow};

use crate::traffic::Traffic;

/// A flow of `flows.parquet`.
#[derive(Clone, PartialEq, Debug)]
pub struct StoredFlow {
    /// Its seed.
    pub seed: u64,
    /// Its number.
    pub flow: u64,
    /// Its payload.
    pub bytes: u64,
    /// Its completion time.
    pub fct_ns: f64,
    /// Its slowdown.
    pub slowdown: f64,
    /// Its outcome, by [`FlowOutcome::key`].
    pub outcome: String,
    /// Timers that fired.
    pub timeouts: u64,
}

/// A cell of a stored table.
enum Stored<'a> {
    Int(u64),
    Float(f64),
    Text(&'a str),
    Missing,
}

/// Most rows that are read of a table.
pub const STORED_ROWS_MAX: u64 = 2_000_000;

/// Reads `flows.parquet` of a run: by variant the slowest flows, those first that did not finish.
pub fn slowest_flows(folder: &Path, most: usize) -> Result<BTreeMap<String, Vec<StoredFlow>>, String> {
    let mut slowest: BTreeMap<String, Vec<StoredFlow>> = BTreeMap::new();
    let finished = FlowOutcome::Finished.key();
    let order = |flow: &StoredFlow| (flow.outcome == finished, -flow.fct_ns);
    let columns = ["variant", "seed", "flow", "bytes", "fct_ns", "slowdown", "outcome", "timeouts"];
    each_row(&folder.join("flows.parquet"), &columns, |cells| {
        let flow = StoredFlow {
            seed: cells[1].int(),
            flow: cells[2].int(),
            bytes: cells[3].int(),
            fct_ns: cells[4].float(),
            slowdown: cells[5].float(),
            outcome: cells[6].text().to_owned(),
            timeouts: cells[7].int(),
        };
        let known = match slowest.get_mut(cells[0].text()) {
            Some(known) => known,
            None => slowest.entry(cells[0].text().to_owned()).or_default(),
        };
        let at = known.partition_point(|other| order(other) <= order(&flow));
        if at < most {
            known.insert(at, flow);
            known.truncate(most);
        }
    })?;
    Ok(slowest)
}

/// Reads the series of the first seed of a variant from `series.parquet` and `flow_series.parquet`, if there are any.
pub fn stored_series(folder: &Path, variant: &str, seed: u64) -> Result<Traffic, String> {
    let mut traffic = Traffic::new(variant);
    let is_wanted = |cells: &[Stored<'_>]| cells[0].text() == variant && cells[1].int() == seed;
    let mut lanes: BTreeMap<String, u32> = BTreeMap::new();
    let series = folder.join("series.parquet");
    if series.exists() {
        each_row(&series, &["variant", "seed", "time_ps", "lane", "metric", "value"], |cells| {
            let metric = Metric::ALL.into_iter().find(|metric| metric.key() == cells[4].text());
            if let Some(metric) = metric.filter(|_| is_wanted(cells)) {
                let new = lanes.len() as u32;
                let entity = *lanes.entry(cells[3].text().to_owned()).or_insert(new);
                let (time_ps, value) = (cells[2].int(), cells[5].int());
                traffic.add_sample(&SeriesRow { time_ps, entity, metric, value });
            }
        })?;
    }
    let mut names: Vec<(String, u32)> = lanes.into_iter().collect();
    names.sort_by_key(|(_, lane)| *lane);
    traffic.name_lanes(names.into_iter().map(|(name, _)| name));
    let flows = folder.join("flow_series.parquet");
    if flows.exists() {
        let columns = [
            "variant",
            "seed",
            "time_ps",
            "flow",
            "span_ps",
            "sent_bytes",
            "retransmitted_bytes",
            "rate_bps",
            "window_bytes",
        ];
        // All samples but the first of a flow span the interval.
        let mut every_ps = 1;
        each_row(&flows, &["variant", "seed", "span_ps"], |cells| {
            every_ps = if is_wanted(cells) { every_ps.max(cells[2].int()) } else { every_ps };
        })?;
        each_row(&flows, &columns, |cells| {
            if is_wanted(cells) {
                let sample = FlowSample {
                    time_ps: cells[2].int(),
                    flow: cells[3].int(),
                    span_ps: cells[4].int(),
                    sent_bytes: cells[5].int(),
                    retransmitted_bytes: cells[6].int(),
                    rate_bps: cells[7].some_int(),
                    window_bytes: cells[8].some_int(),
                };
                traffic.add_flow_sample(every_ps, &sample);
            }
        })?;
    }
    Ok(traffic)
}

/// Calls `each` with these cells of every row. A column that the table does not have is missing.
fn each_row(path: &Path, columns: &[&str], mut each: impl FnMut(&[Stored<'_>])) -> Result<(), String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unreadable = |why: String| format!("{name}: {}", why.lines().next().unwrap_or_default());
    let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let reader = SerializedFileReader::new(file).map_err(|error| unreadable(error.to_string()))?;
    let metadata = reader.metadata().file_metadata();
    if !(0..=STORED_ROWS_MAX as i64).contains(&metadata.num_rows()) {
        let rows = metadata.num_rows();
        return Err(unreadable(format!("it has {rows} rows, and a page reads at most {STORED_ROWS_MAX}")));
    }
    let schema = metadata.schema();
    let of_column =
        |column: &&str| schema.get_fields().iter().find(|field| field.name() == *column).map(Arc::clone);
    let fields: Vec<_> = columns.iter().filter_map(of_column).collect();
    let projection = Type::group_type_builder(schema.name()).with_fields(fields).build();
    let projection = projection.map_err(|error| unreadable(error.to_string()))?;
    let rows = reader.get_row_iter(Some(projection)).map_err(|error| unreadable(error.to_string()))?;
    for row in rows {
        let row = row.map_err(|error| unreadable(error.to_string()))?;
        let cells: Vec<Stored<'_>> = columns
            .iter()
            .map(|column| {
                let mut cells = row.get_column_iter();
                cells.find(|(name, _)| name == column).map_or(Stored::Missing, |(_, cell)| Stored::of(cell))
            })
            .collect();
        each(&cells);
    }
    Ok(())
}

impl<'a> Stored<'a> {
    fn of(field: &'a Field) -> Self {
        match field {
            Field::Int(value) => Self::Int(u64::try_from(*value).unwrap_or(0)),
            Field::Long(value) => Self::Int(u64::try_from(*value).unwrap_or(0)),
            Field::UInt(value) => Self::Int(u64::from(*value)),
            Field::ULong(value) => Self::Int(*value),
            Field::Double(value) => Self::Float(*value),
            Field::Str(text) => Self::Text(text),
            _ => Self::Missing,
        }
    }

    fn some_int(&self) -> Option<u64> {
        if let Self::Int(value) = self { Some(*value) } else { None }
    }

    fn int(&self) -> u64 {
        self.some_int().unwrap_or(0)
    }

    fn float(&self) -> f64 {
        if let Self::Float(value) = self { *value } else { 0.0 }
    }

    fn text(&self) -> &'a str {
        if let Self::Text(text) = self { text } else { "" }
    }
}
