//! Netlink sockets.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::super::sockopt;
use super::{Attributes, HEADER, Message, NetlinkError, Reply, read_u16, read_u32};

/// Size of the receive buffer; the kernel splits dumps into parts of at most 32 KiB.
const DATAGRAM_MAX: usize = 64 * 1024;
const DUMP_ATTEMPTS: usize = 5;
const ANSWER_SECONDS: libc::time_t = 5;

/// A netlink socket in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    sequence: u32,
}

impl Socket {
    /// Opens a socket for interfaces, filters and addresses. Needs no capability; changes do.
    pub fn open() -> io::Result<Self> {
        Self::open_protocol(libc::NETLINK_ROUTE)
    }

    /// Opens a socket of `protocol` (`NETLINK_…`).
    pub(super) fn open_protocol(protocol: i32) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: plain call without pointers.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, protocol) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just opened and is not shared.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let socket = Self { fd, sequence: 0 };
        let timeout = libc::timeval { tv_sec: ANSWER_SECONDS, tv_usec: 0 };
        sockopt::set(&socket.fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &timeout)?;
        // Old kernels do not support these options: errors then have no message.
        let _ = sockopt::set(&socket.fd, libc::SOL_NETLINK, libc::NETLINK_EXT_ACK, &1_i32);
        let _ = sockopt::set(&socket.fd, libc::SOL_NETLINK, libc::NETLINK_CAP_ACK, &1_i32);
        Ok(socket)
    }

    /// Sends a change and waits for its acknowledgement.
    pub fn change(&mut self, mut message: Message) -> Result<(), NetlinkError> {
        let flags = (message.flags() | libc::NLM_F_ACK) as u16;
        message.bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        self.exchange(message).map(drop)
    }

    /// Sends a query. Returns one reply, or a list if the request has `NLM_F_DUMP`.
    pub fn ask(&mut self, message: &Message) -> Result<Vec<Reply>, NetlinkError> {
        for _ in 0..DUMP_ATTEMPTS {
            match self.exchange(message.clone()) {
                Err(error) if error.source.kind() == io::ErrorKind::Interrupted => {}
                answer => return answer,
            }
        }
        Err(io::Error::other("the list changed each time it was read").into())
    }

    fn exchange(&mut self, mut message: Message) -> Result<Vec<Reply>, NetlinkError> {
        self.sequence = self.sequence.wrapping_add(1);
        message.finish(self.sequence);
        self.send(&message.bytes)?;
        let until_done = message.flags() & (libc::NLM_F_DUMP | libc::NLM_F_ACK) != 0;
        let mut answer = PendingReply::new(self.sequence, until_done);
        let mut buffer = vec![0; DATAGRAM_MAX];
        while !answer.complete {
            let length = self.receive(&mut buffer, 0).map_err(timeout_error)?;
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
            // SAFETY: pointer and length are those of a mutable slice.
            let got = unsafe { libc::recv(self.fd.as_raw_fd(), start, room, flags | libc::MSG_TRUNC) };
            match usize::try_from(got) {
                Ok(length) if length <= room => return Ok(length),
                Ok(_) => return Err(io::Error::other("netlink reply longer than 64 KiB")),
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

fn timeout_error(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::other("no reply from the kernel"),
        _ => error,
    }
}

/// A netlink socket that receives notifications, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
}

impl Listener {
    /// Subscribes to the multicast groups in the mask `groups` (`RTMGRP_…`). Needs no capability.
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

    /// Takes the notifications received so far, without waiting. `None` if some were lost.
    pub fn take_messages(&mut self) -> io::Result<Option<Vec<Reply>>> {
        let mut received = Vec::new();
        let mut buffer = vec![0; DATAGRAM_MAX];
        loop {
            match self.socket.receive(&mut buffer, libc::MSG_DONTWAIT) {
                Ok(length) => messages(&buffer[..length], |header, payload| {
                    received.push(Reply { kind: header.kind, payload: payload.to_vec() });
                }),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Some(received)),
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

/// The reply to a request, while it is received.
struct PendingReply {
    sequence: u32,
    until_done: bool,
    complete: bool,
    interrupted: bool,
    replies: Vec<Reply>,
}

impl PendingReply {
    fn new(sequence: u32, until_done: bool) -> Self {
        Self { sequence, until_done, complete: false, interrupted: false, replies: Vec::new() }
    }

    /// Parses a datagram of one or more messages. Ignores replies to other requests.
    fn take(&mut self, mut datagram: &[u8]) -> Result<(), NetlinkError> {
        while !self.complete {
            let Some((header, length)) = parse_header(datagram) else { break };
            let payload = &datagram[HEADER..length];
            datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
            if header.sequence != self.sequence {
                continue;
            }
            self.interrupted |= i32::from(header.flags) & libc::NLM_F_DUMP_INTR != 0;
            match i32::from(header.kind) {
                libc::NLMSG_ERROR => {
                    self.complete = true;
                    check_error(payload, usize::MAX, i32::from(header.flags))?;
                }
                libc::NLMSG_DONE => {
                    self.complete = true;
                    check_error(payload, 4, i32::from(header.flags))?;
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

fn messages<'a>(mut datagram: &'a [u8], mut each: impl FnMut(Header, &'a [u8])) {
    while let Some((header, length)) = parse_header(datagram) {
        each(header, &datagram[HEADER..length]);
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

struct Header {
    kind: u16,
    flags: u16,
    sequence: u32,
}

/// Parses the header at the start of `bytes`. Returns it and the message length, if the message is complete.
fn parse_header(bytes: &[u8]) -> Option<(Header, usize)> {
    let length = read_u32(bytes, 0)? as usize;
    if length < HEADER || length > bytes.len() {
        return None;
    }
    let header =
        Header { kind: read_u16(bytes, 4)?, flags: read_u16(bytes, 6)?, sequence: read_u32(bytes, 8)? };
    Some((header, length))
}

/// Returns the error of an acknowledgement or of the end of a list, if its number is not 0.
///
/// In an acknowledgement the request header follows the error number (the whole request without
/// `NETLINK_CAP_ACK`), then the attributes of the extended acknowledgement. At the end of a list they follow
/// the number directly (`skip` 4).
fn check_error(payload: &[u8], skip: usize, flags: i32) -> Result<(), NetlinkError> {
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
    let attributes = if flags & libc::NLM_F_ACK_TLVS != 0 { payload.get(start..) } else { None };
    let text = attributes.and_then(|bytes| Attributes::new(bytes).text(NLMSGERR_ATTR_MSG));
    Err(NetlinkError { source: io::Error::from_raw_os_error(number.saturating_neg()), text })
}

/// `linux/netlink.h`.
const NLMSGERR_ATTR_MSG: u16 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_replies_are_ignored() {
        let mut done = Message::new(libc::NLMSG_DONE as u16, 0, &[0; 4]);
        done.finish(7);
        for end in 0..done.bytes.len() {
            let mut answer = PendingReply::new(7, true);
            answer.take(&done.bytes[..end]).unwrap();
            assert!(!answer.complete);
        }
        let mut answer = PendingReply::new(7, true);
        answer.take(&done.bytes).unwrap();
        assert!(answer.complete);
        for length in [0, 1, 15, 21, u32::MAX] {
            done.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
            PendingReply::new(7, true).take(&done.bytes).unwrap();
        }
    }

    #[test]
    fn error_carries_the_kernel_message() {
        let mut error =
            Message::new(libc::NLMSG_ERROR as u16, libc::NLM_F_CAPPED | libc::NLM_F_ACK_TLVS, &[]);
        error.append(&(-libc::EINVAL).to_ne_bytes());
        error.append(&[0; HEADER]);
        error.put_text(NLMSGERR_ATTR_MSG, "no such thing");
        error.finish(3);
        let error = PendingReply::new(3, true).take(&error.bytes).unwrap_err();
        assert_eq!(error.errno(), Some(libc::EINVAL));
        assert_eq!(error.text.as_deref(), Some("no such thing"));
    }
}
