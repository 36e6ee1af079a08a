//! Runs a scenario, or repeats a run.

use std::io;
use std::path::PathBuf;

use pyo3::prelude::*;
use wiremend_measure::{FlowRow, FlowSample, LaneRow, SeriesRow};
use wiremend_report::{
    FlowLanes, FlowRecord, FlowSampleRecord, LaneNames, LaneRecord, RunId, SampleRecord, to_json,
};
use wiremend_runner::{Batch, Error as RunError, Input, RecordedRun, Request, RowSink, Runner};
use wiremend_scenario::{Override, builtin};

use crate::errors::{InputError, of_run, same_version};
use crate::interruptible::interruptible;
use crate::table::{Table, TableBuilder};

/// What to run.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RunArguments {
    /// A name, a path, or a text.
    scenario: String,
    is_text: bool,
    /// Paths and TOML values.
    overrides: Vec<(String, String)>,
    /// Contents of files that the scenario names.
    files: Vec<(String, Vec<u8>)>,
    variants: Vec<String>,
    seed: Option<u64>,
    seeds: u64,
    threads: Option<usize>,
    out: Option<PathBuf>,
    csv: bool,
}

/// Name of a text in messages.
const TEXT_NAME: &str = "scenario";

impl RunArguments {
    fn input(&self, runner: &Runner<'_>) -> Result<Input, RunError> {
        let set = |(path, value): &(String, String)| Override { path: path.clone(), value: value.clone() };
        let overrides: Vec<Override> = self.overrides.iter().map(set).collect();
        let input = if self.is_text {
            runner.load_text(TEXT_NAME, &self.scenario, &overrides)?
        } else {
            runner.load(&self.scenario, &overrides)?
        };
        Ok(self.files.iter().fold(input, |input, (name, text)| input.with_file(name, text.clone())))
    }

    fn run(&self, runner: &Runner<'_>) -> Result<(Batch, Rows), RunError> {
        let input = self.input(runner)?;
        let mut request = Request::new(&input).variants(&self.variants)?.seeds(self.seeds);
        if let Some(seed) = self.seed {
            request = request.seed(seed);
        }
        if let Some(path) = &self.out {
            request = request.out_dir(path);
        }
        if self.csv {
            request = request.csv();
        }
        let contents = request.contents();
        let mut rows = Rows {
            flows: TableBuilder::new::<FlowRecord<'_>>(contents),
            links: TableBuilder::new::<LaneRecord<'_>>(contents),
            series: TableBuilder::new::<SampleRecord<'_>>(contents),
            flow_series: TableBuilder::new::<FlowSampleRecord<'_>>(contents),
        };
        let batch = runner.run_with(&request, &mut rows)?;
        Ok((batch, rows))
    }
}

/// Rows in memory.
struct Rows {
    flows: TableBuilder,
    links: TableBuilder,
    series: TableBuilder,
    flow_series: TableBuilder,
}

impl RowSink for Rows {
    fn on_flow(&mut self, run_id: RunId<'_>, row: &FlowRow, lanes: Option<&FlowLanes<'_>>) -> io::Result<()> {
        self.flows.push(&FlowRecord { run_id, row, lanes });
        Ok(())
    }

    fn on_sample(&mut self, run_id: RunId<'_>, lane: &str, row: &SeriesRow) -> io::Result<()> {
        self.series.push(&SampleRecord { run_id, lane, row });
        Ok(())
    }

    fn on_flow_sample(&mut self, run_id: RunId<'_>, sample: &FlowSample) -> io::Result<()> {
        self.flow_series.push(&FlowSampleRecord { run_id, sample });
        Ok(())
    }

    fn on_lane(&mut self, run_id: RunId<'_>, names: LaneNames<'_>, row: &LaneRow) -> io::Result<()> {
        self.links.push(&LaneRecord { run_id, names, row });
        Ok(())
    }
}

/// Returns the summary as JSON, the sentences, and the tables of flows, links, samples and samples of flows.
#[pyfunction]
pub(crate) fn run(
    py: Python<'_>,
    arguments: RunArguments,
    report: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, Vec<String>, [Table; 4])> {
    if arguments.seeds == 0 {
        return Err(InputError::new_err("seeds: 0 is out of range; expected a whole number from 1"));
    }
    let ran = interruptible(py, arguments.threads, report.as_ref(), |runner| arguments.run(runner))?;
    let (Batch { summary, sentences, .. }, rows) = ran.map_err(of_run)?;
    let Rows { flows, links, series, flow_series } = rows;
    let tables = [flows, links, series, flow_series].map(TableBuilder::finish);
    Ok((to_json(&summary), sentences, tables))
}

/// Repeats the run of an output directory: variant, recorded digest, digest.
#[pyfunction]
pub(crate) fn rerun(
    py: Python<'_>,
    directory: PathBuf,
    any_version: bool,
    threads: Option<usize>,
    report: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<(String, String, String)>> {
    let recorded = RecordedRun::read(&directory).map_err(of_run)?;
    if !any_version {
        same_version(&directory.display().to_string(), &recorded.record().version)?;
    }
    let repeated = interruptible(py, threads, report.as_ref(), |runner| recorded.repeat(runner))?;
    let repeated = repeated.map_err(of_run)?.into_iter();
    Ok(repeated.map(|variant| (variant.variant, variant.recorded, variant.digest)).collect())
}

/// Names and titles of the scenarios of the library.
#[pyfunction]
pub(crate) fn scenarios() -> Vec<(&'static str, String)> {
    builtin::list()
}
