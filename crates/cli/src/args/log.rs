//! Options of the log of a service.

use clap::{Args, ValueEnum};

use super::choice::choice;

/// The log of a service
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct LogOptions {
    /// Format of the log, on stderr
    #[arg(long, default_value = "text", value_parser = choice::<LogFormat>())]
    pub(crate) log: LogFormat,
    /// Events that the log leaves out are less severe than this
    #[arg(long, default_value = "info", value_parser = choice::<LogLevel>(), help_heading = super::ADVANCED, hide_short_help = true)]
    pub(crate) log_level: LogLevel,
}

/// Format of the log.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogFormat {
    /// One line per event: time, level, text
    Text,
    /// One JSON object per line, with fields
    Json,
}

/// The least severe events of the log.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogLevel {
    /// What does not work
    Error,
    /// What needs attention
    Warn,
    /// What changed
    Info,
}
