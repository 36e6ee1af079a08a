//! Capture files: [`Writer`] makes pcapng, [`Reader`] reads pcapng and the older pcap.
//!
//! A pcapng file is a row of blocks, each with its length at both ends. A section header says which byte order follows and
//! forgets all interfaces; an interface description adds one; packets name theirs. Blocks of other kinds are stepped over.
//! A pcap file is one header and then packets of one nameless interface.
//!
//! The reader trusts nothing: what it holds in memory is bounded by [`MAX_BLOCK_BYTES`] and [`MAX_INTERFACES`] whatever
//! lengths a file claims, and a [`CaptureError`] names the byte at which a file stops making sense.
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
mod fault;
mod fields;
mod input;
mod reader;
mod writer;

pub use fault::{CaptureError, Fault};
pub use reader::Reader;
pub use writer::Writer;

use clock::Clock;

/// The largest block of packets or descriptions that is read. Others are stepped over in any size.
pub const MAX_BLOCK_BYTES: u32 = 1 << 20;
/// The largest packet that is read from a pcap file.
pub const MAX_PACKET_BYTES: u32 = 1 << 18;
/// How many interfaces a section may describe.
pub const MAX_INTERFACES: usize = 4096;
/// The link type of frames that start with a MAC header.
pub const LINK_TYPE_ETHERNET: u16 = 1;

/// One packet of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// Where it was seen: a position among the interfaces of its section.
    pub interface: u32,
    /// When, in nanoseconds since 1970 or since the start of a run. Simple packet blocks know no time: 0.
    pub time_ns: u64,
    /// How long the frame was on the wire; more than `bytes` if the capture cut it.
    pub original_len: u32,
    /// The frame.
    pub bytes: &'a [u8],
    /// What was noted about it; several notes are joined by line ends.
    pub comment: Option<&'a str>,
}

/// Where packets were seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Its name; empty if it has none.
    pub name: String,
    /// How its packets start.
    pub link_type: u16,
    /// Where its packets were cut; 0 for nowhere.
    pub snap_len: u32,
    clock: Clock,
}

/// Numbers and lengths of the format (draft-ietf-opsawg-pcapng).
mod code {
    /// Reads the same in either byte order.
    pub(super) const SECTION_HEADER: u32 = 0x0A0D_0D0A;
    pub(super) const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
    pub(super) const INTERFACE_DESCRIPTION: u32 = 1;
    /// Obsolete, but old files have it.
    pub(super) const PACKET: u32 = 2;
    pub(super) const SIMPLE_PACKET: u32 = 3;
    pub(super) const ENHANCED_PACKET: u32 = 6;

    pub(super) const OPTION_END: u16 = 0;
    pub(super) const OPTION_COMMENT: u16 = 1;
    pub(super) const INTERFACE_NAME: u16 = 2;
    pub(super) const INTERFACE_TIME_RESOLUTION: u16 = 9;
    pub(super) const INTERFACE_TIME_OFFSET: u16 = 14;
    pub(super) const SECTION_APPLICATION: u16 = 4;

    /// Kind, length, and the length again at the end.
    pub(super) const BLOCK_FRAME_BYTES: u32 = 12;
}
