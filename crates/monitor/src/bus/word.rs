//! What is said of an end of a link.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::detector::Estimate;

/// Something that a node says of one of its ports.
pub trait Word: Serialize + DeserializeOwned {
    /// What keys of it are called.
    const KIND: &'static str;

    /// Whether it makes sense.
    fn is_sound(&self) -> bool;
}

/// What the receiving end sees. Said by the node that the port belongs to.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sighting {
    /// The loss of frames that arrive at the port, if the link corrupts.
    pub corrupting: Option<Estimate>,
    /// The last repair that it knows of, by number.
    #[serde(default)]
    pub repairs: u64,
    /// The port has no carrier.
    #[serde(default)]
    pub down: bool,
}

/// That a link was repaired. Said by people; its version is the number of the repair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repair {}

impl Word for Repair {
    const KIND: &'static str = "repaired";

    fn is_sound(&self) -> bool {
        true
    }
}

impl Word for Sighting {
    const KIND: &'static str = "seen";

    fn is_sound(&self) -> bool {
        let ordered = |e: &Estimate| {
            e.errors <= e.frames && 0.0 <= e.low && e.low <= e.loss && e.loss <= e.high && e.high <= 1.0
        };
        self.corrupting.as_ref().is_none_or(ordered)
    }
}

/// What the sending end does about it. Said by the node that the port belongs to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deed {
    /// The version of the sighting that it answers.
    pub answers: u64,
    /// What is done.
    pub doing: Doing,
}

/// What a sending end does.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Doing {
    /// Nothing: the link does not need it.
    Nothing,
    /// It protects what it sends, with so many copies of what is lost.
    Protects {
        /// Copies.
        copies: u8,
    },
    /// It would, and is not to act, or cannot.
    Abstains {
        /// Why.
        why: String,
    },
}

impl Word for Deed {
    const KIND: &'static str = "done";

    fn is_sound(&self) -> bool {
        match &self.doing {
            Doing::Nothing => true,
            Doing::Protects { copies } => *copies >= 1,
            Doing::Abstains { why } => why.len() <= 500,
        }
    }
}

/// What the planner of the fabric says should be done about a link, told to the port at each of its ends.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Advice {
    /// What to do.
    pub action: Action,
    /// Whether what is sent from this end should be protected as long as the link carries frames.
    pub protect: bool,
    /// It is more than advice: a daemon that goes by it may act.
    pub binding: bool,
    /// Why, with the numbers.
    pub why: String,
}

/// What to do about a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Let it be.
    Nothing,
    /// Keep it, protected.
    Protect,
    /// Take it out and have it repaired.
    Drain,
    /// Keep it as it is: it can neither go nor be protected.
    Wait,
}

impl Action {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Protect => "protect",
            Self::Drain => "drain",
            Self::Wait => "wait",
        }
    }
}

impl Word for Advice {
    const KIND: &'static str = "advice";

    fn is_sound(&self) -> bool {
        self.why.len() <= 500
    }
}

/// That the planner stopped acting, because too much went bad at once. Said by it, and taken back by people.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Halt {
    /// It holds.
    pub on: bool,
    /// Why.
    pub why: String,
}

impl Word for Halt {
    const KIND: &'static str = "halt";

    fn is_sound(&self) -> bool {
        self.why.len() <= 500
    }
}
