//! Bytes and values of everything that `RoCEv2` puts on a wire, and of the capture files that hold it.
//!
//! # Two layers
//!
//! A header exists twice. Inside its module lies the *view*: a struct laid over the bytes, as wide as the specification
//! says and proved so at compile time. Outside there is the *repr*: a small value with names and types instead of shifts
//! and masks. `parse` goes from bytes to the value and the bytes after it, and refuses what is not that header with a
//! [`Malformed`]; it never panics, whatever the bytes are. `emit` fills a buffer of exactly `buffer_len`
//! bytes, or `BYTES` where all headers of a kind have one length.
//!
//! A value holds what its bytes mean, not how they are arranged: lengths, pad, checksums and the announcement of the next
//! header are computed from what is carried, so there is no value whose parts contradict each other. Reserved bits and
//! IPv4 options do not survive a round trip; everything with a meaning does.
//!
//! # One frame
//!
//! ```text
//! Ethernet 14 (+4 per VLAN tag) │ IPv4 20 or IPv6 40 │ UDP 8 │ BTH 12 │ extension │ payload │ pad 0–3 │ ICRC 4 │ FCS 4
//!   EthernetRepr                  IpRepr               UdpRepr  BthRepr  Extension                      icrc     fcs
//! └─────────────────────────────────────────────── RoceFrame ─────────────────────────────────────────────────────┘
//! ```
//!
//! [`RoceFrame`] is the whole: reading one tells whether the ICRC is right, or that it could not be checked because the
//! capture cut the frame. [`frame_len`] gives the length of a frame from its operation and payload, for those who count
//! frames and never build them. [`PauseFrame`] is the other kind of frame such a link carries.
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
//!         class: TrafficClass { dscp: 26, ecn: Ecn::Capable0 },
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
//! # Packets that were cut
//!
//! [`HeaderOnly`] is what a switch leaves of a packet that it has no room for.
//!
//! # Links that mend
//!
//! [`link`] is the header by which the two ends of a link send again what it corrupts; [`fec`] is the one by which they restore it from
//! parities.
//!
//! # Captures
//!
//! [`pcap`] writes pcapng with nanoseconds and a comment per packet, and reads pcapng and the older pcap from any machine.

pub mod fec;
pub mod link;
pub mod pcap;

mod crc;
mod frame;
mod header_only;
mod length;
mod mac;
mod malformed;
mod network;
mod numbers;
mod pause;
mod trailer;
mod transport;
mod view;

pub use crc::{CRC_BYTES, Icrc, fcs, fcs_matches, icrc};
pub use frame::{Received, RoceFrame};
pub use header_only::{HeaderOnly, Tag};
pub use length::{Encapsulation, MIN_FRAME_BYTES, WIRE_OVERHEAD_BYTES, frame_len};
pub use mac::MacAddr;
pub use malformed::Malformed;
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
