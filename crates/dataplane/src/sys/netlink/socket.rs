//! Questions to the kernel and its answers.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::super::option;
use super::{Attributes, Fault, HEADER, Message, Reply, read_u16, read_u32};

/// Longest datagram read at once; the kernel cuts its dumps into parts of at most 32 KiB.
const DATAGRAM_MAX: usize = 64 * 1024;
/// Attempts of a list that changed while it was read.
const DUMP_ATTEMPTS: usize = 5;
/// Seconds after which a kernel that does not answer is given up.
const ANSWER_SECONDS: libc::time_t = 5;

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
        option::set(&socket.fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &patience)?;
        // Old kernels have no sentences to give: then there are only numbers.
        let _ = option::set(&socket.fd, libc::SOL_NETLINK, libc::NETLINK_EXT_ACK, &1_i32);
        let _ = option::set(&socket.fd, libc::SOL_NETLINK, libc::NETLINK_CAP_ACK, &1_i32);
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
            let length = self.receive(&mut buffer, 0).map_err(unanswered)?;
            answer.take(&buffer[..length])?;
        }
        if answer.interrupted {
            return Err(io::Error::from(io::ErrorKind::Interrupted).into());
        }
        Ok(answer.replies)
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        // SAFETY: pointer and length are those of a slice, which is only read.
        let sent = unsafe { libc::send(self.fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn receive(&self, buffer: &mut [u8], flags: i32) -> io::Result<usize> {
        loop {
            let (start, room) = (buffer.as_mut_ptr().cast(), buffer.len());
            // SAFETY: pointer and length are those of a slice that is ours to write for the time of the call.
            let got = unsafe { libc::recv(self.fd.as_raw_fd(), start, room, flags | libc::MSG_TRUNC) };
            match usize::try_from(got) {
                Ok(length) if length <= room => return Ok(length),
                Ok(_) => return Err(io::Error::other("an answer longer than 64 KiB")),
                Err(_) => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        }
    }
}

fn unanswered(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::other("the kernel does not answer"),
        _ => error,
    }
}

/// A connection on which the kernel tells of changes, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
}

impl Listener {
    /// Listens to the groups of the mask `groups` (`RTMGRP_…`). Needs no privilege.
    pub fn open(groups: i32) -> io::Result<Self> {
        let socket = Socket::open()?;
        // SAFETY: all bytes zero is a valid address; the fields that matter are set below.
        let mut address: libc::sockaddr_nl = unsafe { zeroed() };
        address.nl_family = libc::AF_NETLINK as u16;
        address.nl_groups = groups as u32;
        let size = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        // SAFETY: pointer and length describe `address`, which is only read.
        let outcome = unsafe { libc::bind(socket.fd.as_raw_fd(), (&raw const address).cast(), size) };
        if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(Self { socket }) }
    }

    /// What was told since, without waiting; `None` if so much that some of it was lost.
    pub fn heard(&mut self) -> io::Result<Option<Vec<Reply>>> {
        let mut heard = Vec::new();
        let mut buffer = vec![0; DATAGRAM_MAX];
        loop {
            match self.socket.receive(&mut buffer, libc::MSG_DONTWAIT) {
                Ok(length) => messages(&buffer[..length], |header, payload| {
                    heard.push(Reply { kind: header.kind, payload: payload.to_vec() });
                }),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Some(heard)),
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.fd.as_fd()
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

/// Calls `each` for every message that is whole.
fn messages<'a>(mut datagram: &'a [u8], mut each: impl FnMut(Header, &'a [u8])) {
    while let Some((header, length)) = header(datagram) {
        each(header, &datagram[HEADER..length]);
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
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
