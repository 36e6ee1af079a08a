//! The header of a link that sends again what it corrupts, version 1. Bit by bit: `docs/link-wire.md`.
//!
//! A frame of somebody else's is left as it is; the header is put between its addresses and whatever followed them, as
//! `MACsec` does it. So any protocol survives: VLAN tags, lengths instead of an `EtherType`, a link header within.
//!
//! ```text
//!                     ┌──────────────── added ────────────────┐
//! destination, source │ 0x88B5 │ word 4 │ ACK word 0 or 4      │ EtherType or tag, and the rest   Data, Loose
//! 01:80:…:0E,  source │ 0x88B5 │ word 4 │ ACK word │ body      │ padding to 64 bytes with FCS     all others
//! ```
//!
//! A [`Signal`] is what a header says. [`Dialect`] is how it is written: by which `EtherType`. What arrives is taken apart with
//! [`Dialect::parse`], which borrows, or with [`Dialect::decapsulate`], which closes the gap in place; what leaves is made
//! with [`Dialect::encapsulate`] in front of a frame, or with [`Dialect::emit_own`]. What the published prototype writes instead is in
//! [`prototype`].
//!
//! ```
//! use wiremend_wire::link::{Dialect, Signal};
//!
//! let frame = [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x06][..], &[0; 46]].concat();
//! let signal = Signal::Data { epoch: 3, seq: 77, ordered: true, again: false, ack: None };
//! let mut buffer = [&[0; 16][..], &frame].concat();
//! let start = Dialect::default().encapsulate(&signal, &mut buffer, 16)?;
//! assert_eq!(buffer[start..].len(), frame.len() + 6);
//!
//! let (received, start) = Dialect::default().decapsulate(&mut buffer, start)?;
//! assert_eq!((received, &buffer[start..]), (signal, &frame[..]));
//! # Ok::<(), wiremend_wire::Malformed>(())
//! ```

pub mod prototype;

mod dialect;
mod header;
mod signal;

pub use dialect::{Dialect, Received};
pub use header::{EPOCH_BITS, NUMBER_BITS, VERSION};
pub use signal::{Ack, Hello, HelloKind, Hole, Missing, Signal};
