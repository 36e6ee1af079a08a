//! A valid scenario may describe a network that cannot be simulated.

use std::io::BufRead;

use wiremend_scenario::load;
use wiremend_sim::{Files, Options, Simulation};

/// Builds the network of a text with little memory: it is ready to run, or refused with a message.
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

/// No file exists.
struct Nothing;

impl Files for Nothing {
    fn open(&self, name: &str) -> Result<Box<dyn BufRead>, String> {
        Err(format!("no file `{name}`"))
    }
}
