//! Files that scenarios name.

use std::io::BufRead;

use wiremend_scenario::builtin::{self, FileSource};
use wiremend_sim::Files;

/// The files of the library. A page has no others.
pub(crate) struct LibraryFiles;

impl Files for LibraryFiles {
    fn open(&self, name: &str) -> Result<Box<dyn BufRead>, String> {
        match builtin::locate(None, name) {
            FileSource::BuiltIn(text) => Ok(Box::new(text.as_bytes())),
            FileSource::Path(_) => Err(format!(
                "cannot read `{name}`: a page has no files but those of the library; use `wiremend run`"
            )),
        }
    }
}
