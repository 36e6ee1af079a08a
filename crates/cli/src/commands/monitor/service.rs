//! What the daemon and the planner have in common: where they say what happens, and who sees their numbers.

use std::cell::Cell;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use wiremend_monitor::service::{Error, Log, Metrics, Service, TakePage};
use wiremend_report::write_whole;

use crate::args::VERSION;
use crate::args::monitor::{Log as LogChoice, Service as Asked};
use crate::failure::{Answer, Failure};
use crate::{signals, terminal};

/// Runs a service until somebody ends it.
pub(super) fn serve(
    asked: &Asked,
    run: impl FnOnce(&Service<'_>) -> Result<(), Error>,
) -> Result<Answer, Failure> {
    signals::catch()?;
    let stop = signals::stop();
    let service = Service {
        file: &asked.config,
        duration: asked.duration,
        log: match asked.log {
            LogChoice::Text => Log::Text(&terminal::say),
            LogChoice::Json => Log::Json(&line),
        },
        metrics: Metrics {
            listen: asked.shown.metrics_listen,
            public: asked.shown.metrics_public,
            page: asked.shown.textfile.clone().map(written),
        },
        version: VERSION,
        stop: &stop,
    };
    run(&service)?;
    Ok(Answer::Yes)
}

/// Writes pages to a file. That it cannot be written is said once.
fn written(file: PathBuf) -> TakePage {
    let said = Cell::new(false);
    Box::new(move |page| match write_whole(&file, page) {
        Ok(()) => said.set(false),
        Err(error) => {
            if !said.replace(true) {
                terminal::say(&format!("{error}; numbers are not in that file"));
            }
        }
    })
}

/// An event for programs, with its time.
fn line(mut value: Value) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    value["time_s"] = json!(now.as_secs_f64());
    eprintln!("{value}");
}
