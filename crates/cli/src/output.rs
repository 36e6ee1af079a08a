//! What a run leaves in `--out DIR`: files that are all whole, or not there.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use wiremend_measure::{FlowRow, SeriesRow, Summary};
use wiremend_report::{FlowWriter, Format, NewFile, Origin, Page, SeriesWriter, to_json};

use crate::failure::Failure;
use crate::order::Sink;

/// What is streamed to disk while runs go on.
pub(crate) enum Row {
    Flow(FlowRow),
    Sample(SeriesRow),
}

/// A run of the batch, as its rows name it.
pub(crate) struct Label {
    pub(crate) variant: String,
    pub(crate) seed: u64,
    /// Names of what its samples are about, by number.
    pub(crate) entities: Vec<String>,
}

/// Which files are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) csv: bool,
    pub(crate) series: bool,
}

/// The directory while it is filled.
pub(crate) struct Output {
    labels: Vec<Label>,
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

impl Output {
    pub(crate) fn create(path: &Path, wanted: Wanted, labels: Vec<Label>) -> Result<Self, Failure> {
        let directory = Directory::create(path)?;
        let open = || -> io::Result<_> {
            let mut flows = vec![FlowWriter::create(&path.join("flows.parquet"), Format::Parquet)?];
            if wanted.csv {
                flows.push(FlowWriter::create(&path.join("flows.csv"), Format::Csv)?);
            }
            let series = wanted.series.then(|| SeriesWriter::create(&path.join("series.csv"), Format::Csv));
            Ok((flows, series.transpose()?))
        };
        let (flows, series) = open().map_err(|error| Failure::file(&error))?;
        Ok(Self { labels, flows, series, finished: Vec::new(), directory })
    }

    /// Names what the samples of a run are about.
    pub(crate) fn name_entities(&mut self, run: usize, entities: Vec<String>) {
        self.labels[run].entities = entities;
    }

    /// Completes all files. If one cannot be, those that are whole already go too: they would tell half of the story.
    pub(crate) fn finish(mut self, summary: &Summary, page: &Page<'_>) -> Result<(), Failure> {
        let completed = self.complete(summary, page);
        if completed.is_err() {
            for name in self.finished.drain(..) {
                // What cannot even be removed is whole at least.
                let _ = fs::remove_file(self.directory.path.join(name));
            }
        }
        completed.map_err(|error| Failure::file(&error))
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

impl Sink for Output {
    type Row = Row;

    fn take(&mut self, run: usize, row: &Row) -> io::Result<()> {
        let label = &self.labels[run];
        let origin = Origin { variant: &label.variant, seed: label.seed };
        match row {
            Row::Flow(row) => self.flows.iter_mut().try_for_each(|writer| writer.push(origin, row)),
            Row::Sample(row) => match &mut self.series {
                Some(writer) => writer.push(origin, &label.entities[row.entity as usize], row),
                None => Ok(()),
            },
        }
    }
}

impl Directory {
    fn create(path: &Path) -> Result<Self, Failure> {
        let is_new = !path.exists();
        fs::create_dir_all(path).map_err(|error| {
            Failure::Environment(format!("cannot make the directory `{}`: {error}", path.display()))
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
