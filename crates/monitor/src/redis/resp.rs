//! Encoding of Redis commands and decoding of replies (RESP2).
//!
//! All sizes are bounded, because the server may be faulty or compromised.

use std::fmt;

/// A reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// A simple string, such as `OK`.
    Simple(String),
    /// An integer.
    Integer(i64),
    /// A bulk string, possibly null.
    Bulk(Option<Vec<u8>>),
    /// An array, possibly null.
    Array(Option<Vec<Reply>>),
    /// An error.
    Error(String),
}

/// Why bytes are not a valid reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MalformedReply {
    /// The first byte is not a RESP type.
    Kind(u8),
    /// A length or integer is missing or invalid.
    Number,
    /// A line or bulk string does not end with CR LF.
    End,
    /// A reply exceeds the size limits.
    Length,
    /// Arrays are nested too deeply.
    Depth,
}

impl fmt::Display for MalformedReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(byte) => write!(f, "a reply starts with byte {byte:#04x}; is this Redis?"),
            Self::Number => f.write_str("a reply has an invalid length or integer"),
            Self::End => f.write_str("a reply does not end with CR LF"),
            Self::Length => write!(f, "a reply is longer than {BYTES_MAX} bytes or {ITEMS_MAX} items"),
            Self::Depth => write!(f, "a reply has more than {DEPTH_MAX} levels"),
        }
    }
}

impl std::error::Error for MalformedReply {}

/// Maximum length of a bulk string in bytes.
pub const BYTES_MAX: usize = 1 << 20;
/// Maximum number of array items.
pub const ITEMS_MAX: usize = 1 << 18;
/// Maximum nesting depth. Replies of `XREAD` have four levels.
const DEPTH_MAX: u32 = 8;
/// Maximum length of a simple string or error.
const LINE_MAX: usize = 4096;

/// Appends a command to `to`.
pub fn emit_command(to: &mut Vec<u8>, args: &[&[u8]]) {
    to.extend_from_slice(format!("*{}\r\n", args.len()).as_bytes());
    for arg in args {
        to.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
        to.extend_from_slice(arg);
        to.extend_from_slice(b"\r\n");
    }
}

/// Parses the first reply in `bytes`. Returns it with its length; `None` if it is incomplete.
pub fn parse(bytes: &[u8]) -> Result<Option<(Reply, usize)>, MalformedReply> {
    let mut parser = Parser { bytes, at: 0, items: 0 };
    Ok(parser.reply(0)?.map(|reply| (reply, parser.at)))
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Number of items so far, over all levels.
    items: usize,
}

impl Parser<'_> {
    fn reply(&mut self, depth: u32) -> Result<Option<Reply>, MalformedReply> {
        if depth > DEPTH_MAX {
            return Err(MalformedReply::Depth);
        }
        let Some(&kind) = self.bytes.get(self.at) else { return Ok(None) };
        if !b"+-:$*".contains(&kind) {
            return Err(MalformedReply::Kind(kind));
        }
        let Some(line) = self.line()? else { return Ok(None) };
        Ok(match kind {
            b'+' => Some(Reply::Simple(text(line))),
            b'-' => Some(Reply::Error(text(line))),
            b':' => Some(Reply::Integer(number(line)?)),
            b'$' => match length(line, BYTES_MAX)? {
                Some(length) => self.take(length)?.map(|bytes| Reply::Bulk(Some(bytes))),
                None => Some(Reply::Bulk(None)),
            },
            _ => match length(line, ITEMS_MAX)? {
                Some(length) => self.array(length, depth)?,
                None => Some(Reply::Array(None)),
            },
        })
    }

    /// Returns the line after the type byte, without CR LF.
    fn line(&mut self) -> Result<Option<&[u8]>, MalformedReply> {
        let from = self.at + 1;
        let window = &self.bytes[from..self.bytes.len().min(from + LINE_MAX)];
        let Some(end) = window.iter().position(|&byte| byte == b'\n') else {
            return if window.len() == LINE_MAX { Err(MalformedReply::Length) } else { Ok(None) };
        };
        self.at = from + end + 1;
        let line = window[..end].strip_suffix(b"\r").ok_or(MalformedReply::End)?;
        Ok(Some(line))
    }

    fn take(&mut self, length: usize) -> Result<Option<Vec<u8>>, MalformedReply> {
        let Some(bytes) = self.bytes.get(self.at..self.at + length + 2) else { return Ok(None) };
        let bytes = bytes.strip_suffix(b"\r\n").ok_or(MalformedReply::End)?;
        self.at += length + 2;
        Ok(Some(bytes.to_vec()))
    }

    fn array(&mut self, length: usize, depth: u32) -> Result<Option<Reply>, MalformedReply> {
        self.items += length;
        if self.items > ITEMS_MAX {
            return Err(MalformedReply::Length);
        }
        // The announced items may never arrive: allocate only for bytes that are there.
        let mut items = Vec::with_capacity(length.min((self.bytes.len() - self.at) / 4));
        for _ in 0..length {
            let Some(item) = self.reply(depth + 1)? else { return Ok(None) };
            items.push(item);
        }
        Ok(Some(Reply::Array(Some(items))))
    }
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

fn number(line: &[u8]) -> Result<i64, MalformedReply> {
    std::str::from_utf8(line).ok().and_then(|line| line.parse().ok()).ok_or(MalformedReply::Number)
}

fn length(line: &[u8], most: usize) -> Result<Option<usize>, MalformedReply> {
    match number(line)? {
        -1 => Ok(None),
        length if length < 0 => Err(MalformedReply::Number),
        length => usize::try_from(length)
            .ok()
            .filter(|length| *length <= most)
            .map(Some)
            .ok_or(MalformedReply::Length),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn commands_are_arrays_of_bulk_strings() {
        let mut bytes = Vec::new();
        emit_command(&mut bytes, &[b"SET", b"a b", b"\r\n"]);
        assert_eq!(bytes, b"*3\r\n$3\r\nSET\r\n$3\r\na b\r\n$2\r\n\r\n\r\n");
    }

    #[test]
    fn replies_are_parsed() {
        for (bytes, reply) in [
            (&b"+OK\r\n"[..], Reply::Simple("OK".into())),
            (b"-ERR no\r\n", Reply::Error("ERR no".into())),
            (b":-7\r\n", Reply::Integer(-7)),
            (b"$4\r\na\r\nb\r\n", Reply::Bulk(Some(b"a\r\nb".to_vec()))),
            (b"$-1\r\n", Reply::Bulk(None)),
            (b"*-1\r\n", Reply::Array(None)),
            (
                b"*2\r\n:1\r\n*1\r\n+a\r\n",
                list(vec![Reply::Integer(1), list(vec![Reply::Simple("a".into())])]),
            ),
        ] {
            assert_eq!(parse(bytes), Ok(Some((reply, bytes.len()))));
            for short in 0..bytes.len() {
                assert_eq!(parse(&bytes[..short]), Ok(None), "{short} bytes of {bytes:?}");
            }
        }
    }

    #[test]
    fn malformed_replies_are_rejected() {
        let deep = b"*1\r\n".repeat(20);
        let many = b"*200000\r\n*200000\r\n";
        for (bytes, reason) in [
            (&b"HTTP/1.1 400"[..], MalformedReply::Kind(b'H')),
            (b"$x\r\n", MalformedReply::Number),
            (b"$-2\r\n", MalformedReply::Number),
            (b"$2\r\nabcd", MalformedReply::End),
            (b"+OK\n", MalformedReply::End),
            (b"$99999999999\r\n", MalformedReply::Length),
            (many, MalformedReply::Length),
            (&deep, MalformedReply::Depth),
            (&[b'+'; 10_000], MalformedReply::Length),
        ] {
            assert_eq!(parse(bytes), Err(reason));
        }
    }

    fn list(items: Vec<Reply>) -> Reply {
        Reply::Array(Some(items))
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic(bytes in prop::collection::vec(prop_oneof![
            any::<u8>(), Just(b'*'), Just(b'$'), Just(b'1'), Just(b'\r'), Just(b'\n')
        ], 0..200)) {
            if let Ok(Some((_, taken))) = parse(&bytes) {
                prop_assert!(taken <= bytes.len());
            }
        }
    }
}
