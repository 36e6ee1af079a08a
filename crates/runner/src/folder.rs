//! The directory that runs are written into: files that are all whole, or not there.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use wiremend_measure::{FlowRow, SeriesRow, Summary};
use wiremend_report::{FlowWriter, Format, NewFile, Origin, Page, SeriesWriter, to_json};

use crate::rows::Rows;

/// Which files are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) csv: bool,
    pub(crate) series: bool,
}

/// The directory while it is filled.
pub(crate) struct Folder {
    flows: Vec<FlowWriter>,
    series: Option<SeriesWriter>,
    /// Files that have their names.
    finished: Vec<&'static str>,
    /// Last, since it can go only after the files in it.
    directory: Directory,
}

/// A directory that goes again if it was made for nothing.
struct Directory {
    path: PathBuf,
    is_new: bool,
}

impl Folder {
    pub(crate) fn create(path: &Path, wanted: Wanted) -> io::Result<Self> {
        let directory = Directory::create(path)?;
        let mut flows = vec![FlowWriter::create(&path.join("flows.parquet"), Format::Parquet)?];
        if wanted.csv {
            flows.push(FlowWriter::create(&path.join("flows.csv"), Format::Csv)?);
        }
        let series = wanted.series.then(|| SeriesWriter::create(&path.join("series.csv"), Format::Csv));
        Ok(Self { flows, series: series.transpose()?, finished: Vec::new(), directory })
    }

    /// Completes all files. If one cannot be, those that are whole already go too: they would tell half of the story.
    pub(crate) fn finish(mut self, summary: &Summary, page: &Page<'_>) -> io::Result<()> {
        let completed = self.complete(summary, page);
        if completed.is_err() {
            for name in self.finished.drain(..) {
                // What cannot even be removed is whole at least.
                let _ = fs::remove_file(self.directory.path.join(name));
            }
        }
        completed
    }

    fn complete(&mut self, summary: &Summary, page: &Page<'_>) -> io::Result<()> {
        let texts = [("summary.json", to_json(summary)), ("report.html", page.html())];
        let mut whole = Vec::new();
        for (name, text) in texts {
            let mut file = NewFile::create(&self.directory.path.join(name))?;
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
        whole.into_iter().try_for_each(NewFile::finish)
    }
}

impl Rows for Folder {
    fn on_flow(&mut self, origin: Origin<'_>, row: &FlowRow) -> io::Result<()> {
        self.flows.iter_mut().try_for_each(|writer| writer.push(origin, row))
    }

    fn on_sample(&mut self, origin: Origin<'_>, lane: &str, row: &SeriesRow) -> io::Result<()> {
        self.series.as_mut().map_or(Ok(()), |writer| writer.push(origin, lane, row))
    }
}

impl Directory {
    fn create(path: &Path) -> io::Result<Self> {
        let is_new = !path.exists();
        fs::create_dir_all(path).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot make the directory `{}`: {error}", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), is_new })
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.is_new {
            // It is removed only if it is empty, that is, if nothing came of it.
            let _ = fs::remove_dir(&self.path);
        }
    }
}
