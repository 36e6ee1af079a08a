//! The output directory: all its files are complete, or none exists.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use wiremend_measure::{FlowRow, FlowSample, LaneRow, SeriesRow, Summary};
use wiremend_report::{
    AtomicFile, Contents, FlowLanes, FlowSeriesWriter, FlowWriter, Format, LaneNames, LaneWriter, RunId,
    RunRecord, SeriesWriter, read_json, to_json,
};

use crate::error::Error;
use crate::input::Input;
use crate::input_files::COPIES;
use crate::row_sink::RowSink;

/// Optional files.
#[derive(Clone, Copy)]
pub(crate) struct OptionalFiles {
    pub(crate) csv: bool,
    pub(crate) series: bool,
    pub(crate) flow_series: bool,
    /// Columns of the tables.
    pub(crate) contents: Contents,
}

/// The output directory while it is filled.
pub(crate) struct OutputDir {
    tables: Vec<Tables>,
    /// Files of the run whose results are replaced.
    replaced: Vec<String>,
    /// Files that have their final names.
    finished: Vec<String>,
    /// Last field, because the directory can be removed only after its files.
    directory: CreatedDirectory,
}

/// The tables of rows in one format.
struct Tables {
    format: Format,
    flows: FlowWriter,
    lanes: LaneWriter,
    series: Option<SeriesWriter>,
    flow_series: Option<FlowSeriesWriter>,
}

/// Names of the tables without extension.
const FLOWS: &str = "flows";
const LANES: &str = "links";
const SERIES: &str = "series";
const FLOW_SERIES: &str = "flow_series";

/// A directory that is removed if it was created and stays empty.
struct CreatedDirectory {
    path: PathBuf,
    is_new: bool,
}

/// File that describes the run and its results. A directory with it holds a whole run.
pub(crate) const SUMMARY: &str = "summary.json";
const PAGE: &str = "report.html";

/// All files of a run that have fixed names.
const FILES: [&str; 10] = [
    SUMMARY,
    PAGE,
    "flows.parquet",
    "flows.csv",
    "links.parquet",
    "links.csv",
    "series.parquet",
    "series.csv",
    "flow_series.parquet",
    "flow_series.csv",
];

impl OutputDir {
    pub(crate) fn create(path: &Path, wanted: OptionalFiles) -> Result<Self, Error> {
        let replaced = files_of_last_run(path)?;
        Self::start(path, wanted, replaced).map_err(Error::File)
    }

    fn start(path: &Path, wanted: OptionalFiles, replaced: Vec<String>) -> io::Result<Self> {
        let directory = CreatedDirectory::create(path)?;
        let mut tables = vec![Tables::create(path, Format::Parquet, wanted)?];
        if wanted.csv {
            tables.push(Tables::create(path, Format::Csv, wanted)?);
        }
        Ok(Self { tables, replaced, finished: Vec::new(), directory })
    }

    /// Completes all files and removes those of the last run. If one fails, the completed ones are removed too.
    pub(crate) fn finish(
        mut self,
        summary: &mut Summary,
        input: &Input,
        page: impl FnOnce(&Summary) -> String,
    ) -> io::Result<()> {
        let completed = self.complete(summary, input, page);
        if completed.is_err() {
            for name in &self.finished {
                // A file that cannot be removed is at least complete.
                let _ = fs::remove_file(self.directory.path.join(name));
            }
        }
        completed
    }

    fn complete(
        &mut self,
        summary: &mut Summary,
        input: &Input,
        page: impl FnOnce(&Summary) -> String,
    ) -> io::Result<()> {
        let path = &self.directory.path;
        if !self.replaced.is_empty() {
            // From here on the directory holds neither run, until the last file has its name.
            fs::remove_file(path.join(SUMMARY))?;
        }
        summary.origin.files = input.files_read.describe(Some(path))?;
        self.finished.extend(summary.origin.files.iter().map(|file| file.copy.clone()));
        let mut whole = Vec::new();
        for (name, text) in [(PAGE, page(summary)), (SUMMARY, to_json(summary))] {
            let mut file = AtomicFile::create(&path.join(name))?;
            file.write_all(text.as_bytes())?;
            whole.push((name, file));
        }
        for tables in self.tables.drain(..) {
            tables.finish(summary, &mut self.finished)?;
        }
        for old in self.replaced.drain(..).filter(|old| old != PAGE && !self.finished.contains(old)) {
            match fs::remove_file(path.join(&old)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        // Removed only if it is empty.
        let _ = fs::remove_dir(path.join(COPIES));
        for (name, file) in whole {
            file.finish()?;
            self.finished.push(name.to_owned());
        }
        Ok(())
    }
}

/// Returns the files of the run whose results are in a directory; none if there is no run. Refuses a directory in
/// which another program has a file of the same name, or in which a run was left incomplete.
fn files_of_last_run(path: &Path) -> Result<Vec<String>, Error> {
    // Special files are written in place.
    let is_there = |name: &&str| path.join(name).is_file();
    let Some(first) = FILES.into_iter().find(is_there) else { return Ok(Vec::new()) };
    let record =
        fs::read_to_string(path.join(SUMMARY)).ok().and_then(|text| read_json::<RunRecord>(&text).ok());
    let Some(record) = record else {
        return Err(Error::Occupied(format!(
            "`{}` holds a `{first}` that is not of a run with this version; remove it, or choose another directory",
            path.display()
        )));
    };
    let copies = record.origin.files.into_iter().map(|file| file.copy);
    let is_inside = |copy: &String| {
        copy.strip_prefix(COPIES).is_some_and(|name| name.starts_with('/') && !name.contains(".."))
    };
    Ok(FILES.into_iter().filter(is_there).map(str::to_owned).chain(copies.filter(is_inside)).collect())
}

impl Tables {
    fn create(path: &Path, format: Format, wanted: OptionalFiles) -> io::Result<Self> {
        let OptionalFiles { series, flow_series, contents, .. } = wanted;
        let path = |name: &str| path.join(file_name(name, format));
        let series = series.then(|| SeriesWriter::create(&path(SERIES), format));
        Ok(Self {
            format,
            flows: FlowWriter::create(&path(FLOWS), format, contents)?,
            lanes: LaneWriter::create(&path(LANES), format, contents)?,
            series: series.transpose()?,
            flow_series: flow_series
                .then(|| FlowSeriesWriter::create(&path(FLOW_SERIES), format, contents))
                .transpose()?,
        })
    }

    /// Completes the files and adds their names to `finished`.
    fn finish(self, summary: &Summary, finished: &mut Vec<String>) -> io::Result<()> {
        let Self { format, mut flows, mut lanes, series, flow_series } = self;
        flows.set_origin(summary);
        flows.finish()?;
        finished.push(file_name(FLOWS, format));
        lanes.set_origin(summary);
        lanes.finish()?;
        finished.push(file_name(LANES, format));
        if let Some(mut series) = series {
            series.set_origin(summary);
            series.finish()?;
            finished.push(file_name(SERIES, format));
        }
        if let Some(mut flow_series) = flow_series {
            flow_series.set_origin(summary);
            flow_series.finish()?;
            finished.push(file_name(FLOW_SERIES, format));
        }
        Ok(())
    }
}

fn file_name(name: &str, format: Format) -> String {
    format!("{name}.{}", format.extension())
}

impl RowSink for OutputDir {
    fn on_flow(&mut self, run_id: RunId<'_>, row: &FlowRow, lanes: Option<&FlowLanes<'_>>) -> io::Result<()> {
        self.tables.iter_mut().try_for_each(|tables| tables.flows.push(run_id, row, lanes))
    }

    fn on_sample(&mut self, run_id: RunId<'_>, lane: &str, row: &SeriesRow) -> io::Result<()> {
        let mut all = self.tables.iter_mut().filter_map(|tables| tables.series.as_mut());
        all.try_for_each(|series| series.push(run_id, lane, row))
    }

    fn on_flow_sample(&mut self, run_id: RunId<'_>, sample: &FlowSample) -> io::Result<()> {
        let mut all = self.tables.iter_mut().filter_map(|tables| tables.flow_series.as_mut());
        all.try_for_each(|series| series.push(run_id, sample))
    }

    fn on_lane(&mut self, run_id: RunId<'_>, names: LaneNames<'_>, row: &LaneRow) -> io::Result<()> {
        self.tables.iter_mut().try_for_each(|tables| tables.lanes.push(run_id, names, row))
    }
}

impl CreatedDirectory {
    fn create(path: &Path) -> io::Result<Self> {
        let is_new = !path.exists();
        fs::create_dir_all(path).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot create the directory `{}`: {error}", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), is_new })
    }
}

impl Drop for CreatedDirectory {
    fn drop(&mut self) {
        if self.is_new {
            // Removed only if it is empty.
            let _ = fs::remove_dir(&self.path);
        }
    }
}
