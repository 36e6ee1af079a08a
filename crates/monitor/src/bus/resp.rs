//! What is said to Redis and what it answers (RESP2), in bounded pieces.
//!
//! A server is a program like any other: it may be wrong, or somebody else. Nothing it says makes this grow beyond its bounds.

use std::fmt;

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A word, such as `OK`.
    Word(String),
    /// A number.
    Number(i64),
    /// Bytes, or that there are none.
    Bytes(Option<Vec<u8>>),
    /// Several, or that there are none.
    Several(Option<Vec<Answer>>),
    /// The command was refused.
    Refused(String),
}

/// An answer that is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// It does not begin as answers do.
    Kind(u8),
    /// Where a length or a number should be, there is none.
    Number,
    /// Lines and bytes have to end with CR LF.
    End,
    /// It is longer than anything that is ever asked for.
    Length,
    /// Answers within answers within answers …
    Depth,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(byte) => write!(f, "an answer begins with byte {byte:#04x}; is this Redis?"),
            Self::Number => f.write_str("an answer has no number where one belongs"),
            Self::End => f.write_str("an answer does not end where it should"),
            Self::Length => write!(f, "an answer is longer than {BYTES_MAX} bytes or {ITEMS_MAX} items"),
            Self::Depth => write!(f, "an answer has more than {DEPTH_MAX} levels"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Most bytes of one piece of an answer.
pub const BYTES_MAX: usize = 1 << 20;
/// Most items of an answer.
pub const ITEMS_MAX: usize = 1 << 18;
/// Streams answer four deep.
const DEPTH_MAX: u32 = 8;
/// Longest line: errors and words.
const LINE_MAX: usize = 4096;

/// Puts a command behind what `to` holds.
pub fn put_command(to: &mut Vec<u8>, words: &[&[u8]]) {
    to.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        to.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        to.extend_from_slice(word);
        to.extend_from_slice(b"\r\n");
    }
}

/// The first answer in `bytes` and how many of them it takes; `None` if it has not come whole yet.
pub fn parse(bytes: &[u8]) -> Result<Option<(Answer, usize)>, Malformed> {
    let mut rest = Rest { bytes, at: 0, items: 0 };
    Ok(rest.answer(0)?.map(|answer| (answer, rest.at)))
}

struct Rest<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Items so far, over all levels.
    items: usize,
}

impl Rest<'_> {
    fn answer(&mut self, depth: u32) -> Result<Option<Answer>, Malformed> {
        if depth > DEPTH_MAX {
            return Err(Malformed::Depth);
        }
        let Some(&kind) = self.bytes.get(self.at) else { return Ok(None) };
        if !b"+-:$*".contains(&kind) {
            return Err(Malformed::Kind(kind));
        }
        let Some(line) = self.line()? else { return Ok(None) };
        Ok(match kind {
            b'+' => Some(Answer::Word(text(line))),
            b'-' => Some(Answer::Refused(text(line))),
            b':' => Some(Answer::Number(number(line)?)),
            b'$' => match length(line, BYTES_MAX)? {
                Some(length) => self.take(length)?.map(|bytes| Answer::Bytes(Some(bytes))),
                None => Some(Answer::Bytes(None)),
            },
            _ => match length(line, ITEMS_MAX)? {
                Some(length) => self.several(length, depth)?,
                None => Some(Answer::Several(None)),
            },
        })
    }

    /// The rest of the line behind the kind, without its end.
    fn line(&mut self) -> Result<Option<&[u8]>, Malformed> {
        let from = self.at + 1;
        let window = &self.bytes[from..self.bytes.len().min(from + LINE_MAX)];
        let Some(end) = window.iter().position(|&byte| byte == b'\n') else {
            return if window.len() == LINE_MAX { Err(Malformed::Length) } else { Ok(None) };
        };
        self.at = from + end + 1;
        let line = window[..end].strip_suffix(b"\r").ok_or(Malformed::End)?;
        Ok(Some(line))
    }

    fn take(&mut self, length: usize) -> Result<Option<Vec<u8>>, Malformed> {
        let Some(bytes) = self.bytes.get(self.at..self.at + length + 2) else { return Ok(None) };
        let bytes = bytes.strip_suffix(b"\r\n").ok_or(Malformed::End)?;
        self.at += length + 2;
        Ok(Some(bytes.to_vec()))
    }

    fn several(&mut self, length: usize, depth: u32) -> Result<Option<Answer>, Malformed> {
        self.items += length;
        if self.items > ITEMS_MAX {
            return Err(Malformed::Length);
        }
        // What was announced need not come: room is made for what is there.
        let mut items = Vec::with_capacity(length.min((self.bytes.len() - self.at) / 4));
        for _ in 0..length {
            let Some(item) = self.answer(depth + 1)? else { return Ok(None) };
            items.push(item);
        }
        Ok(Some(Answer::Several(Some(items))))
    }
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

fn number(line: &[u8]) -> Result<i64, Malformed> {
    std::str::from_utf8(line).ok().and_then(|line| line.parse().ok()).ok_or(Malformed::Number)
}

fn length(line: &[u8], most: usize) -> Result<Option<usize>, Malformed> {
    match number(line)? {
        -1 => Ok(None),
        length if length < 0 => Err(Malformed::Number),
        length => {
            usize::try_from(length).ok().filter(|length| *length <= most).map(Some).ok_or(Malformed::Length)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn commands_are_lists_of_bytes() {
        let mut bytes = Vec::new();
        put_command(&mut bytes, &[b"SET", b"a b", b"\r\n"]);
        assert_eq!(bytes, b"*3\r\n$3\r\nSET\r\n$3\r\na b\r\n$2\r\n\r\n\r\n");
    }

    #[test]
    fn answers_are_understood() {
        for (bytes, answer) in [
            (&b"+OK\r\n"[..], Answer::Word("OK".into())),
            (b"-ERR no\r\n", Answer::Refused("ERR no".into())),
            (b":-7\r\n", Answer::Number(-7)),
            (b"$4\r\na\r\nb\r\n", Answer::Bytes(Some(b"a\r\nb".to_vec()))),
            (b"$-1\r\n", Answer::Bytes(None)),
            (b"*-1\r\n", Answer::Several(None)),
            (
                b"*2\r\n:1\r\n*1\r\n+a\r\n",
                list(vec![Answer::Number(1), list(vec![Answer::Word("a".into())])]),
            ),
        ] {
            assert_eq!(parse(bytes), Ok(Some((answer, bytes.len()))));
            for short in 0..bytes.len() {
                assert_eq!(parse(&bytes[..short]), Ok(None), "{short} bytes of {bytes:?}");
            }
        }
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let deep = b"*1\r\n".repeat(20);
        let many = b"*200000\r\n*200000\r\n";
        for (bytes, why) in [
            (&b"HTTP/1.1 400"[..], Malformed::Kind(b'H')),
            (b"$x\r\n", Malformed::Number),
            (b"$-2\r\n", Malformed::Number),
            (b"$2\r\nabcd", Malformed::End),
            (b"+OK\n", Malformed::End),
            (b"$99999999999\r\n", Malformed::Length),
            (many, Malformed::Length),
            (&deep, Malformed::Depth),
            (&[b'+'; 10_000], Malformed::Length),
        ] {
            assert_eq!(parse(bytes), Err(why));
        }
    }

    fn list(items: Vec<Answer>) -> Answer {
        Answer::Several(Some(items))
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(bytes in prop::collection::vec(prop_oneof![
            any::<u8>(), Just(b'*'), Just(b'$'), Just(b'1'), Just(b'\r'), Just(b'\n')
        ], 0..200)) {
            if let Ok(Some((_, taken))) = parse(&bytes) {
                prop_assert!(taken <= bytes.len());
            }
        }
    }
}
