//! Packet formats of `RoCEv2` and of capture files.
//!
//! # Two layers
//!
//! Each header has two types. The private *view* is a struct with the layout of the specification, checked at
//! compile time. The public *repr* is a value with named fields. `parse` reads a value from bytes and returns
//! the remaining bytes; it returns [`Malformed`] for other bytes and never panics. `emit` fills a buffer of
//! exactly `buffer_len` bytes, or `BYTES` if all headers of a kind have one length.
//!
//! A value holds only fields that are independent: lengths, pad, checksums and the type of the next header
//! are computed, so that a value cannot be inconsistent. Reserved bits and IPv4 options are lost in a round
//! trip; all other fields are kept.
//!
//! # One frame
//!
//! ```text
//! Ethernet 14 (+4 per VLAN tag) │ IPv4 20 or IPv6 40 │ UDP 8 │ BTH 12 │ extension │ payload │ pad 0–3 │ ICRC 4 │ FCS 4
//!   EthernetRepr                  IpRepr               UdpRepr  BthRepr  Extension                      icrc     fcs
//! └─────────────────────────────────────────────── RoceFrame ─────────────────────────────────────────────────────┘
//! ```
//!
//! [`RoceFrame`] is a complete frame. Parsing reports whether the ICRC is valid, or that the capture
//! truncated the frame. [`frame_len`] computes the length of a frame from its opcode and payload without
//! building it. [`PauseFrame`] is a PFC or pause frame.
//!
//! ```
//! use wiremend_units::{Psn, QpNum};
//! use wiremend_wire::*;
//!
//! let frame = RoceFrame {
//!     ethernet: EthernetRepr { destination: MacAddr::local(2), source: MacAddr::local(1), vlans: Vlans::Untagged },
//!     ip: IpRepr::V4(Ipv4Repr {
//!         source: [10, 0, 0, 1].into(),
//!         destination: [10, 0, 0, 2].into(),
//!         class: TrafficClass { dscp: 26, ecn: Ecn::Ect0 },
//!         identification: 1,
//!         dont_fragment: true,
//!         ttl: 64,
//!     }),
//!     source_port: 0xC000,
//!     bth: BthRepr { ack_request: true, ..BthRepr::new(Opcode::SendOnly, QpNum::new(0x11), Psn::new(7)) },
//!     extension: Extension::Bare,
//!     payload: b"hello",
//! };
//! let bytes = frame.to_bytes(Trailer::None);
//! let received = RoceFrame::parse(&bytes)?;
//! assert_eq!((received.frame, received.icrc), (frame, Icrc::Good));
//! # Ok::<(), Malformed>(())
//! ```
//!
//! # Trimmed packets
//!
//! [`HeaderOnly`] is the rest of a packet that a switch has trimmed.
//!
//! # Protected links
//!
//! [`link`] is the header of links with local retransmission; [`fec`] is the header of links with forward
//! error correction.
//!
//! # Captures
//!
//! [`pcap`] writes pcapng with nanosecond timestamps and a comment per packet, and reads pcapng and pcap of
//! either byte order.

pub mod fec;
pub mod link;
pub mod pcap;

mod crc;
mod frame;
mod header_only;
mod length;
mod mac;
mod malformed;
mod management;
mod network;
mod numbers;
mod pause;
mod trailer;
mod transport;
mod view;

pub use crc::{CRC_BYTES, Icrc, fcs, fcs_matches, icrc};
pub use frame::{ReceivedFrame, RoceFrame};
pub use header_only::{DcpTag, HeaderOnly};
pub use length::{Encapsulation, MIN_FRAME_BYTES, WIRE_OVERHEAD_BYTES, frame_len};
pub use mac::MacAddr;
pub use malformed::Malformed;
pub use management::{CmAddresses, CmIds, CmMessage, CmReject, CmReply, CmRequest, Mad, gid_of, ip_of};
pub use network::{
    Body, ETHERTYPE_IPV4, ETHERTYPE_IPV6, Ecn, EthernetRepr, IpRepr, IpVersion, Ipv4Repr, Ipv6Repr,
    PROTOCOL_TCP, TcpFlags, TcpRepr, Tpid, TrafficClass, UdpRepr, VlanTag, Vlans,
};
pub use numbers::ROCE_PORT;
pub use pause::{ETHERTYPE_MAC_CONTROL, Pause, PauseFrame, Quanta};
pub use trailer::Trailer;
pub use transport::{
    AethRepr, AtomicAckEthRepr, AtomicEthRepr, BthRepr, Credits, DethRepr, Extension, IethRepr, ImmDtRepr,
    Layout, NakCode, Opcode, RethRepr, RnrTimer, Syndrome,
};
