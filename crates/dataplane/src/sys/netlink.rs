//! Netlink messages about interfaces, filters and addresses (rtnetlink, RFC 3549), and to generic families.
//!
//! A [`Message`] is built attribute by attribute. A [`Socket`] sends it and returns the replies. A
//! [`Listener`] receives notifications. A [`NetlinkError`] carries the kernel's message where there is one.
//! [`Attributes`] are parsed by length: a truncated attribute ends the parsing.

mod generic;
mod socket;

use std::fmt;
use std::io;

pub use generic::GenericFamily;
pub use socket::{Listener, Socket};

/// Bytes of `struct nlmsghdr`: length, kind, flags, sequence, port.
const HEADER: usize = 16;

/// Builder of a netlink request.
#[derive(Debug, Clone)]
pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// Creates a request of `kind` (`RTM_…`) with `flags` (`NLM_F_…`) and a fixed `body`.
    pub fn new(kind: u16, flags: i32, body: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags as u16 | libc::NLM_F_REQUEST as u16).to_ne_bytes());
        let mut message = Self { bytes };
        message.append(body);
        message
    }

    /// Adds a fixed part, padded to four bytes.
    pub fn append(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(part);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// Adds an attribute.
    pub fn put(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        let length = u16::try_from(value.len() + 4).expect("attributes are built from bounded values");
        self.bytes.extend_from_slice(&length.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.append(value);
        self
    }

    /// Adds a 32-bit attribute.
    pub fn put_u32(&mut self, kind: u16, value: u32) -> &mut Self {
        self.put(kind, &value.to_ne_bytes())
    }

    /// Adds a NUL-terminated string attribute.
    pub fn put_text(&mut self, kind: u16, text: &str) -> &mut Self {
        let mut value = text.as_bytes().to_vec();
        value.push(0);
        self.put(kind, &value)
    }

    /// Adds a nested attribute with the attributes that `fill` adds.
    pub fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let start = self.bytes.len();
        self.put(kind, &[]);
        fill(self);
        let length =
            u16::try_from(self.bytes.len() - start).expect("attributes are built from bounded values");
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self
    }

    /// Returns the message as the reply that a kernel would send.
    #[cfg(test)]
    pub fn into_reply(self) -> Reply {
        Reply {
            kind: u16::from_ne_bytes([self.bytes[4], self.bytes[5]]),
            payload: self.bytes[HEADER..].to_vec(),
        }
    }

    fn flags(&self) -> i32 {
        i32::from(u16::from_ne_bytes([self.bytes[6], self.bytes[7]]))
    }

    fn finish(&mut self, sequence: u32) {
        let length = self.bytes.len() as u32;
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
    }
}

/// A reply message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Message type (`RTM_…`).
    pub kind: u16,
    /// Everything after the header.
    pub payload: Vec<u8>,
}

impl Reply {
    /// Splits the reply into a fixed part of `length` bytes and its attributes. `None` if it is shorter.
    pub fn split(&self, length: usize) -> Option<(&[u8], Attributes<'_>)> {
        let (body, rest) = self.payload.split_at_checked(length)?;
        Some((body, Attributes::new(rest)))
    }
}

/// A sequence of attributes. A truncated attribute ends it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attributes<'a> {
    bytes: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// Parses `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Iterates over kind and value of the attributes.
    pub fn iter(self) -> impl Iterator<Item = (u16, &'a [u8])> {
        let mut rest = self.bytes;
        std::iter::from_fn(move || {
            let length = usize::from(read_u16(rest, 0)?);
            // The two highest bits are the flags "nested" and "network byte order".
            let kind = read_u16(rest, 2)? & 0x3FFF;
            let value = rest.get(4..length)?;
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            Some((kind, value))
        })
    }

    /// The value of the first attribute of `kind`.
    pub fn get(self, kind: u16) -> Option<&'a [u8]> {
        self.iter().find(|(found, _)| *found == kind).map(|(_, value)| value)
    }

    /// The nested attributes of the first attribute of `kind`; empty if it is absent.
    pub fn within(self, kind: u16) -> Self {
        Self::new(self.get(kind).unwrap_or_default())
    }

    /// The value of an 8-bit attribute.
    pub fn u8(self, kind: u16) -> Option<u8> {
        self.get(kind)?.first().copied()
    }

    /// The value of a 32-bit attribute.
    pub fn u32(self, kind: u16) -> Option<u32> {
        read_u32(self.get(kind)?, 0)
    }

    /// The value of a string attribute.
    pub fn text(self, kind: u16) -> Option<String> {
        let value = self.get(kind)?;
        let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
        Some(String::from_utf8_lossy(&value[..end]).into_owned())
    }
}

/// Reads two bytes at `at`, in host byte order.
pub fn read_u16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Reads four bytes at `at`, in host byte order.
pub fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Reads eight bytes at `at`, in host byte order.
pub fn read_u64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Error of a netlink request.
#[derive(Debug)]
pub struct NetlinkError {
    /// The error number.
    pub source: io::Error,
    /// The kernel's message (`NETLINK_EXT_ACK`).
    pub text: Option<String>,
}

impl NetlinkError {
    /// The error number, if it comes from the system.
    pub fn errno(&self) -> Option<i32> {
        self.source.raw_os_error()
    }
}

impl From<io::Error> for NetlinkError {
    fn from(source: io::Error) -> Self {
        Self { source, text: None }
    }
}

impl fmt::Display for NetlinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => write!(f, "{} ({text})", self.source),
            None => write!(f, "{}", self.source),
        }
    }
}

impl std::error::Error for NetlinkError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_survive_building_and_parsing() {
        let mut message = Message::new(16, 0, &[1, 2, 3]);
        message.put_u32(5, 77).put_text(6, "veth").nest(7, |inner| {
            inner.put(1, &[9; 5]).put_u32(2, 8);
        });
        let reply = message.into_reply();
        let (body, attributes) = reply.split(4).unwrap();
        assert_eq!(body, [1, 2, 3, 0]);
        assert_eq!(attributes.u32(5), Some(77));
        assert_eq!(attributes.text(6).as_deref(), Some("veth"));
        assert_eq!(attributes.within(7).get(1), Some(&[9; 5][..]));
        assert_eq!(attributes.within(7).u32(2), Some(8));
        assert_eq!(attributes.get(8), None);
    }

    /// Truncating the attributes anywhere, or any value of a length field, never causes a panic.
    #[test]
    fn truncated_and_wrong_lengths_end_the_parsing() {
        let mut message = Message::new(16, 0, &[]);
        message.put_u32(1, 1).put(2, &[3; 7]).put_u32(3, 4);
        let whole = &message.bytes[HEADER..];
        for end in 0..whole.len() {
            assert!(Attributes::new(&whole[..end]).iter().count() < 3);
        }
        for length in 0..=u16::MAX {
            let mut wrong = whole.to_vec();
            wrong[8..10].copy_from_slice(&length.to_ne_bytes());
            assert!(Attributes::new(&wrong).iter().count() <= 4);
        }
    }
}
