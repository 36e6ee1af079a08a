//! The output directory: all its files are complete, or none exists.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use wiremend_measure::{FlowRow, SeriesRow, Summary};
use wiremend_report::{AtomicFile, FlowWriter, Format, Page, RunId, SeriesWriter, to_json};

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
    /// Files that have their final names.
    finished: Vec<&'static str>,
    /// Last field, because the directory can be removed only after its files.
    directory: CreatedDirectory,
}

/// A directory that is removed if it was created and stays empty.
struct CreatedDirectory {
    path: PathBuf,
    is_new: bool,
}

impl OutputDir {
    pub(crate) fn create(path: &Path, wanted: OptionalFiles) -> io::Result<Self> {
        let directory = CreatedDirectory::create(path)?;
        let mut flows = vec![FlowWriter::create(&path.join("flows.parquet"), Format::Parquet)?];
        if wanted.csv {
            flows.push(FlowWriter::create(&path.join("flows.csv"), Format::Csv)?);
        }
        let series = wanted.series.then(|| SeriesWriter::create(&path.join("series.csv"), Format::Csv));
        Ok(Self { flows, series: series.transpose()?, finished: Vec::new(), directory })
    }

    /// Completes all files. If one fails, the completed ones are removed too.
    pub(crate) fn finish(mut self, summary: &Summary, page: &Page<'_>) -> io::Result<()> {
        let completed = self.complete(summary, page);
        if completed.is_err() {
            for name in self.finished.drain(..) {
                // A file that cannot be removed is at least complete.
                let _ = fs::remove_file(self.directory.path.join(name));
            }
        }
        completed
    }

    fn complete(&mut self, summary: &Summary, page: &Page<'_>) -> io::Result<()> {
        let texts = [("summary.json", to_json(summary)), ("report.html", page.html())];
        let mut whole = Vec::new();
        for (name, text) in texts {
            let mut file = AtomicFile::create(&self.directory.path.join(name))?;
            file.write_all(text.as_bytes())?;
            whole.push(file);
        }
        for (writer, name) in self.flows.drain(..).zip(["flows.parquet", "flows.csv"]) {
            writer.finish()?;
            self.finished.push(name);
        }
        if let Some(series) = self.series.take() {
            series.finish()?;
            self.finished.push("series.csv");
        }
        whole.into_iter().try_for_each(AtomicFile::finish)
    }
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
