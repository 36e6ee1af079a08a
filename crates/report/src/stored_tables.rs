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

/// Reads the series of variants, each of one seed, from `series.parquet` and `flow_series.parquet`, if there are any.
pub fn stored_series(folder: &Path, wanted: &[(String, u64)]) -> Result<BTreeMap<String, Traffic>, String> {
    let mut all: BTreeMap<String, StoredSeries> = BTreeMap::new();
    for (variant, seed) in wanted {
        let series =
            StoredSeries { seed: *seed, lanes: BTreeMap::new(), every_ps: 1, traffic: Traffic::new(variant) };
        all.insert(variant.clone(), series);
    }
    let series = folder.join("series.parquet");
    if series.exists() {
        each_row(&series, &["variant", "seed", "time_ps", "lane", "metric", "value"], |cells| {
            let Some(of) = StoredSeries::of_row(&mut all, cells) else { return };
            let metric = Metric::ALL.into_iter().find(|metric| metric.key() == cells[4].text());
            let Some(metric) = metric else { return };
            let (time_ps, entity, value) = (cells[2].int(), of.lane(cells[3].text()), cells[5].int());
            of.traffic.add_sample(&SeriesRow { time_ps, entity, metric, value });
        })?;
    }
    let flows = folder.join("flow_series.parquet");
    if flows.exists() {
        // All samples but the first of a flow span the interval.
        each_row(&flows, &["variant", "seed", "span_ps"], |cells| {
            if let Some(of) = StoredSeries::of_row(&mut all, cells) {
                of.every_ps = of.every_ps.max(cells[2].int());
            }
        })?;
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
        each_row(&flows, &columns, |cells| {
            let Some(of) = StoredSeries::of_row(&mut all, cells) else { return };
            let sample = FlowSample {
                time_ps: cells[2].int(),
                flow: cells[3].int(),
                span_ps: cells[4].int(),
                sent_bytes: cells[5].int(),
                retransmitted_bytes: cells[6].int(),
                rate_bps: cells[7].some_int(),
                window_bytes: cells[8].some_int(),
            };
            of.traffic.add_flow_sample(of.every_ps, &sample);
        })?;
    }
    Ok(all.into_iter().map(|(variant, series)| (variant, series.named())).collect())
}

/// The series of a variant while they are read.
struct StoredSeries {
    seed: u64,
    /// Numbers of lanes in the order of their first samples.
    lanes: BTreeMap<String, u32>,
    /// Interval of the samples of flows.
    every_ps: u64,
    traffic: Traffic,
}

impl StoredSeries {
    /// The series to which a row belongs, by its variant and seed.
    fn of_row<'a>(all: &'a mut BTreeMap<String, Self>, cells: &[Stored<'_>]) -> Option<&'a mut Self> {
        all.get_mut(cells[0].text()).filter(|series| series.seed == cells[1].int())
    }

    fn lane(&mut self, name: &str) -> u32 {
        if let Some(lane) = self.lanes.get(name) {
            return *lane;
        }
        let new = self.lanes.len() as u32;
        self.lanes.insert(name.to_owned(), new);
        new
    }

    fn named(mut self) -> Traffic {
        let mut names: Vec<(String, u32)> = self.lanes.into_iter().collect();
        names.sort_by_key(|(_, lane)| *lane);
        self.traffic.name_lanes(names.into_iter().map(|(name, _)| name));
        self.traffic
    }
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
