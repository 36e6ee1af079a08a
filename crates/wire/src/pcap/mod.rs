//! Capture files: [`Writer`] writes pcapng, [`Reader`] reads pcapng and pcap.
//!
//! A pcapng file is a sequence of blocks with their length at both ends. A section header sets the byte order
//! and clears all interfaces; an interface description adds one; packets refer to theirs. Other blocks are
//! skipped. A pcap file is one header and then packets of one unnamed interface.
//!
//! The memory of the reader is bounded by [`MAX_BLOCK_BYTES`] and [`MAX_INTERFACES`] for any input, and a
//! [`CaptureError`] has the offset of the error.
//!
//! ```
//! use wiremend_wire::pcap::{Packet, Reader, Writer};
//!
//! let mut writer = Writer::new(Vec::new(), "an example")?;
//! let link = writer.add_interface("link3")?;
//! let comment = Some("corrupted on this link");
//! writer.write(&Packet { interface: link, time_ns: 1_500, original_len: 66, bytes: &[0xAB; 62], comment })?;
//!
//! let file = writer.into_inner();
//! let mut reader = Reader::new(file.as_slice())?;
//! let packet = reader.next_packet()?.unwrap();
//! assert_eq!((packet.time_ns, packet.comment), (1_500, comment));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blocks;
mod classic;
mod clock;
mod error;
mod fields;
mod input;
mod reader;
mod writer;

pub use error::{CaptureError, CaptureFault};
pub use reader::Reader;
pub use writer::Writer;

use clock::Clock;

/// Largest packet or description block that is read. Other blocks are skipped at any size.
pub const MAX_BLOCK_BYTES: u32 = 1 << 20;
/// Largest packet of a pcap file.
pub const MAX_PACKET_BYTES: u32 = 1 << 18;
/// Most interfaces of a section.
pub const MAX_INTERFACES: usize = 4096;
/// Link type of frames that start with a MAC header.
pub const LINK_TYPE_ETHERNET: u16 = 1;

/// One packet of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// Index of the interface in its section.
    pub interface: u32,
    /// Nanoseconds since 1970 or since the start of a run. Simple packet blocks have no time: 0.
    pub time_ns: u64,
    /// Length of the frame on the wire; larger than `bytes` if the capture truncated it.
    pub original_len: u32,
    /// The frame.
    pub bytes: &'a [u8],
    /// Comment; several are joined by line breaks.
    pub comment: Option<&'a str>,
}

/// An interface of a capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Name; empty if it has none.
    pub name: String,
    /// Link type of its packets.
    pub link_type: u16,
    /// Snap length; 0 for none.
    pub snap_len: u32,
    clock: Clock,
}

/// Numbers of the format (draft-ietf-opsawg-pcapng).
mod code {
    /// Equal in both byte orders.
    pub(super) const SECTION_HEADER: u32 = 0x0A0D_0D0A;
    pub(super) const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
    pub(super) const INTERFACE_DESCRIPTION: u32 = 1;
    /// Obsolete, but present in old files.
    pub(super) const PACKET: u32 = 2;
    pub(super) const SIMPLE_PACKET: u32 = 3;
    pub(super) const ENHANCED_PACKET: u32 = 6;

    pub(super) const OPTION_END: u16 = 0;
    pub(super) const OPTION_COMMENT: u16 = 1;
    pub(super) const INTERFACE_NAME: u16 = 2;
    pub(super) const INTERFACE_TIME_RESOLUTION: u16 = 9;
    pub(super) const INTERFACE_TIME_OFFSET: u16 = 14;
    pub(super) const SECTION_APPLICATION: u16 = 4;

    /// Type, length, and length at the end.
    pub(super) const BLOCK_FRAME_BYTES: u32 = 12;
}
