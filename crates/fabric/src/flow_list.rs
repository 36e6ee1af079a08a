//! Flow lists: lines of `src,dst,bytes,start_ns`.
//!
//! Blank lines and lines that start with `#` are ignored; the first other line may name the columns. Flows
//! keep the order of the file, which may differ from the order of their start. A flow of zero bytes is one
//! empty message.
//!
//! ```
//! use wiremend_fabric::flow_list;
//!
//! let flows = flow_list::parse("src,dst,bytes,start_ns\n0,15,1024000,0\n".as_bytes(), 16)?;
//! assert_eq!(flows[0].bytes.get(), 1_024_000);
//! let error = flow_list::parse("0,99,1024000,0\n".as_bytes(), 16).unwrap_err();
//! assert_eq!(error.to_string(), "line 1, column 3: dst 99 is not one of the 16 hosts (0…15)");
//! # Ok::<(), flow_list::FlowListError>(())
//! ```

use std::fmt;
use std::io::{self, BufRead};

use wiremend_units::{Bytes, HostId, Time};

use crate::MESSAGE_BYTES_MAX;
use crate::csv_line::{Field, excerpt, fields, is_blank, is_header};

/// Maximum number of flows of a list.
pub const FLOWS_MAX: usize = 10_000_000;
/// Maximum length of a line with its end.
pub const LINE_BYTES_MAX: usize = 1024;
/// Latest start: 100 days.
pub const START_NS_MAX: u64 = 8_640_000_000_000_000;

/// A flow from one host to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Size of the flow.
    pub bytes: Bytes,
    /// Time at which it is posted.
    pub start: Time,
}

/// Parses a list for `hosts` hosts. Memory is bounded: parsing stops at the first error.
pub fn parse(reader: impl BufRead, hosts: u32) -> Result<Vec<Flow>, FlowListError> {
    let mut lines = Lines { reader, number: 0, line: Vec::new() };
    let mut flows = Vec::new();
    while lines.advance()? {
        let line = lines.text()?;
        if is_blank(line) || (flows.is_empty() && is_header(line, &COLUMNS)) {
            continue;
        }
        let flow = parse_flow(line, hosts).map_err(|(column, fault)| lines.fault(column, fault))?;
        if flows.len() == FLOWS_MAX {
            return Err(lines.fault(1, FlowFault::TooManyFlows));
        }
        flows.push(flow);
    }
    if flows.is_empty() { Err(lines.fault(1, FlowFault::NoFlows)) } else { Ok(flows) }
}

const COLUMNS: [&str; 4] = ["src", "dst", "bytes", "start_ns"];

fn parse_flow(line: &str, hosts: u32) -> Result<Flow, (usize, FlowFault)> {
    let mut values = [Field { column: 1, text: "" }; COLUMNS.len()];
    let mut count = 0;
    for field in fields(line) {
        if let Some(value) = values.get_mut(count) {
            *value = field;
        }
        count += 1;
    }
    if count != COLUMNS.len() {
        return Err((1, FlowFault::Fields(count)));
    }
    let number = |index: usize, max: u64| {
        let Field { column, text } = values[index];
        let digits = text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
        let what = COLUMNS[index];
        let value: u64 =
            digits.ok_or_else(|| (column, FlowFault::NotANumber { what, text: excerpt(text), max }))?;
        if value > max { Err((column, FlowFault::TooLarge { what, value, max })) } else { Ok(value) }
    };
    let host = |index: usize| {
        let value = number(index, u64::MAX)?;
        let fault = || (values[index].column, FlowFault::NotAHost { what: COLUMNS[index], value, hosts });
        u32::try_from(value).ok().filter(|host| *host < hosts).map(HostId).ok_or_else(fault)
    };
    let (src, dst) = (host(0)?, host(1)?);
    if src == dst {
        return Err((values[1].column, FlowFault::ToItself(src)));
    }
    let bytes = Bytes::new(number(2, MESSAGE_BYTES_MAX)?);
    let start = Time::from_ns(number(3, START_NS_MAX)?);
    Ok(Flow { src, dst, bytes, start })
}

/// Reader of lines with bounded length.
struct Lines<R> {
    reader: R,
    /// Number of the current line, from 1.
    number: u64,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// Reads the next line; returns `false` at the end.
    fn advance(&mut self) -> Result<bool, FlowListError> {
        self.line.clear();
        self.number += 1;
        loop {
            let chunk = match self.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.fault(1, FlowFault::Unreadable(error))),
            };
            if chunk.is_empty() {
                return Ok(!self.line.is_empty());
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(chunk.len(), |end| end + 1);
            if self.line.len() + taken > LINE_BYTES_MAX {
                return Err(self.fault(1, FlowFault::LongLine));
            }
            self.line.extend_from_slice(&chunk[..taken]);
            self.reader.consume(taken);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    fn text(&self) -> Result<&str, FlowListError> {
        let text = str::from_utf8(&self.line).map_err(|error| {
            let good = String::from_utf8_lossy(&self.line[..error.valid_up_to()]);
            self.fault(good.chars().count() + 1, FlowFault::NotText)
        })?;
        // Some editors write a byte order mark.
        Ok(if self.number == 1 { text.trim_start_matches('\u{feff}') } else { text }.trim_end())
    }
}

impl<R> Lines<R> {
    fn fault(&self, column: usize, fault: FlowFault) -> FlowListError {
        FlowListError { line: self.number, column, fault }
    }
}

/// Why a flow list is invalid.
#[derive(Debug)]
pub struct FlowListError {
    /// Line number, from 1.
    pub line: u64,
    /// Column in characters, from 1.
    pub column: usize,
    /// Reason.
    pub fault: FlowFault,
}

/// Why a flow list is invalid.
#[derive(Debug)]
pub enum FlowFault {
    /// No flow at all.
    NoFlows,
    /// More than [`FLOWS_MAX`] flows.
    TooManyFlows,
    /// A line longer than [`LINE_BYTES_MAX`].
    LongLine,
    /// Bytes that are not UTF-8.
    NotText,
    /// The reader failed.
    Unreadable(io::Error),
    /// A line without exactly four values.
    Fields(usize),
    /// A value that is not a whole number.
    NotANumber {
        /// The column.
        what: &'static str,
        /// The value, shortened.
        text: String,
        /// Maximum.
        max: u64,
    },
    /// A number above its maximum.
    TooLarge {
        /// The column.
        what: &'static str,
        /// The value.
        value: u64,
        /// Maximum.
        max: u64,
    },
    /// An unknown host.
    NotAHost {
        /// The column.
        what: &'static str,
        /// The value.
        value: u64,
        /// Number of hosts.
        hosts: u32,
    },
    /// A flow from a host to itself.
    ToItself(HostId),
}

impl fmt::Display for FlowListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.fault)
    }
}

impl fmt::Display for FlowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFlows => write!(f, "no flows: lines of {} are needed", COLUMNS.join(",")),
            Self::TooManyFlows => write!(f, "too many flows: at most {FLOWS_MAX}"),
            Self::LongLine => write!(f, "the line is too long: at most {LINE_BYTES_MAX} bytes"),
            Self::NotText => f.write_str("not a text in UTF-8"),
            Self::Unreadable(error) => write!(f, "cannot be read: {error}"),
            Self::Fields(count) => write!(f, "{count} values where four are needed: {}", COLUMNS.join(",")),
            Self::NotANumber { what, text, max: u64::MAX } => {
                write!(f, "{what} `{text}` is not the number of a host")
            }
            Self::NotANumber { what, text, max } => {
                write!(f, "{what} `{text}` is not a whole number from 0 to {max}")
            }
            Self::TooLarge { what, value, max } => write!(f, "{what} {value} is too large: at most {max}"),
            Self::NotAHost { what, value, hosts } => {
                write!(f, "{what} {value} is not one of the {hosts} hosts (0…{})", hosts.saturating_sub(1))
            }
            Self::ToItself(host) => write!(f, "host {} sends to itself: src and dst must differ", host.0),
        }
    }
}

impl std::error::Error for FlowListError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.fault {
            FlowFault::Unreadable(error) => Some(error),
            _ => None,
        }
    }
}
