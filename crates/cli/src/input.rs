//! Scenarios and the files that they name, from wherever they are.

use std::fs::File as FsFile;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use wiremend_scenario::builtin::{self, Named};
use wiremend_scenario::{File, Override, Variant};
use wiremend_sim::{BuildError, Files};

use crate::failure::Failure;

/// A longer text is no scenario that anybody wrote.
const SCENARIO_BYTES_MAX: u64 = 16 << 20;

/// A scenario, and where the files are that it names.
pub(crate) struct Input {
    pub(crate) file: File,
    /// What was asked for: a name of the library, a path, or `-`.
    pub(crate) name: String,
    path: Option<PathBuf>,
}

impl Input {
    /// Understands what `name` stands for: a scenario of the library, a file, or stdin (`-`).
    pub(crate) fn load(name: &str, sets: &[Override]) -> Result<Self, Failure> {
        let shipped = builtin::get(name);
        let (source, text, path) = match shipped {
            Ok(text) => (name.to_owned(), text.to_owned(), None),
            Err(_) if name == "-" => ("stdin".to_owned(), read(io::stdin().lock(), "stdin")?, None),
            Err(unknown) => {
                let path = Path::new(name);
                let is_toml = path.extension().is_some_and(|extension| extension == "toml");
                if !is_toml && !path.is_file() {
                    return Err(Failure::Input(unknown));
                }
                let file = FsFile::open(path).map_err(|error| unreadable(name, &error))?;
                (name.to_owned(), read(file, name)?, Some(path.to_owned()))
            }
        };
        let file = wiremend_scenario::load(&source, &text, sets);
        let file = file.map_err(|error| Failure::Input(error.to_string()))?;
        Ok(Self { file, name: name.to_owned(), path })
    }

    /// A scenario that the program wrote itself.
    pub(crate) fn of_text(name: &str, text: &str) -> Result<Self, Failure> {
        let file = wiremend_scenario::load(name, text, &[]);
        let file = file.map_err(|error| Failure::Input(error.to_string()))?;
        Ok(Self { file, name: name.to_owned(), path: None })
    }

    /// What it is, in a line.
    pub(crate) fn title(&self) -> &str {
        self.file.scenario.title.as_str()
    }

    /// The variants that are asked for by name, in the order of the file; all of them if none is.
    pub(crate) fn variants(&self, wanted: &[String]) -> Result<Vec<&Variant>, Failure> {
        let names: Vec<&str> = self.file.variants.iter().map(|variant| variant.name.as_str()).collect();
        for name in wanted {
            if !names.contains(&name.as_str()) {
                let what = wiremend_units::or_nearest("variant", name, &names);
                return Err(Failure::Input(format!("{}: {what}", self.file.source())));
            }
        }
        let is_wanted = |variant: &&Variant| wanted.is_empty() || wanted.contains(&variant.name);
        Ok(self.file.variants.iter().filter(is_wanted).collect())
    }

    /// What a simulation could not be made of, at its place in the file.
    pub(crate) fn refused(&self, error: &BuildError) -> Failure {
        let message = self.file.error(error.place, error.what.as_str()).to_string();
        if error.environment { Failure::Environment(message) } else { Failure::Input(message) }
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

fn read(source: impl Read, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = source.take(SCENARIO_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(name, &error))?;
    if bytes.len() as u64 > SCENARIO_BYTES_MAX {
        let most = wiremend_units::Bytes::new(SCENARIO_BYTES_MAX);
        return Err(Failure::Input(format!("{name}: too long for a scenario; at most {most}")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        let line = good.matches('\n').count() + 1;
        let column = good.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Failure::Input(format!("{name}:{line}:{column}: not text; a scenario is TOML in UTF-8"))
    })
}

/// A file that is not there, or not for us.
pub(crate) fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::Input(format!("{name}: cannot be read: {error}"))
}
