//! A scenario that reads well may still be one that nobody can run.

use std::io::BufRead;

use wiremend_scenario::load;
use wiremend_sim::{Files, Options, Simulation};

/// Builds what a text describes, in little memory: a network that is ready to run, or why there is none.
pub(crate) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(file) = load("any", &text, &[]) else { return };
    for variant in file.variants.iter().take(3) {
        let options = Options { memory_bytes_max: Some(32 << 20), ..Options::new(1) };
        if let Err(error) = Simulation::build(&variant.scenario, &Nothing, &options) {
            let line = file.error(error.place, error.what).to_string();
            assert!(!line.contains(char::is_control), "{line:?}");
        }
    }
}

/// No file is there.
struct Nothing;

impl Files for Nothing {
    fn open(&self, name: &str) -> Result<Box<dyn BufRead>, String> {
        Err(format!("no file `{name}`"))
    }
}
