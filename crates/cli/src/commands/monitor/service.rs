//! Signals and metrics of the monitor and the planner.

use std::cell::Cell;
use std::path::PathBuf;

use tracing::error;
use wiremend_monitor::service::{Error, MetricsOutput, PageSink, Service};
use wiremend_report::write_atomic;

use crate::args::VERSION;
use crate::args::monitor::Service as ServiceArgs;
use crate::failure::{Answer, Failure};
use crate::signals;

/// Runs a service until a signal stops it.
pub(super) fn serve(
    args: &ServiceArgs,
    run: impl FnOnce(&Service<'_>) -> Result<(), Error>,
) -> Result<Answer, Failure> {
    signals::catch_with_reload()?;
    let service = Service {
        file: &args.config,
        duration: args.duration,
        metrics: MetricsOutput {
            listen: args.metrics.metrics_listen,
            public: args.metrics.metrics_public,
            page: args.metrics.textfile.clone().map(written),
        },
        version: VERSION,
        stop: &signals::stop(),
        reload: &signals::reload(),
    };
    run(&service)?;
    Ok(Answer::Yes)
}

/// The reason of a failure, for the log.
pub(super) fn reason(failure: Failure) -> String {
    match failure {
        Failure::Input(why) | Failure::Environment(why) => why,
        other => format!("{other:?}"),
    }
}

/// Writes metrics to a file. Reports a write error once.
fn written(file: PathBuf) -> PageSink {
    let is_reported = Cell::new(false);
    Box::new(move |page| match write_atomic(&file, page) {
        Ok(()) => is_reported.set(false),
        Err(error) => {
            if !is_reported.replace(true) {
                error!(event = "textfile", "{error}; metrics are not written to that file");
            }
        }
    })
}
