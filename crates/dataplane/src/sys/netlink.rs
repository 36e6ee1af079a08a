//! Messages to the kernel about interfaces, filters and addresses (rtnetlink, RFC 3549).
//!
//! A [`Message`] is built attribute by attribute, a [`Socket`] sends it and returns what came back. The kernel's refusals are
//! [`Fault`]s, with the sentence it gives as a reason where it has one. Whatever comes back is read by length
//! ([`Attributes`]): a field that is cut short ends the reading, it never reads beyond.

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Bytes of `struct nlmsghdr`: length, kind, flags, sequence, port.
const HEADER: usize = 16;
/// Longest datagram read at once; the kernel cuts its dumps into parts of at most 32 KiB.
const DATAGRAM_MAX: usize = 64 * 1024;
/// Attempts of a list that changed while it was read.
const DUMP_ATTEMPTS: usize = 5;
/// Seconds after which a kernel that does not answer is given up.
const ANSWER_SECONDS: libc::time_t = 5;

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
#[derive(Debug, Clone, Copy)]
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

/// A connection to the kernel, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    sequence: u32,
}

impl Socket {
    /// Opens one. Needs no privilege; changes do.
    pub fn open() -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: plain call without pointers.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just opened and belongs to nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let socket = Self { fd, sequence: 0 };
        let patience = libc::timeval { tv_sec: ANSWER_SECONDS, tv_usec: 0 };
        socket.set(libc::SOL_SOCKET, libc::SO_RCVTIMEO, patience)?;
        // Old kernels have no sentences to give: then there are only numbers.
        let _ = socket.set(libc::SOL_NETLINK, libc::NETLINK_EXT_ACK, 1_i32);
        let _ = socket.set(libc::SOL_NETLINK, libc::NETLINK_CAP_ACK, 1_i32);
        Ok(socket)
    }

    /// Asks for a change and waits until it is made or refused.
    pub fn change(&mut self, mut message: Message) -> Result<(), Fault> {
        let flags = (message.flags() | libc::NLM_F_ACK) as u16;
        message.bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        self.exchange(message).map(drop)
    }

    /// Asks for facts: one message, or a list if the request has `NLM_F_DUMP`.
    pub fn ask(&mut self, message: &Message) -> Result<Vec<Reply>, Fault> {
        for _ in 0..DUMP_ATTEMPTS {
            match self.exchange(message.clone()) {
                Err(fault) if fault.error.kind() == io::ErrorKind::Interrupted => {}
                answer => return answer,
            }
        }
        Err(io::Error::other("the list changed each time it was read").into())
    }

    fn exchange(&mut self, mut message: Message) -> Result<Vec<Reply>, Fault> {
        self.sequence = self.sequence.wrapping_add(1);
        message.seal(self.sequence);
        self.send(&message.bytes)?;
        let until_done = message.flags() & (libc::NLM_F_DUMP | libc::NLM_F_ACK) != 0;
        let mut answer = Answer::new(self.sequence, until_done);
        let mut buffer = vec![0; DATAGRAM_MAX];
        while !answer.complete {
            let length = self.receive(&mut buffer)?;
            answer.take(&buffer[..length])?;
        }
        if answer.interrupted {
            return Err(io::Error::from(io::ErrorKind::Interrupted).into());
        }
        Ok(answer.replies)
    }

    fn set<T: Copy>(&self, level: i32, option: i32, value: T) -> io::Result<()> {
        let length = size_of::<T>() as libc::socklen_t;
        // SAFETY: pointer and length describe `value`, which outlives the call and is only read.
        let outcome = unsafe {
            libc::setsockopt(self.fd.as_raw_fd(), level, option, (&raw const value).cast(), length)
        };
        if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        // SAFETY: pointer and length are those of a slice, which is only read.
        let sent = unsafe { libc::send(self.fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // SAFETY: pointer and length are those of a slice that is ours to write for the time of the call.
            let got = unsafe {
                libc::recv(self.fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_TRUNC)
            };
            match usize::try_from(got) {
                Ok(length) if length <= buffer.len() => return Ok(length),
                Ok(_) => return Err(io::Error::other("an answer longer than 64 KiB")),
                Err(_) => {
                    let error = io::Error::last_os_error();
                    match error.kind() {
                        io::ErrorKind::Interrupted => {}
                        io::ErrorKind::WouldBlock => {
                            return Err(io::Error::other("the kernel does not answer"));
                        }
                        _ => return Err(error),
                    }
                }
            }
        }
    }
}

/// What has come back of one request.
struct Answer {
    sequence: u32,
    until_done: bool,
    complete: bool,
    interrupted: bool,
    replies: Vec<Reply>,
}

impl Answer {
    fn new(sequence: u32, until_done: bool) -> Self {
        Self { sequence, until_done, complete: false, interrupted: false, replies: Vec::new() }
    }

    /// Reads a datagram of one or more messages; those of other requests are left aside.
    fn take(&mut self, mut datagram: &[u8]) -> Result<(), Fault> {
        while !self.complete {
            let Some((header, length)) = header(datagram) else { break };
            let payload = &datagram[HEADER..length];
            datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
            if header.sequence != self.sequence {
                continue;
            }
            self.interrupted |= i32::from(header.flags) & libc::NLM_F_DUMP_INTR != 0;
            match i32::from(header.kind) {
                libc::NLMSG_ERROR => {
                    self.complete = true;
                    refusal(payload, usize::MAX, i32::from(header.flags))?;
                }
                libc::NLMSG_DONE => {
                    self.complete = true;
                    refusal(payload, 4, i32::from(header.flags))?;
                }
                libc::NLMSG_NOOP => {}
                _ => {
                    self.replies.push(Reply { kind: header.kind, payload: payload.to_vec() });
                    self.complete = !self.until_done;
                }
            }
        }
        Ok(())
    }
}

struct Header {
    kind: u16,
    flags: u16,
    sequence: u32,
}

/// The header at the start of `bytes` and the length of its message, if all of it is there.
fn header(bytes: &[u8]) -> Option<(Header, usize)> {
    let length = read_u32(bytes, 0)? as usize;
    if length < HEADER || length > bytes.len() {
        return None;
    }
    let header =
        Header { kind: read_u16(bytes, 4)?, flags: read_u16(bytes, 6)?, sequence: read_u32(bytes, 8)? };
    Some((header, length))
}

/// The error in an acknowledgement or at the end of a list; none if its number is 0.
///
/// An acknowledgement repeats the request's header after the number (all of the request without `NETLINK_CAP_ACK`), and
/// the attributes of the extended acknowledgement follow; in the end of a list they follow the number at once (`skip` 4).
fn refusal(payload: &[u8], skip: usize, flags: i32) -> Result<(), Fault> {
    let number = read_u32(payload, 0).unwrap_or_default() as i32;
    if number == 0 {
        return Ok(());
    }
    let repeated = if flags & libc::NLM_F_CAPPED != 0 {
        HEADER
    } else {
        (read_u32(payload, 4).unwrap_or_default() as usize).next_multiple_of(4)
    };
    let start = skip.min(repeated.saturating_add(4));
    let told = if flags & libc::NLM_F_ACK_TLVS != 0 { payload.get(start..) } else { None };
    let text = told.and_then(|bytes| Attributes::new(bytes).text(NLMSGERR_ATTR_MSG));
    Err(Fault { error: io::Error::from_raw_os_error(number.saturating_neg()), text })
}

/// `linux/netlink.h`.
const NLMSGERR_ATTR_MSG: u16 = 1;

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

    /// An answer may be cut anywhere or claim any length: it is left aside, and never read beyond its end.
    #[test]
    fn hostile_answers_are_left_aside() {
        let mut done = Message::new(libc::NLMSG_DONE as u16, 0, &[0; 4]);
        done.seal(7);
        for end in 0..done.bytes.len() {
            let mut answer = Answer::new(7, true);
            answer.take(&done.bytes[..end]).unwrap();
            assert!(!answer.complete);
        }
        let mut answer = Answer::new(7, true);
        answer.take(&done.bytes).unwrap();
        assert!(answer.complete);
        for length in [0, 1, 15, 21, u32::MAX] {
            done.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
            Answer::new(7, true).take(&done.bytes).unwrap();
        }
    }

    /// The kernel's sentence comes after the header of the refused request.
    #[test]
    fn the_sentence_of_a_refusal_is_carried() {
        let mut error =
            Message::new(libc::NLMSG_ERROR as u16, libc::NLM_F_CAPPED | libc::NLM_F_ACK_TLVS, &[]);
        error.append(&(-libc::EINVAL).to_ne_bytes());
        error.append(&[0; HEADER]);
        error.put_text(NLMSGERR_ATTR_MSG, "no such thing");
        error.seal(3);
        let fault = Answer::new(3, true).take(&error.bytes).unwrap_err();
        assert_eq!(fault.errno(), Some(libc::EINVAL));
        assert_eq!(fault.text.as_deref(), Some("no such thing"));
    }
}
