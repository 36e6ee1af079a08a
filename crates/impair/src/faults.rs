//! Lists of faults of a protected link, which repeat recorded losses on another host.
//!
//! A list is text with one fault per line: direction, kind, number, and transmission, from 1.
//!
//! ```text
//! # the original and its first copy, then a loss notification in the other direction
//! forward data 5 1
//! forward data 5 2
//! backward missing 5 1
//! ```
//!
//! A list has no times. Frames are identified by their link header, so that a list means the same in a
//! simulation and on a wire.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use crate::{FrameFacts, LinkFacts, LinkKind};

/// Faults of both directions of a link, in the order of the list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FaultList {
    faults: Vec<LinkFault>,
}

/// One transmission of one frame, which is corrupted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LinkFault {
    /// Direction of the frame.
    pub direction: Direction,
    /// The frame.
    pub frame: LinkFacts,
    /// Number of the transmission in that direction, from 1: 2 is the first copy.
    pub copy: u64,
}

/// A direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// From the first end to the second.
    Forward,
    /// From the second end to the first.
    Backward,
}

impl FaultList {
    /// Reads a list to its end. Memory is bounded for any input.
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

    /// The faults of one direction, for replay.
    pub fn replay(&self, direction: Direction) -> Replay {
        let mut replay = Replay::default();
        for fault in self.faults.iter().filter(|fault| fault.direction == direction) {
            replay.frames.entry(fault.frame).or_default().copies.insert(fault.copy);
        }
        replay
    }
}

/// Corrupts the frames of a list.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    frames: BTreeMap<LinkFacts, Due>,
}

#[derive(Clone, Debug, Default)]
struct Due {
    seen: u64,
    /// Transmissions that are still to be corrupted.
    copies: BTreeSet<u64>,
}

impl Replay {
    /// Whether the list contains this transmission.
    pub fn corrupts(&mut self, frame: &FrameFacts) -> bool {
        let Some(due) = frame.link.and_then(|link| self.frames.get_mut(&link)) else { return false };
        due.seen += 1;
        due.copies.remove(&due.seen)
    }

    /// Number of faults that did not occur. If it is not zero at the end of a run, the list belongs to
    /// another run.
    pub fn unused(&self) -> usize {
        self.frames.values().map(|due| due.copies.len()).sum()
    }
}

/// Counts the transmissions of each frame of a direction, to record those that were corrupted. A link has 2²⁰
/// numbers, so memory is bounded.
#[derive(Clone, Debug, Default)]
pub struct TransmissionCounter {
    sent: BTreeMap<LinkFacts, u64>,
}

impl TransmissionCounter {
    /// Counts a transmission; returns its number, from 1.
    pub fn on_frame(&mut self, frame: LinkFacts) -> u64 {
        let sent = self.sent.entry(frame).or_default();
        *sent += 1;
        *sent
    }
}

/// Error of an invalid list of faults.
#[derive(Debug)]
pub enum BadFaultList {
    /// A line is not a fault.
    Line {
        /// Line number, from 1.
        line: usize,
        /// What is wrong, and what is valid.
        what: String,
    },
    /// The list exceeds the size limit.
    TooLong,
    /// The list cannot be read or is not text.
    Unreadable(io::Error),
}

impl fmt::Display for BadFaultList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { line, what } => write!(f, "line {line}: {what}"),
            Self::TooLong => write!(f, "list of faults too long; at most {BYTES_MAX} bytes"),
            Self::Unreadable(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BadFaultList {}

/// About 200 000 faults.
const BYTES_MAX: u64 = 4 << 20;
/// Link sequence numbers have 20 bits.
const SEQ_MAX: u32 = (1 << 20) - 1;

impl FromStr for FaultList {
    type Err = BadFaultList;

    fn from_str(text: &str) -> Result<Self, BadFaultList> {
        let mut list = Self::default();
        let mut lines: BTreeMap<LinkFault, usize> = BTreeMap::new();
        for (line, entry) in (1..).zip(text.lines()) {
            let at = |what| BadFaultList::Line { line, what };
            let entry = entry.split('#').next().unwrap_or_default().trim();
            if entry.is_empty() {
                continue;
            }
            let fault = entry.parse().map_err(at)?;
            if let Some(before) = lines.insert(fault, line) {
                return Err(at(format!(
                    "`{fault}` is already in line {before}; list each transmission once"
                )));
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
        let [direction, kind, seq, copy] = fields[..] else {
            return Err(format!(
                "`{text}` is not a fault; write direction, kind, number, transmission: `forward data 5 1`"
            ));
        };
        let direction = match direction {
            "forward" => Direction::Forward,
            "backward" => Direction::Backward,
            _ => return Err(format!("unknown direction `{direction}`; allowed: forward, backward")),
        };
        let kind = LinkKind::ALL.into_iter().find(|known| known.name() == kind).ok_or_else(|| {
            let known = LinkKind::ALL.map(LinkKind::name).join(", ");
            format!("unknown kind `{kind}`; allowed: {known}")
        })?;
        let seq = seq
            .parse()
            .ok()
            .filter(|seq| *seq <= SEQ_MAX)
            .ok_or_else(|| format!("`{seq}` is not a frame number; valid: 0 to {SEQ_MAX}"))?;
        let copy =
            copy.parse().ok().filter(|copy| *copy > 0).ok_or_else(|| {
                format!("`{copy}` is not a transmission; 1 is the original, 2 the first copy")
            })?;
        Ok(Self { direction, frame: LinkFacts { kind, seq }, copy })
    }
}

impl fmt::Display for LinkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = match self.direction {
            Direction::Forward => "forward",
            Direction::Backward => "backward",
        };
        write!(f, "{direction} {} {} {}", self.frame.kind.name(), self.frame.seq, self.copy)
    }
}

impl fmt::Display for FaultList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.faults.iter().try_for_each(|fault| writeln!(f, "{fault}"))
    }
}
