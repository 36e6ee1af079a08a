//! Runs a sweep, or reads its results.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use wiremend_runner::Runner;
use wiremend_sweep::{self as library, Error, FailedBefore, Plan, Study, Sweep, describe};

use crate::errors::{of_sweep, same_version};
use crate::interruptible::interruptible;
use crate::table::Table;

/// Time without a heartbeat after which a worker on another machine has ended; the default of the command line.
const LEASE: Duration = Duration::from_mins(2);

/// What to run.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SweepArguments {
    /// Path of the study, or its name in messages.
    source: String,
    /// Text of the study.
    study: String,
    out: PathBuf,
    threads: Option<usize>,
    /// Whether very many cells are confirmed.
    yes: bool,
}

/// What a folder holds.
type Cells = (Table, Vec<(String, String)>, usize, String);

impl SweepArguments {
    fn run(&self, runner: &Runner<'_>) -> Result<Sweep, Error> {
        let study = Study::parse(&self.source, &self.study)?;
        let plan = Plan::new(study, runner, self.yes)?;
        let sweep = Sweep::start(&self.out, plan, FailedBefore::Retry, LEASE, runner)?;
        sweep.worker(*runner).run()?;
        Ok(sweep)
    }
}

/// Writes and returns the table, the failed cells with their messages, the number of cells without a result, and the
/// version that planned them.
fn collected(sweep: &Sweep) -> Result<Cells, Error> {
    let found = library::collect(sweep)?;
    let failed = found.failed.into_iter();
    let failed = failed.map(|failed| (describe(sweep.plan(), failed.cell), failed.message)).collect();
    let table = Table::from(&library::cells(sweep)?);
    Ok((table, failed, found.missing, sweep.plan().version().to_owned()))
}

/// Runs a study.
#[pyfunction]
pub(crate) fn sweep(
    py: Python<'_>,
    arguments: SweepArguments,
    report: Option<Bound<'_, PyAny>>,
) -> PyResult<Cells> {
    let ran = interruptible(py, arguments.threads, report.as_ref(), |runner| {
        arguments.run(runner).and_then(|sweep| collected(&sweep))
    })?;
    ran.map_err(of_sweep)
}

/// Reads the folder of a sweep.
#[pyfunction]
pub(crate) fn collect(py: Python<'_>, directory: PathBuf, any_version: bool) -> PyResult<Cells> {
    let opened = interruptible(py, None, None, |runner| Sweep::open_to_read(&directory, runner))?;
    let sweep = opened.map_err(of_sweep)?;
    if !any_version {
        same_version(&directory.display().to_string(), sweep.plan().version())?;
    }
    interruptible(py, None, None, |_| collected(&sweep))?.map_err(of_sweep)
}
