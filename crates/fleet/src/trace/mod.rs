//! Traces of links that start to corrupt frames.

mod file;
mod generate;

use wiremend_units::LinkId;

use crate::trace_time::{TraceSpan, TraceTime};
pub use file::BadTrace;
pub use generate::{LOSS_BUCKETS, LossBucket, LossDistribution, TraceGenerator};

/// A link starts to corrupt frames.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CorruptionEvent {
    /// Time of the event.
    pub at: TraceTime,
    /// The link.
    pub link: LinkId,
    /// Loss rate.
    pub loss: f64,
    /// Loss rate in the other direction; usually 0.
    pub loss_back: f64,
    /// Repair time, if given.
    pub repair: Option<TraceSpan>,
    /// Cause, if given.
    pub cause: Option<CorruptionCause>,
}

/// Cause of corruption (JCST Table 1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CorruptionCause {
    /// Contaminated connector.
    Contamination,
    /// Damaged or bent fibre.
    Fibre,
    /// Decaying transmitter.
    Transmitter,
    /// Bad or loose transceiver.
    Transceiver,
    /// A component shared by several links of a switch.
    Shared,
}

impl CorruptionCause {
    /// All causes.
    pub const ALL: [Self; 5] =
        [Self::Contamination, Self::Fibre, Self::Transmitter, Self::Transceiver, Self::Shared];

    /// Returns the name in files.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Contamination => "contamination",
            Self::Fibre => "fibre",
            Self::Transmitter => "transmitter",
            Self::Transceiver => "transceiver",
            Self::Shared => "shared",
        }
    }

    /// Returns the middle of the published range of its share, in percent.
    pub const fn percent(self) -> f64 {
        match self {
            Self::Contamination => 37.0,
            Self::Fibre => 31.0,
            Self::Transmitter => 0.5,
            Self::Transceiver => 25.5,
            Self::Shared => 18.0,
        }
    }
}

/// Corruption events in order of time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace {
    events: Vec<CorruptionEvent>,
}

impl Trace {
    /// Creates a trace from events in order of time.
    pub fn new(events: Vec<CorruptionEvent>) -> Self {
        assert!(events.is_sorted_by_key(|event| event.at), "events are sorted by time");
        Self { events }
    }

    /// Returns the events in order of time.
    pub fn events(&self) -> &[CorruptionEvent] {
        &self.events
    }
}
