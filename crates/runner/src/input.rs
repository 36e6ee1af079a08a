//! Scenarios and the files that they name.

use std::collections::BTreeMap;
use std::fs::File as FsFile;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use wiremend_scenario::builtin::{self, FileSource};
use wiremend_scenario::{
    App, File, ImpairmentKind, NicProfile, Override, RegisteredNames, Scenario, Sizes, Variant,
};
use wiremend_sim::{BuildError, Files};
use wiremend_units::canonical_name;

use crate::error::Error;
use crate::input_files::{Content, FilesRead};

/// Largest scenario file.
const SCENARIO_BYTES_MAX: u64 = 16 << 20;

/// A scenario, and the location of the files that it names.
pub struct Input {
    /// The scenario and its variants.
    pub file: File,
    /// Requested name: a scenario of the library, a path, or `-`.
    pub name: String,
    /// Overrides of its values.
    pub overrides: Vec<Override>,
    path: Option<PathBuf>,
    pub(crate) files_read: FilesRead,
    /// Contents to read in place of the files with these names.
    contents: BTreeMap<String, Content>,
}

impl Input {
    /// Loads a scenario of the library, a file, or stdin (`-`), with overrides.
    pub fn load(name: &str, overrides: &[Override]) -> Result<Self, Error> {
        Self::load_with(name, overrides, &RegisteredNames::default())
    }

    pub(crate) fn load_with(
        name: &str,
        overrides: &[Override],
        names: &RegisteredNames,
    ) -> Result<Self, Error> {
        let is_file = || Path::new(name).is_file() && !builtin::names().contains(&name);
        let (source, text, path) = match builtin::get(name) {
            Ok(text) if !is_file() => (name.to_owned(), text.to_owned(), None),
            _ if name == "-" => ("stdin".to_owned(), read(io::stdin().lock(), "stdin")?, None),
            found => {
                let path = Path::new(name);
                let is_toml = path.extension().is_some_and(|extension| extension == "toml");
                if let Err(unknown) = found
                    && !is_toml
                    && !path.is_file()
                {
                    return Err(Error::UnknownScenario(unknown));
                }
                let file = FsFile::open(path).map_err(|error| unreadable(name, error))?;
                (name.to_owned(), read(file, name)?, Some(path.to_owned()))
            }
        };
        let file = wiremend_scenario::load_with(&source, &text, overrides, names)?;
        Ok(Self::new(name, file, overrides, path))
    }

    /// Loads a scenario from text; `name` appears in messages.
    pub fn from_text(name: &str, text: &str, overrides: &[Override]) -> Result<Self, Error> {
        Self::from_text_with(name, text, overrides, &RegisteredNames::default())
    }

    pub(crate) fn from_text_with(
        name: &str,
        text: &str,
        overrides: &[Override],
        names: &RegisteredNames,
    ) -> Result<Self, Error> {
        let file = wiremend_scenario::load_with(name, text, overrides, names)?;
        Ok(Self::new(name, file, overrides, None))
    }

    /// Looks for the files that the scenario names beside the file at `path`.
    pub(crate) fn at(self, path: &Path) -> Self {
        Self { path: Some(path.to_owned()), ..self }
    }

    pub(crate) fn with_overrides(
        &self,
        overrides: &[Override],
        names: &RegisteredNames,
    ) -> Result<Self, Error> {
        let file = wiremend_scenario::load_with(self.file.source(), self.file.text(), overrides, names)?;
        Ok(Self::new(&self.name, file, overrides, self.path.clone()))
    }

    /// Path of the scenario file; `None` for a scenario of the library or a text.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Files that a scenario names and that the program does not ship: names and paths.
    pub fn files_of(&self, scenario: &Scenario) -> Vec<(String, PathBuf)> {
        let lists = scenario.workloads.iter().filter_map(|workload| match &workload.app {
            App::List(list) => Some(&list.file.value),
            App::Poisson(app) => match &app.sizes.value {
                Sizes::File(name) => Some(name),
                Sizes::Table(_) | Sizes::Fixed(_) => None,
            },
            _ => None,
        });
        let faults = scenario.impairs.iter().filter_map(|impair| match &impair.kind {
            ImpairmentKind::Script(script) => script.faults.as_ref().map(|file| &file.value),
            _ => None,
        });
        let profile = scenario.transport.profile.as_ref().map(|name| &name.value);
        let profile = profile.filter(|name| matches!(NicProfile::shipped(name), Ok(None)));
        let located = lists.chain(faults).chain(profile).filter_map(|name| {
            match builtin::locate(self.path.as_deref(), name) {
                FileSource::BuiltIn(_) => None,
                FileSource::Path(path) => Some((name.clone(), path)),
            }
        });
        located.collect()
    }

    fn new(name: &str, file: File, overrides: &[Override], path: Option<PathBuf>) -> Self {
        let (name, overrides) = (name.to_owned(), overrides.to_vec());
        Self { file, name, overrides, path, files_read: FilesRead::default(), contents: BTreeMap::new() }
    }

    /// Reads copies in place of the files with these names.
    pub(crate) fn with_copies(self, copies: BTreeMap<String, PathBuf>) -> Self {
        let contents = copies.into_iter().map(|(name, path)| (name, Content::Path(path))).collect();
        Self { contents, ..self }
    }

    /// Uses this text in place of a file that the scenario names, such as a flow list. An output directory has a copy
    /// of it.
    pub fn with_file(mut self, name: impl Into<String>, text: impl Into<Vec<u8>>) -> Self {
        self.contents.insert(name.into(), Content::Text(text.into().into()));
        self
    }

    /// Title of the scenario.
    pub fn title(&self) -> &str {
        self.file.scenario.title.as_str()
    }

    /// The variants with these names, in the order of the file; all if `wanted` is empty.
    pub fn variants(&self, wanted: &[String]) -> Result<Vec<&Variant>, Error> {
        let names: Vec<&str> = self.file.variants.iter().map(|variant| variant.name.as_str()).collect();
        let spelled = wanted.iter().map(|name| {
            canonical_name(name, &names).ok_or_else(|| {
                let what = wiremend_units::unknown_name("variant", name, &names);
                Error::UnknownVariant(format!("{}: {what}", self.file.source()))
            })
        });
        let wanted = spelled.collect::<Result<Vec<_>, _>>()?;
        let is_wanted = |variant: &&Variant| wanted.is_empty() || wanted.contains(&variant.name.as_str());
        Ok(self.file.variants.iter().filter(is_wanted).collect())
    }

    /// Converts a build error into an error with its position in the file.
    pub fn build_error(&self, error: &BuildError) -> Error {
        let message = self.file.error(error.place, error.what.as_str()).to_string();
        Error::Refused { message, environment: error.environment }
    }
}

impl Files for Input {
    fn open(&self, name: &str) -> Result<Box<dyn BufRead>, String> {
        let content = match self.contents.get(name).cloned() {
            Some(content) => content,
            None => match builtin::locate(self.path.as_deref(), name) {
                FileSource::BuiltIn(text) => return Ok(Box::new(text.as_bytes())),
                FileSource::Path(path) => Content::Path(path),
            },
        };
        self.files_read.note(name, &content);
        let path = match content {
            Content::Text(text) => return Ok(Box::new(Cursor::new(text))),
            Content::Path(path) => path,
        };
        let shown = path.display();
        let file = FsFile::open(&path).map_err(|error| format!("cannot read `{shown}`: {error}"))?;
        let is_folder = file.metadata().is_ok_and(|found| found.is_dir());
        if is_folder {
            return Err(format!("cannot read `{shown}`: it is a directory"));
        }
        Ok(Box::new(BufReader::new(file)))
    }
}

fn read(source: impl Read, name: &str) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let read = source.take(SCENARIO_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(name, error))?;
    if bytes.len() as u64 > SCENARIO_BYTES_MAX {
        let most = wiremend_units::Bytes::new(SCENARIO_BYTES_MAX);
        return Err(Error::NotText(format!("{name}: too long for a scenario; at most {most}")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        let line = good.matches('\n').count() + 1;
        let column = good.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Error::NotText(format!("{name}:{line}:{column}: not UTF-8; a scenario is TOML in UTF-8"))
    })
}

/// Error of a file that does not exist or cannot be opened.
fn unreadable(name: &str, source: io::Error) -> Error {
    Error::Unreadable { name: name.to_owned(), source }
}
