//! The header of a link with local retransmission, version 1. Format: `docs/reference/link-header.md`.
//!
//! A carried frame is unchanged; the header is between its addresses and the rest, as in `MACsec`. So any
//! protocol can be carried: VLAN tags, lengths instead of an `EtherType`, nested link headers.
//!
//! ```text
//!                     ┌──────────────── added ────────────────┐
//! destination, source │ 0x88B5 │ word 4 │ ACK word 0 or 4      │ EtherType or tag, and the rest   Data,
//! Unprotected
//! 01:80:…:0E,  source │ 0x88B5 │ word 4 │ ACK word │ body      │ padding to 64 bytes with FCS     all others
//! ```
//!
//! A [`LinkHeader`] is the content of a header, a [`LinkCodec`] its encoding with an `EtherType`.
//! [`LinkCodec::parse`] borrows a received frame; [`LinkCodec::decapsulate`] removes the header in place.
//! [`LinkCodec::encapsulate`] inserts a header into a frame; [`LinkCodec::emit_control`] writes a control
//! frame. [`prototype`] has the headers of the published prototype.
//!
//! ```
//! use wiremend_wire::link::{LinkCodec, LinkHeader};
//!
//! let frame = [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x06][..], &[0; 46]].concat();
//! let header = LinkHeader::Data { epoch: 3, seq: 77, ordered: true, retransmitted: false, ack: None };
//! let mut buffer = [&[0; 16][..], &frame].concat();
//! let start = LinkCodec::default().encapsulate(&header, &mut buffer, 16)?;
//! assert_eq!(buffer[start..].len(), frame.len() + 6);
//!
//! let (received, start) = LinkCodec::default().decapsulate(&mut buffer, start)?;
//! assert_eq!((received, &buffer[start..]), (header, &frame[..]));
//! # Ok::<(), wiremend_wire::Malformed>(())
//! ```

pub mod prototype;

mod bytes;
mod codec;
mod link_header;
mod seal;

pub use bytes::{EPOCH_BITS, NUMBER_BITS, VERSION};
pub use codec::{LinkCodec, LinkFrame};
pub use link_header::{Ack, Hello, HelloKind, Hole, LinkHeader, Missing};
pub use seal::{Seal, TAG_BYTES};
