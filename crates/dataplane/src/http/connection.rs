//! A connection of a client: reads one request, sends one answer.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use wiremend_units::{Span, Time};

use super::request::{BODY_BYTES_MAX, HEAD_BYTES_MAX, Peer, Refusal, Request};
use super::response::Response;
use crate::sys::credentials;

/// A request must be complete this long after the connection.
const REQUEST_TIME_MAX: Span = Span::from_ms(5_000);
/// An answer that is computed elsewhere must be there after this time.
const ANSWER_TIME_MAX: Span = Span::from_ms(10_000);
/// A client must read something within this time.
const SEND_TIME_MAX: Span = Span::from_ms(10_000);
/// Time for the client to close. A connection that is closed with unread input loses its last answer.
const LINGER_TIME_MAX: Span = Span::from_ms(1_000);
/// A stream gets a comment after this time without an event, so that broken connections are noticed.
const COMMENT_INTERVAL: Span = Span::from_ms(15_000);
/// Maximum number of bytes that wait for a reader of a stream.
const QUEUE_BYTES_MAX: usize = 4 << 20;

/// A connected socket.
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Receives the request.
    Reading,
    /// The answer is computed elsewhere.
    Waiting,
    /// Sends the answer.
    Sending,
    /// Sends events until the client closes.
    Streaming,
    /// Everything is sent; the client closes.
    Lingering,
    Closed,
}

/// A connection.
pub(super) struct Connection {
    pub(super) id: u64,
    socket: Socket,
    peer: Peer,
    phase: Phase,
    input: Vec<u8>,
    output: VecDeque<Arc<[u8]>>,
    /// Bytes of the first output that are sent.
    sent: usize,
    deadline: Time,
}

impl Connection {
    pub(super) fn new(id: u64, socket: Socket, now: Time) -> io::Result<Self> {
        let peer = match &socket {
            Socket::Tcp(stream) => {
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                Peer::Tcp(stream.peer_addr()?)
            }
            Socket::Unix(stream) => {
                stream.set_nonblocking(true)?;
                Peer::Unix { uid: credentials::peer_uid(stream.as_fd())? }
            }
        };
        Ok(Self {
            id,
            socket,
            peer,
            phase: Phase::Reading,
            input: Vec::new(),
            output: VecDeque::new(),
            sent: 0,
            deadline: now.saturating_add(REQUEST_TIME_MAX),
        })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    pub(super) fn is_streaming(&self) -> bool {
        self.phase == Phase::Streaming
    }

    /// Whether its answer is computed elsewhere.
    pub(super) fn is_waiting(&self) -> bool {
        self.phase == Phase::Waiting
    }

    /// Whether it may be closed to make room: it has not asked for anything yet, or has its answer.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Reading | Phase::Lingering)
    }

    pub(super) fn wants_write(&self) -> bool {
        !self.output.is_empty()
    }

    pub(super) fn close(&mut self) {
        self.phase = Phase::Closed;
    }

    /// Receives what is there. Returns the request when it is complete.
    pub(super) fn receive(&mut self, now: Time) -> Option<Request> {
        let mut piece = [0; 8 << 10];
        let got = match self.socket.read(&mut piece) {
            Ok(0) => 0,
            Ok(got) => got,
            Err(error) if is_temporary(&error) => return None,
            Err(_) => 0,
        };
        // A client that closes its half has no more use for an answer.
        if got == 0 {
            self.close();
            return None;
        }
        // One request per connection: what comes after it is dropped.
        if self.phase != Phase::Reading {
            return None;
        }
        self.input.extend_from_slice(&piece[..got]);
        debug_assert!(self.input.len() <= HEAD_BYTES_MAX + BODY_BYTES_MAX + piece.len());
        match Request::parse(&self.input, self.peer) {
            Ok(None) => None,
            Ok(Some(request)) => {
                self.input = Vec::new();
                self.phase = Phase::Waiting;
                self.deadline = now.saturating_add(ANSWER_TIME_MAX);
                Some(request)
            }
            Err(Refusal { status, reason }) => {
                self.input = Vec::new();
                self.answer(now, &Response::text(status, reason));
                None
            }
        }
    }

    /// Sends this response and closes.
    pub(super) fn answer(&mut self, now: Time, response: &Response) {
        self.output.extend([response.head().into(), Arc::clone(response.body())]);
        self.phase = Phase::Sending;
        self.deadline = now.saturating_add(SEND_TIME_MAX);
        self.send(now);
    }

    /// Begins a stream with the head of this response.
    pub(super) fn stream(&mut self, now: Time, head: &Response) {
        self.output.extend([head.stream_head().into(), Arc::clone(head.body())]);
        self.phase = Phase::Streaming;
        self.deadline = now.saturating_add(SEND_TIME_MAX);
        self.send(now);
    }

    /// Adds an event to the stream. A client that does not read is dropped.
    pub(super) fn publish(&mut self, now: Time, event: &Arc<[u8]>) {
        if self.output.is_empty() {
            self.deadline = now.saturating_add(SEND_TIME_MAX);
        }
        self.output.push_back(Arc::clone(event));
        if self.output.iter().map(|bytes| bytes.len()).sum::<usize>() > QUEUE_BYTES_MAX {
            self.close();
            return;
        }
        self.send(now);
    }

    /// Sends what the socket takes.
    pub(super) fn send(&mut self, now: Time) {
        while let Some(first) = self.output.front() {
            if self.sent == first.len() {
                self.output.pop_front();
                self.sent = 0;
                continue;
            }
            match self.socket.write(&first[self.sent..]) {
                Ok(sent) => {
                    self.sent += sent;
                    self.deadline = now.saturating_add(SEND_TIME_MAX);
                }
                Err(error) if is_temporary(&error) => return,
                Err(_) => return self.close(),
            }
        }
        match self.phase {
            Phase::Sending => {
                self.phase = Phase::Lingering;
                self.deadline = now.saturating_add(LINGER_TIME_MAX);
                if self.socket.shutdown().is_err() {
                    self.close();
                }
            }
            Phase::Streaming => self.deadline = now.saturating_add(COMMENT_INTERVAL),
            _ => {}
        }
    }

    /// Acts on a deadline that has passed.
    pub(super) fn on_time(&mut self, now: Time) {
        if now < self.deadline {
            return;
        }
        match self.phase {
            Phase::Waiting => {
                self.answer(now, &Response::text("504 Gateway Timeout", "no answer in time; try again"));
            }
            Phase::Streaming if self.output.is_empty() => self.publish(now, &Arc::from(&b":\n\n"[..])),
            _ => self.close(),
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Socket {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(piece),
            Self::Unix(stream) => stream.read(piece),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn shutdown(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Self::Unix(stream) => stream.shutdown(Shutdown::Write),
        }
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
