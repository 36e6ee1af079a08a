//! Log and metrics of the monitor and the planner.

use std::cell::Cell;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use wiremend_monitor::service::{Error, Log, MetricsOutput, PageSink, Service};
use wiremend_report::write_atomic;

use crate::args::VERSION;
use crate::args::monitor::{Log as LogChoice, Service as ServiceArgs};
use crate::failure::{Answer, Failure};
use crate::{signals, terminal};

/// Runs a service until a signal stops it.
pub(super) fn serve(
    args: &ServiceArgs,
    run: impl FnOnce(&Service<'_>) -> Result<(), Error>,
) -> Result<Answer, Failure> {
    signals::catch()?;
    let stop = signals::stop();
    let service = Service {
        file: &args.config,
        duration: args.duration,
        log: match args.log {
            LogChoice::Text => Log::Text(&terminal::print_message),
            LogChoice::Json => Log::Json(&line),
        },
        metrics: MetricsOutput {
            listen: args.metrics.metrics_listen,
            public: args.metrics.metrics_public,
            page: args.metrics.textfile.clone().map(written),
        },
        version: VERSION,
        stop: &stop,
    };
    run(&service)?;
    Ok(Answer::Yes)
}

/// Writes metrics to a file. Reports a write error once.
fn written(file: PathBuf) -> PageSink {
    let is_reported = Cell::new(false);
    Box::new(move |page| match write_atomic(&file, page) {
        Ok(()) => is_reported.set(false),
        Err(error) => {
            if !is_reported.replace(true) {
                terminal::print_message(&format!("{error}; metrics are not written to that file"));
            }
        }
    })
}

/// Prints an event as JSON, with its time.
fn line(mut value: Value) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    value["time_s"] = json!(now.as_secs_f64());
    eprintln!("{value}");
}
