//! What is wrong with a capture file, and where.

use std::{fmt, io};

use super::{MAX_BLOCK_BYTES, MAX_INTERFACES, MAX_PACKET_BYTES};

/// Why a capture file cannot be read on.
#[derive(Debug)]
pub struct CaptureError {
    /// The byte of the file at which it stops making sense.
    pub offset: u64,
    /// What is wrong there.
    pub fault: Fault,
}

/// What is wrong with a capture file.
#[derive(Debug)]
pub enum Fault {
    /// The file cannot be read.
    Io(io::Error),
    /// It starts like no capture.
    NotACapture([u8; 4]),
    /// It ends within the named part.
    Truncated(&'static str),
    /// A version of the format that is not known: major and minor number.
    Version(u16, u16),
    /// A section header without a byte order.
    ByteOrder([u8; 4]),
    /// A block length that is too small or not a multiple of four.
    BlockLength(u32),
    /// A block too large to be a packet.
    BlockTooLarge(u32),
    /// A packet too large to be one.
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
    /// More interfaces than can be held.
    TooManyInterfaces,
    /// A packet of an interface that was not described.
    UnknownInterface {
        /// As the packet says.
        interface: u32,
        /// How many there are.
        known: usize,
    },
    /// A clock finer than 10⁻¹⁹ or 2⁻⁶³ s.
    TimeResolution(u8),
    /// A time before 1970 or after 2554.
    Time,
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::NotACapture(bytes) => write!(f, "{bytes:02x?} starts neither a pcapng nor a pcap file"),
            Self::Truncated(part) => write!(f, "the file ends within the {part}"),
            Self::Version(major, minor) => {
                write!(f, "version {major}.{minor} is not known (pcapng has 1.x, pcap 2.x)")
            }
            Self::ByteOrder(bytes) => write!(f, "{bytes:02x?} is no byte order"),
            Self::BlockLength(len) => write!(f, "a block of {len} bytes (a multiple of 4, at least 12)"),
            Self::BlockTooLarge(len) => write!(f, "a block of {len} bytes (at most {MAX_BLOCK_BYTES})"),
            Self::PacketTooLarge(len) => write!(f, "a packet of {len} bytes (at most {MAX_PACKET_BYTES})"),
            Self::BlockEnd { start, end } => write!(f, "a block of {start} bytes says {end} at its end"),
            Self::ShortBlock(field) => write!(f, "the block ends within the {field}"),
            Self::TooManyInterfaces => write!(f, "more than {MAX_INTERFACES} interfaces"),
            Self::UnknownInterface { interface, known } => {
                write!(f, "a packet of interface {interface}, but only {known} are described")
            }
            Self::TimeResolution(code) => write!(f, "time resolution {code:#04x} is finer than 64 bits hold"),
            Self::Time => f.write_str("a time before 1970 or after 2554"),
        }
    }
}

impl std::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.fault {
            Fault::Io(error) => Some(error),
            _ => None,
        }
    }
}
