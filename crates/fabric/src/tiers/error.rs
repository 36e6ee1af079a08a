//! Why something is no fabric.

use std::fmt;

use super::parts::{GBPS_MAX, PATHS_MAX};

/// Why something is no fabric, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TiersError {
    /// The place in the file, from 1; none if it is the fabric as a whole.
    pub place: Option<(u64, usize)>,
    /// The reason.
    pub fault: TiersFault,
}

/// Why something is no fabric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TiersFault {
    /// No switches or no links.
    Empty,
    /// Beyond a bound.
    TooMany {
        /// Of what.
        what: &'static str,
        /// As allowed.
        max: u64,
    },
    /// More than [`PATHS_MAX`] ways of one switch.
    TooManyPaths,
    /// A parameter of a shape.
    OutOfRange {
        /// Which.
        what: &'static str,
        /// As given.
        value: u64,
        /// What is.
        allowed: &'static str,
    },
    /// A name that is none.
    BadName {
        /// Of what.
        what: &'static str,
        /// As given, shortened.
        name: String,
    },
    /// Two switches of one name.
    SwitchTwice(String),
    /// A link to a switch that is not there.
    UnknownSwitch(String),
    /// A link that leads neither up nor down.
    SameTier {
        /// One end.
        a: String,
        /// The other.
        b: String,
    },
    /// Two links at one port: the same link twice, or a mistake.
    PortTwice {
        /// The switch.
        switch: String,
        /// Its port.
        port: String,
        /// The link that has it, by number.
        first: u32,
    },
    /// A ToR without any link.
    NoUplinks(String),
    /// A ToR with links that lead nowhere.
    NoWayUp(String),
    /// A row that is neither a switch nor a link.
    UnknownRow(String),
    /// A row with too few or too many values.
    Fields {
        /// As found.
        count: usize,
        /// What a row of this kind has.
        wanted: &'static str,
    },
    /// A tier that is none.
    BadTier(String),
    /// A rate that is none.
    BadRate(String),
    /// Not JSON of this form.
    Json(String),
}

impl TiersError {
    pub(super) fn whole(fault: TiersFault) -> Self {
        Self { place: None, fault }
    }
}

impl fmt::Display for TiersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => write!(f, "{line}:{column}: {}", self.fault),
            None => write!(f, "{}", self.fault),
        }
    }
}

impl fmt::Display for TiersFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("no fabric: switches and links are needed"),
            Self::TooMany { what, max } => write!(f, "too many {what}: at most {max}"),
            Self::TooManyPaths => {
                write!(f, "a switch has more than {PATHS_MAX} ways to the top: too many to count")
            }
            Self::OutOfRange { what, value, allowed } => {
                write!(f, "{what} = {value} is out of range: {allowed}")
            }
            Self::BadName { what, name } => {
                write!(
                    f,
                    "`{name}` is not the name of a {what}: 1 to 64 bytes without blanks, commas or quotes"
                )
            }
            Self::SwitchTwice(name) => write!(f, "switch `{name}` is there twice: leave one"),
            Self::UnknownSwitch(name) => {
                write!(f, "a link to the unknown switch `{name}`: switches come before their links")
            }
            Self::SameTier { a, b } => write!(
                f,
                "`{a}` and `{b}` are of one tier: a cycle among tiers has no way up; links lead from a tier to a higher one"
            ),
            Self::PortTwice { switch, port, first } => write!(
                f,
                "port `{port}` of `{switch}` has link {first} already: a duplicate, or ports of a breakout cable without names of their own"
            ),
            Self::NoUplinks(name) => write!(f, "ToR `{name}` has no uplinks: give it links, or remove it"),
            Self::NoWayUp(name) => {
                write!(
                    f,
                    "ToR `{name}` has links, but no way to the highest tier: what is above it has no uplinks"
                )
            }
            Self::UnknownRow(kind) => write!(f, "`{kind}` starts no row: rows start with `switch` or `link`"),
            Self::Fields { count, wanted } => write!(f, "{count} values where others are needed: {wanted}"),
            Self::BadTier(text) => write!(
                f,
                "`{text}` is not a tier: a number from 0 (ToR) to 1000, or tor, leaf, edge, fabric, agg, spine, core, superspine"
            ),
            Self::BadRate(text) => {
                write!(f, "`{text}` is not a rate in Gb/s: a number above 0, at most {GBPS_MAX}")
            }
            Self::Json(what) => write!(f, "not a fabric in JSON: {what}"),
        }
    }
}

impl std::error::Error for TiersError {}
