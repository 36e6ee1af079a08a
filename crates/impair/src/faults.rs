//! Faults of a protected link, written down one by one: what was hit on one host is hit again on another.
//!
//! A list is text, a fault a line: direction, kind, number, and which transmission of it, from 1.
//!
//! ```text
//! # the original and its first copy; then a notification on the way back
//! forth data 5 1
//! forth data 5 2
//! back missing 5 1
//! ```
//!
//! No times: a frame is called by what it says, so that a list means the same in a simulation and on a wire.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use crate::{FrameFacts, LinkFacts, LinkKind};

/// Faults of both directions of a link, in the order in which they were written down.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FaultList {
    faults: Vec<LinkFault>,
}

/// One transmission of one frame, which is hit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LinkFault {
    /// The direction in which the frame travels.
    pub way: Way,
    /// The frame.
    pub frame: LinkFacts,
    /// Which transmission of it in that direction, from 1: 2 is the first copy.
    pub copy: u64,
}

/// A direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Way {
    /// From the first end to the second.
    Forth,
    /// From the second end to the first.
    Back,
}

impl FaultList {
    /// Reads a list to its end. Memory is bounded whatever the reader gives.
    pub fn read(reader: impl Read) -> Result<Self, BadFaultList> {
        let mut text = String::new();
        let read = reader.take(BYTES_MAX + 1).read_to_string(&mut text);
        if read.map_err(BadFaultList::Unreadable)? as u64 > BYTES_MAX {
            return Err(BadFaultList::TooLong);
        }
        text.parse()
    }

    /// The faults of both directions.
    pub fn iter(&self) -> impl Iterator<Item = &LinkFault> {
        self.faults.iter()
    }

    /// Those of one direction, to be played.
    pub fn replay(&self, way: Way) -> Replay {
        let mut replay = Replay::default();
        for fault in self.faults.iter().filter(|fault| fault.way == way) {
            replay.frames.entry(fault.frame).or_default().copies.insert(fault.copy);
        }
        replay
    }
}

/// Hits the frames of a list.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    frames: BTreeMap<LinkFacts, Due>,
}

#[derive(Clone, Debug, Default)]
struct Due {
    seen: u64,
    /// Transmissions that are still to be hit.
    copies: BTreeSet<u64>,
}

impl Replay {
    /// Whether the list names this transmission.
    pub fn corrupts(&mut self, frame: &FrameFacts) -> bool {
        let Some(due) = frame.link.and_then(|link| self.frames.get_mut(&link)) else { return false };
        due.seen += 1;
        due.copies.remove(&due.seen)
    }

    /// Faults that have not been met: a list that is not used up when a run ends is of another run.
    pub fn unused(&self) -> usize {
        self.frames.values().map(|due| due.copies.len()).sum()
    }
}

/// Counts the transmissions of each frame of a direction, so that one that was hit can be written down. It remembers each number
/// once, of which a link has 2²⁰.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    sent: BTreeMap<LinkFacts, u64>,
}

impl Tally {
    /// The frame is sent: which transmission of it this is, from 1.
    pub fn on_frame(&mut self, frame: LinkFacts) -> u64 {
        let sent = self.sent.entry(frame).or_default();
        *sent += 1;
        *sent
    }
}

/// Why something is no list of faults.
#[derive(Debug)]
pub enum BadFaultList {
    /// A line is no fault.
    Line {
        /// Where, from 1.
        line: usize,
        /// What is wrong there, and what would be right.
        what: String,
    },
    /// There is more of it than of any list.
    TooLong,
    /// It cannot be read, or is no text.
    Unreadable(io::Error),
}

impl fmt::Display for BadFaultList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { line, what } => write!(f, "line {line}: {what}"),
            Self::TooLong => write!(f, "too long for a list of faults; at most {BYTES_MAX} bytes"),
            Self::Unreadable(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BadFaultList {}

/// About 200 000 faults.
const BYTES_MAX: u64 = 4 << 20;
/// Numbers of a link have 20 bits.
const SEQ_MAX: u32 = (1 << 20) - 1;

impl FromStr for FaultList {
    type Err = BadFaultList;

    fn from_str(text: &str) -> Result<Self, BadFaultList> {
        let mut list = Self::default();
        let mut lines: BTreeMap<LinkFault, usize> = BTreeMap::new();
        for (line, said) in (1..).zip(text.lines()) {
            let at = |what| BadFaultList::Line { line, what };
            let said = said.split('#').next().unwrap_or_default().trim();
            if said.is_empty() {
                continue;
            }
            let fault = said.parse().map_err(at)?;
            if let Some(before) = lines.insert(fault, line) {
                return Err(at(format!("`{fault}` is already in line {before}; a transmission is hit once")));
            }
            list.faults.push(fault);
        }
        Ok(list)
    }
}

impl FromStr for LinkFault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [way, kind, seq, copy] = fields[..] else {
            return Err(format!("`{text}` is no fault; say direction, kind, number, copy: `forth data 5 1`"));
        };
        let way = match way {
            "forth" => Way::Forth,
            "back" => Way::Back,
            _ => return Err(format!("unknown direction `{way}`; allowed: forth, back")),
        };
        let kind = LinkKind::ALL.into_iter().find(|known| known.name() == kind).ok_or_else(|| {
            let known = LinkKind::ALL.map(LinkKind::name).join(", ");
            format!("unknown kind `{kind}`; allowed: {known}")
        })?;
        let seq = seq
            .parse()
            .ok()
            .filter(|seq| *seq <= SEQ_MAX)
            .ok_or_else(|| format!("`{seq}` is no number of a frame; from 0 to {SEQ_MAX}"))?;
        let copy =
            copy.parse().ok().filter(|copy| *copy > 0).ok_or_else(|| {
                format!("`{copy}` is no copy; 1 is the first transmission, 2 the one after it")
            })?;
        Ok(Self { way, frame: LinkFacts { kind, seq }, copy })
    }
}

impl fmt::Display for LinkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = match self.way {
            Way::Forth => "forth",
            Way::Back => "back",
        };
        write!(f, "{way} {} {} {}", self.frame.kind.name(), self.frame.seq, self.copy)
    }
}

impl fmt::Display for FaultList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.faults.iter().try_for_each(|fault| writeln!(f, "{fault}"))
    }
}
