//! Messages over TCP, between the turns of a host.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use wiremend_units::Span;

use crate::host::{Host, PeerError};

/// A connection that never blocks a turn.
pub(crate) struct Exchange {
    stream: TcpStream,
    pub(crate) peer: SocketAddr,
}

/// What a connection has.
pub(super) enum Incoming {
    /// Nothing yet.
    Nothing,
    /// A message of this length.
    Message(usize),
    /// The peer has closed it.
    Closed,
}

/// Longest message.
pub(super) const MESSAGE_MAX: usize = 256;
/// Time after which a peer counts as silent.
const PATIENCE: Span = Span::from_ms(60_000);
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

impl Exchange {
    pub(crate) fn connect(to: SocketAddr) -> Result<Self, PeerError> {
        let stream =
            TcpStream::connect_timeout(&to, CONNECT_LIMIT).map_err(|error| PeerError::NoServer(to, error))?;
        Self::new(stream, to)
    }

    pub(crate) fn new(stream: TcpStream, peer: SocketAddr) -> Result<Self, PeerError> {
        stream
            .set_nodelay(true)
            .and_then(|()| stream.set_nonblocking(true))
            .map_err(PeerError::io(format!("use the connection to {peer}")))?;
        Ok(Self { stream, peer })
    }

    /// Reads what has arrived.
    pub(super) fn poll(&mut self, buffer: &mut [u8; MESSAGE_MAX]) -> Incoming {
        match self.stream.read(buffer) {
            Ok(0) => Incoming::Closed,
            Ok(len) => Incoming::Message(len),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Incoming::Nothing
            }
            Err(_) => Incoming::Closed,
        }
    }

    /// Returns whether the peer has closed the connection.
    pub(super) fn is_closed(&mut self) -> bool {
        matches!(self.poll(&mut [0; MESSAGE_MAX]), Incoming::Closed)
    }

    /// Writes a message at once: its receiver takes it with one `read`.
    pub(crate) fn write(&mut self, message: &[u8]) -> Result<(), PeerError> {
        self.stream
            .write_all(message)
            .map_err(|_| PeerError::Closed { peer: self.peer, awaited: "it took our message" })
    }

    /// Waits for a message of exactly `N` bytes.
    pub(crate) fn read<const N: usize>(
        &mut self,
        host: &mut Host,
        awaited: &'static str,
    ) -> Result<[u8; N], PeerError> {
        let peer = self.peer;
        let deadline = host.now().saturating_add(PATIENCE);
        let (mut message, mut have) = ([0; N], 0);
        while have < N {
            host.turn()?;
            match self.stream.read(&mut message[have..]) {
                Ok(0) => return Err(PeerError::Closed { peer, awaited }),
                Ok(len) => have += len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if host.now() > deadline {
                        return Err(PeerError::Silent { peer, awaited });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(PeerError::Closed { peer, awaited }),
            }
        }
        Ok(message)
    }
}
