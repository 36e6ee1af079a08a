//! Messages to the kernel about interfaces, filters and addresses (rtnetlink, RFC 3549).
//!
//! A [`Message`] is built attribute by attribute, a [`Socket`] sends it and returns what came back; a [`Listener`] hears of changes. The kernel's refusals are
//! [`Fault`]s, with the sentence it gives as a reason where it has one. Whatever comes back is read by length
//! ([`Attributes`]): a field that is cut short ends the reading, it never reads beyond.

mod socket;

use std::fmt;
use std::io;

pub use socket::{Listener, Socket};

/// Bytes of `struct nlmsghdr`: length, kind, flags, sequence, port.
const HEADER: usize = 16;

/// A request that is being put together.
#[derive(Debug, Clone)]
pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// A request of `kind` (`RTM_…`) with `flags` (`NLM_F_…`) and its fixed `body` (`struct ifinfomsg` and the like).
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

    /// Adds a number of 32 bits.
    pub fn put_u32(&mut self, kind: u16, value: u32) -> &mut Self {
        self.put(kind, &value.to_ne_bytes())
    }

    /// Adds a text, ended by a zero as the kernel wants it.
    pub fn put_text(&mut self, kind: u16, text: &str) -> &mut Self {
        let mut value = text.as_bytes().to_vec();
        value.push(0);
        self.put(kind, &value)
    }

    /// Adds an attribute which holds what `fill` adds.
    pub fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let start = self.bytes.len();
        self.put(kind, &[]);
        fill(self);
        let length =
            u16::try_from(self.bytes.len() - start).expect("attributes are built from bounded values");
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self
    }

    fn flags(&self) -> i32 {
        i32::from(u16::from_ne_bytes([self.bytes[6], self.bytes[7]]))
    }

    fn seal(&mut self, sequence: u32) {
        let length = self.bytes.len() as u32;
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
    }
}

/// One message that came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// What it is (`RTM_…`).
    pub kind: u16,
    /// Everything after the header.
    pub payload: Vec<u8>,
}

impl Reply {
    /// The fixed part of `length` bytes and the attributes after it; `None` if the message is shorter.
    pub fn split(&self, length: usize) -> Option<(&[u8], Attributes<'_>)> {
        let (body, rest) = self.payload.split_at_checked(length)?;
        Some((body, Attributes::new(rest)))
    }
}

/// Attributes in a row of bytes, until they end or one does not fit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attributes<'a> {
    bytes: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// Reads `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Each attribute's kind and value.
    pub fn iter(self) -> impl Iterator<Item = (u16, &'a [u8])> {
        let mut rest = self.bytes;
        std::iter::from_fn(move || {
            let length = usize::from(read_u16(rest, 0)?);
            // The two highest bits say "nested" and "network byte order": they are not of the name.
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

    /// The attributes within the first attribute of `kind`; none if it is absent.
    pub fn within(self, kind: u16) -> Self {
        Self::new(self.get(kind).unwrap_or_default())
    }

    /// A number of 8 bits.
    pub fn u8(self, kind: u16) -> Option<u8> {
        self.get(kind)?.first().copied()
    }

    /// A number of 32 bits.
    pub fn u32(self, kind: u16) -> Option<u32> {
        read_u32(self.get(kind)?, 0)
    }

    /// A text, up to its zero.
    pub fn text(self, kind: u16) -> Option<String> {
        let value = self.get(kind)?;
        let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
        Some(String::from_utf8_lossy(&value[..end]).into_owned())
    }
}

/// Two bytes at `at`, in the machine's order.
pub fn read_u16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Four bytes at `at`, in the machine's order.
pub fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Eight bytes at `at`, in the machine's order.
pub fn read_u64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// What the kernel refused, or what broke on the way to it.
#[derive(Debug)]
pub struct Fault {
    /// The error number.
    pub error: io::Error,
    /// The kernel's own sentence about it (`NETLINK_EXT_ACK`).
    pub text: Option<String>,
}

impl Fault {
    /// The error number, if it is one of the system.
    pub fn errno(&self) -> Option<i32> {
        self.error.raw_os_error()
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self { error, text: None }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => write!(f, "{} (the kernel says: {text})", self.error),
            None => write!(f, "{}", self.error),
        }
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_back_as_they_were_put() {
        let mut message = Message::new(16, 0, &[1, 2, 3]);
        message.put_u32(5, 77).put_text(6, "veth").nest(7, |inner| {
            inner.put(1, &[9; 5]).put_u32(2, 8);
        });
        let reply = Reply { kind: 16, payload: message.bytes[HEADER..].to_vec() };
        let (body, attributes) = reply.split(4).unwrap();
        assert_eq!(body, [1, 2, 3, 0]);
        assert_eq!(attributes.u32(5), Some(77));
        assert_eq!(attributes.text(6).as_deref(), Some("veth"));
        assert_eq!(attributes.within(7).get(1), Some(&[9; 5][..]));
        assert_eq!(attributes.within(7).u32(2), Some(8));
        assert_eq!(attributes.get(8), None);
    }

    /// Every cut of a row of attributes, and every value of its length bytes, ends the reading without a panic.
    #[test]
    fn cut_and_wrong_lengths_end_the_reading() {
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
