//! Scenarios and the files that they name, from wherever they are.

use std::fs::File as FsFile;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use wiremend_scenario::builtin::{self, Named};
use wiremend_scenario::{File, Names, Override, Variant};
use wiremend_sim::{BuildError, Files};

use crate::error::Error;

/// A longer text is no scenario that anybody wrote.
const SCENARIO_BYTES_MAX: u64 = 16 << 20;

/// A scenario that was read, and where the files are that it names.
pub struct Input {
    /// The scenario and its variants.
    pub file: File,
    /// What was asked for: a name of the library, a path, or `-`.
    pub name: String,
    /// What was changed in it.
    pub sets: Vec<Override>,
    path: Option<PathBuf>,
}

impl Input {
    /// Understands what `name` stands for: a scenario of the library, a file, or stdin (`-`). Some of its values may be changed.
    pub fn load(name: &str, sets: &[Override]) -> Result<Self, Error> {
        Self::load_with(name, sets, &Names::default())
    }

    pub(crate) fn load_with(name: &str, sets: &[Override], names: &Names) -> Result<Self, Error> {
        let shipped = builtin::get(name);
        let (source, text, path) = match shipped {
            Ok(text) => (name.to_owned(), text.to_owned(), None),
            Err(_) if name == "-" => ("stdin".to_owned(), read(io::stdin().lock(), "stdin")?, None),
            Err(unknown) => {
                let path = Path::new(name);
                let is_toml = path.extension().is_some_and(|extension| extension == "toml");
                if !is_toml && !path.is_file() {
                    return Err(Error::UnknownScenario(unknown));
                }
                let file = FsFile::open(path).map_err(|error| unreadable(name, error))?;
                (name.to_owned(), read(file, name)?, Some(path.to_owned()))
            }
        };
        let file = wiremend_scenario::load_with(&source, &text, sets, names)?;
        Ok(Self { file, name: name.to_owned(), sets: sets.to_vec(), path })
    }

    /// A scenario that the program wrote itself; `name` is what messages call it.
    pub fn from_text(name: &str, text: &str, sets: &[Override]) -> Result<Self, Error> {
        Self::from_text_with(name, text, sets, &Names::default())
    }

    pub(crate) fn from_text_with(
        name: &str,
        text: &str,
        sets: &[Override],
        names: &Names,
    ) -> Result<Self, Error> {
        let file = wiremend_scenario::load_with(name, text, sets, names)?;
        Ok(Self { file, name: name.to_owned(), sets: sets.to_vec(), path: None })
    }

    /// What it is, in a line.
    pub fn title(&self) -> &str {
        self.file.scenario.title.as_str()
    }

    /// The variants that are asked for by name, in the order of the file; all of them if none is.
    pub fn variants(&self, wanted: &[String]) -> Result<Vec<&Variant>, Error> {
        let names: Vec<&str> = self.file.variants.iter().map(|variant| variant.name.as_str()).collect();
        for name in wanted {
            if !names.contains(&name.as_str()) {
                let what = wiremend_units::or_nearest("variant", name, &names);
                return Err(Error::UnknownVariant(format!("{}: {what}", self.file.source())));
            }
        }
        let is_wanted = |variant: &&Variant| wanted.is_empty() || wanted.contains(&variant.name);
        Ok(self.file.variants.iter().filter(is_wanted).collect())
    }

    /// What a simulation could not be made of, at its place in the file.
    pub fn refused(&self, error: &BuildError) -> Error {
        let message = self.file.error(error.place, error.what.as_str()).to_string();
        Error::Refused { message, environment: error.environment }
    }
}

impl Files for Input {
    fn open(&self, name: &str) -> Result<Box<dyn BufRead>, String> {
        match builtin::locate(self.path.as_deref(), name) {
            Named::Shipped(text) => Ok(Box::new(text.as_bytes())),
            Named::Path(path) => {
                let shown = path.display();
                let file = FsFile::open(&path).map_err(|error| format!("cannot read `{shown}`: {error}"))?;
                let is_folder = file.metadata().is_ok_and(|found| found.is_dir());
                if is_folder {
                    return Err(format!("cannot read `{shown}`: it is a directory"));
                }
                Ok(Box::new(BufReader::new(file)))
            }
        }
    }
}

fn read(source: impl Read, name: &str) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let read = source.take(SCENARIO_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(name, error))?;
    if bytes.len() as u64 > SCENARIO_BYTES_MAX {
        let most = wiremend_units::Bytes::new(SCENARIO_BYTES_MAX);
        return Err(Error::NoText(format!("{name}: too long for a scenario; at most {most}")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        let line = good.matches('\n').count() + 1;
        let column = good.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Error::NoText(format!("{name}:{line}:{column}: not text; a scenario is TOML in UTF-8"))
    })
}

/// A file that is not there, or not for us.
fn unreadable(name: &str, source: io::Error) -> Error {
    Error::Unreadable { name: name.to_owned(), source }
}
