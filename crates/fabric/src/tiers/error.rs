//! Errors in descriptions of fabrics.

use std::fmt;

use super::builder::{GBPS_MAX, PATHS_MAX, RATES_MAX};

/// Why a fabric is invalid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TiersError {
    /// Line and column, from 1; `None` for the fabric as a whole.
    pub place: Option<(u64, usize)>,
    /// Reason.
    pub fault: TiersFault,
}

/// Why a fabric is invalid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TiersFault {
    /// No switches or no links.
    Empty,
    /// More elements than allowed.
    TooMany {
        /// Kind of element.
        what: &'static str,
        /// Maximum.
        max: u64,
    },
    /// A switch with more than [`PATHS_MAX`] paths.
    TooManyPaths,
    /// A parameter of a shape is out of range.
    OutOfRange {
        /// The parameter.
        what: &'static str,
        /// Its value.
        value: u64,
        /// Allowed values.
        allowed: &'static str,
    },
    /// An invalid name.
    BadName {
        /// Kind of element.
        what: &'static str,
        /// The name, shortened.
        name: String,
    },
    /// Two switches with the same name.
    SwitchTwice(String),
    /// A link to an unknown switch.
    UnknownSwitch(String),
    /// A link within one tier.
    SameTier {
        /// First end.
        a: String,
        /// Second end.
        b: String,
    },
    /// Two links at one port.
    PortTwice {
        /// The switch.
        switch: String,
        /// Its port.
        port: String,
        /// Number of the link that already uses the port.
        first: u32,
    },
    /// A ToR without links.
    NoUplinks(String),
    /// A ToR without a path to the top tier.
    NoPathUp(String),
    /// A link without the port of an end.
    NoPort(String),
    /// Rates whose sum is too large.
    TooMuchRate,
    /// A minimum of links for an unknown LAG.
    UnknownLag(String),
    /// A minimum of links above the number of links.
    MinLinks {
        /// The LAG.
        lag: String,
        /// The minimum.
        min: u32,
        /// Number of links.
        links: u32,
    },
    /// An invalid minimum of links.
    BadMinLinks(String),
    /// A constraint for an unknown ToR.
    UnknownTor(String),
    /// A constraint for an unknown pod.
    UnknownPod(String),
    /// A second constraint for a ToR or a pod.
    ConstraintTwice(String),
    /// An invalid constraint.
    BadConstraint(String),
    /// An unknown kind of row.
    UnknownRow(String),
    /// A row with too few or too many values.
    Fields {
        /// Number of values.
        count: usize,
        /// Format of this kind of row.
        wanted: &'static str,
    },
    /// An invalid tier.
    BadTier(String),
    /// An invalid rate.
    BadRate(String),
    /// An invalid item of a JSON list.
    Item(String),
    /// Invalid JSON.
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
            Self::Empty => f.write_str("no fabric: switches and links are required"),
            Self::TooMany { what, max } => write!(f, "too many {what}: at most {max}"),
            Self::TooManyPaths => {
                write!(f, "a switch has more than {PATHS_MAX} paths to the top: too many to count")
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
            Self::SwitchTwice(name) => write!(f, "switch `{name}` is given twice: remove one"),
            Self::UnknownSwitch(name) => {
                write!(f, "a link to the unknown switch `{name}`: define switches before their links")
            }
            Self::SameTier { a, b } => write!(
                f,
                "`{a}` and `{b}` are in the same tier, so the link carries nothing to the top tier: remove it, or correct a tier"
            ),
            Self::PortTwice { switch, port, first } => write!(
                f,
                "port `{port}` of `{switch}` already has link {first}: remove the duplicate, or name the ports of a breakout cable differently"
            ),
            Self::NoUplinks(name) => write!(f, "ToR `{name}` has no uplinks: add links, or remove it"),
            Self::NoPathUp(name) => {
                write!(
                    f,
                    "ToR `{name}` has links, but no path to the top tier: the switches above it have no uplinks"
                )
            }
            Self::TooMuchRate => write!(f, "the rates of all links exceed {RATES_MAX} bit/s: correct them"),
            Self::UnknownLag(lag) => write!(
                f,
                "no links between these switches have the LAG `{lag}`: correct the name, or remove the row"
            ),
            Self::MinLinks { lag, min, links } => write!(
                f,
                "LAG `{lag}` has {links} links and a minimum of {min}, and would never be up; {links} is used: correct the minimum, or add the missing links"
            ),
            Self::UnknownTor(name) => {
                write!(f, "`{name}` is not a ToR of the fabric: correct the name, or remove the constraint")
            }
            Self::UnknownPod(name) => {
                write!(f, "`{name}` is not a pod of the fabric: correct the name, or remove the constraint")
            }
            Self::ConstraintTwice(name) => {
                write!(f, "`{name}` already has a constraint, and the stricter one counts: remove one")
            }
            fault => fault.fmt_value(f),
        }
    }
}

impl TiersFault {
    /// Describes an invalid value.
    fn fmt_value(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPort(switch) => {
                write!(f, "a link of `{switch}` has no port: name the port of both ends")
            }
            Self::BadMinLinks(text) => {
                write!(f, "`{text}` is not a minimum of links: a number from 1 to 1024")
            }
            Self::BadConstraint(text) => {
                write!(
                    f,
                    "`{text}` is not a constraint: a number above 0, at most 1; until it is, all capacity is kept"
                )
            }
            Self::UnknownRow(kind) => {
                write!(f, "unknown row `{kind}`: rows start with switch, link, lag, tor or pod")
            }
            Self::Fields { count, wanted } => write!(f, "{count} values do not match the format {wanted}"),
            Self::BadTier(text) => write!(
                f,
                "`{text}` is not a tier: a number from 0 (ToR) to 1000, or tor, leaf, edge, fabric, agg, spine, core, superspine"
            ),
            Self::BadRate(text) => {
                write!(f, "`{text}` is not a rate in Gb/s: a number above 0, at most {GBPS_MAX}")
            }
            Self::Json(what) => write!(f, "not a fabric in JSON: {what}"),
            Self::Item(what) => f.write_str(what),
            other => write!(f, "{other:?}"),
        }
    }
}

impl std::error::Error for TiersError {}
