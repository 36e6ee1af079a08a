//! Errors of capture files.

use std::{fmt, io};

use super::{MAX_BLOCK_BYTES, MAX_INTERFACES, MAX_PACKET_BYTES};

/// Error of a capture file and its position.
#[derive(Debug)]
pub struct CaptureError {
    /// Offset of the error in the file.
    pub offset: u64,
    /// The error.
    pub fault: CaptureFault,
}

/// Kind of error in a capture file.
#[derive(Debug)]
pub enum CaptureFault {
    /// The file cannot be read.
    Io(io::Error),
    /// The first bytes are not those of a capture.
    NotACapture([u8; 4]),
    /// The file ends within the named part.
    Truncated(&'static str),
    /// Unknown version: major and minor number.
    Version(u16, u16),
    /// A section header has no valid byte order.
    ByteOrder([u8; 4]),
    /// A block length is too small or not a multiple of four.
    BlockLength(u32),
    /// A block exceeds the limit.
    BlockTooLarge(u32),
    /// A packet exceeds the limit.
    PacketTooLarge(u32),
    /// The two lengths of a block differ.
    BlockEnd {
        /// The length at the start.
        start: u32,
        /// The length at the end.
        end: u32,
    },
    /// A block ends within the named field.
    ShortBlock(&'static str),
    /// More interfaces than the limit.
    TooManyInterfaces,
    /// A packet of an interface without description.
    UnknownInterface {
        /// Interface of the packet.
        interface: u32,
        /// Number of described interfaces.
        known: usize,
    },
    /// A clock resolution finer than 10⁻¹⁹ or 2⁻⁶³ s.
    TimeResolution(u8),
    /// A time before 1970 or after 2554.
    Time,
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.fault)
    }
}

impl fmt::Display for CaptureFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::NotACapture(bytes) => write!(f, "{bytes:02x?} starts neither a pcapng nor a pcap file"),
            Self::Truncated(part) => write!(f, "the file is truncated in the {part}"),
            Self::Version(major, minor) => {
                write!(f, "unknown version {major}.{minor}; supported: pcapng 1.x, pcap 2.x")
            }
            Self::ByteOrder(bytes) => write!(f, "{bytes:02x?} is not a byte order mark"),
            Self::BlockLength(len) => {
                write!(f, "block of {len} bytes; must be a multiple of 4 and at least 12")
            }
            Self::BlockTooLarge(len) => write!(f, "block of {len} bytes; at most {MAX_BLOCK_BYTES}"),
            Self::PacketTooLarge(len) => write!(f, "packet of {len} bytes; at most {MAX_PACKET_BYTES}"),
            Self::BlockEnd { start, end } => write!(f, "block of {start} bytes ends with length {end}"),
            Self::ShortBlock(field) => write!(f, "the block is truncated in the {field}"),
            Self::TooManyInterfaces => write!(f, "more than {MAX_INTERFACES} interfaces"),
            Self::UnknownInterface { interface, known } => {
                write!(f, "packet of interface {interface}, but only {known} are described")
            }
            Self::TimeResolution(code) => write!(f, "time resolution {code:#04x} is finer than 64 bits hold"),
            Self::Time => f.write_str("time before 1970 or after 2554"),
        }
    }
}

impl std::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.fault {
            CaptureFault::Io(error) => Some(error),
            _ => None,
        }
    }
}
