//! Which links begin to corrupt frames, and when.

mod file;
mod generate;

use wiremend_units::LinkId;

use crate::moment::Moment;
pub use file::BadTrace;
pub use generate::{BUCKETS, Bucket, Generator, Inside};

/// A link begins to corrupt frames.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Corruption {
    /// When.
    pub at: Moment,
    /// Which.
    pub link: LinkId,
    /// The part of frames that is lost.
    pub loss: f64,
    /// The same in the other direction; mostly nothing.
    pub loss_back: f64,
    /// How long its repair takes, if that is known.
    pub repair: Option<Moment>,
    /// Why, if that is known.
    pub cause: Option<Cause>,
}

/// Why a link corrupts frames (JCST Table 1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// Dirt on a connector.
    Contamination,
    /// A fibre that is damaged or bent.
    Fibre,
    /// A laser that fades.
    Transmitter,
    /// A transceiver that is bad or loose.
    Transceiver,
    /// Something that several links of a switch share.
    Shared,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Contamination, Self::Fibre, Self::Transmitter, Self::Transceiver, Self::Shared];

    /// Its name in files.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Contamination => "contamination",
            Self::Fibre => "fibre",
            Self::Transmitter => "transmitter",
            Self::Transceiver => "transceiver",
            Self::Shared => "shared",
        }
    }

    /// The middle of the published range of its share, in per cent.
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

/// Links that begin to corrupt frames, by time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace {
    events: Vec<Corruption>,
}

impl Trace {
    /// Of these, which must come in the order of time.
    pub fn new(events: Vec<Corruption>) -> Self {
        assert!(events.is_sorted_by_key(|event| event.at), "a trace goes forward in time");
        Self { events }
    }

    /// By time.
    pub fn events(&self) -> &[Corruption] {
        &self.events
    }
}
