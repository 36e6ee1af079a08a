//! The output directory: all its files are complete, or none exists.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use wiremend_measure::{FlowRow, SeriesRow, Summary};
use wiremend_report::{AtomicFile, FlowWriter, Format, RunId, SeriesWriter, read_json, to_json};

use crate::error::Error;
use crate::input::Input;
use crate::input_files::COPIES;
use crate::row_sink::RowSink;

/// Optional files.
#[derive(Clone, Copy)]
pub(crate) struct OptionalFiles {
    pub(crate) csv: bool,
    pub(crate) series: bool,
}

/// The output directory while it is filled.
pub(crate) struct OutputDir {
    flows: Vec<FlowWriter>,
    series: Option<SeriesWriter>,
    /// Files of the run whose results are replaced.
    replaced: Vec<String>,
    /// Files that have their final names.
    finished: Vec<String>,
    /// Last field, because the directory can be removed only after its files.
    directory: CreatedDirectory,
}

/// A directory that is removed if it was created and stays empty.
struct CreatedDirectory {
    path: PathBuf,
    is_new: bool,
}

/// File that describes the run and its results. A directory with it holds a whole run.
pub(crate) const SUMMARY: &str = "summary.json";
const PAGE: &str = "report.html";
const FLOWS: &str = "flows.parquet";
const FLOWS_TEXT: &str = "flows.csv";
const SERIES: &str = "series.csv";

impl OutputDir {
    pub(crate) fn create(path: &Path, wanted: OptionalFiles) -> Result<Self, Error> {
        let replaced = files_of_last_run(path)?;
        Self::start(path, wanted, replaced).map_err(Error::File)
    }

    fn start(path: &Path, wanted: OptionalFiles, replaced: Vec<String>) -> io::Result<Self> {
        let directory = CreatedDirectory::create(path)?;
        let mut flows = vec![FlowWriter::create(&path.join(FLOWS), Format::Parquet)?];
        if wanted.csv {
            flows.push(FlowWriter::create(&path.join(FLOWS_TEXT), Format::Csv)?);
        }
        let series = wanted.series.then(|| SeriesWriter::create(&path.join(SERIES), Format::Csv));
        Ok(Self { flows, series: series.transpose()?, replaced, finished: Vec::new(), directory })
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
        for (mut writer, name) in self.flows.drain(..).zip([FLOWS, FLOWS_TEXT]) {
            writer.set_origin(summary);
            writer.finish()?;
            self.finished.push(name.to_owned());
        }
        if let Some(series) = self.series.take() {
            series.finish()?;
            self.finished.push(SERIES.to_owned());
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
    let own = [SUMMARY, PAGE, FLOWS, FLOWS_TEXT, SERIES];
    // Special files are written in place.
    let is_there = |name: &&str| path.join(name).is_file();
    let Some(first) = own.into_iter().find(is_there) else { return Ok(Vec::new()) };
    let record = fs::read_to_string(path.join(SUMMARY)).ok().and_then(|text| read_json(&text).ok());
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
    Ok(own.into_iter().filter(is_there).map(str::to_owned).chain(copies.filter(is_inside)).collect())
}

impl RowSink for OutputDir {
    fn on_flow(&mut self, run_id: RunId<'_>, row: &FlowRow) -> io::Result<()> {
        self.flows.iter_mut().try_for_each(|writer| writer.push(run_id, row))
    }

    fn on_sample(&mut self, run_id: RunId<'_>, lane: &str, row: &SeriesRow) -> io::Result<()> {
        self.series.as_mut().map_or(Ok(()), |writer| writer.push(run_id, lane, row))
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
