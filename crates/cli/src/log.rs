//! The log of a service: one line per event on stderr, as text or JSON, with time and level.

use std::fmt::{self, Write as _};
use std::io;
use std::sync::OnceLock;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent};
use tracing_subscriber::registry::LookupSpan;

use crate::args::log::{LogFormat, LogLevel, LogOptions};
use crate::terminal::in_one_line;

static STARTED: OnceLock<()> = OnceLock::new();

/// Starts the log. Failures of the command go to it, too.
pub(crate) fn start(options: LogOptions) {
    let level = match options.log_level {
        LogLevel::Error => Level::ERROR,
        LogLevel::Warn => Level::WARN,
        LogLevel::Info => Level::INFO,
    };
    let to_stderr =
        tracing_subscriber::fmt().with_writer(io::stderr).with_max_level(level).log_internal_errors(false);
    STARTED.get_or_init(|| match options.log {
        LogFormat::Text => to_stderr.event_format(TextLine).init(),
        LogFormat::Json => to_stderr.json().flatten_event(true).with_target(false).init(),
    });
}

/// Whether messages go to the log.
pub(crate) fn is_started() -> bool {
    STARTED.get().is_some()
}

/// `TIME LEVEL message`. The message contains what the fields say.
struct TextLine;

impl<S: Subscriber + for<'a> LookupSpan<'a>, N> FormatEvent<S, N> for TextLine
where
    N: for<'a> tracing_subscriber::fmt::FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut line: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        SystemTime.format_time(&mut line)?;
        let mut message = Message::default();
        event.record(&mut message);
        writeln!(line, " {:>5} {}", event.metadata().level(), in_one_line(&message.0))
    }
}

/// The message of an event.
#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            // Writing to a string cannot fail.
            let _ = write!(self.0, "{value:?}");
        }
    }
}
