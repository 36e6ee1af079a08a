//! Messages of the set-up, over TCP or over a queue pair, between the turns of a host.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use wiremend_units::{Span, Time};

use super::control_pair::ControlPair;
use crate::host::{Host, PeerError};

/// A connection that never blocks a turn.
pub(crate) struct Exchange {
    channel: Channel,
    pub(crate) peer: SocketAddr,
    /// Time after which the peer counts as silent.
    patience: Span,
}

enum Channel {
    Tcp(TcpStream),
    /// perftest with `-R`.
    Pair(ControlPair),
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
/// The same if nothing else is asked for.
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
        Ok(Self { channel: Channel::Tcp(stream), peer, patience: PATIENCE })
    }

    /// Exchanges messages over a queue pair.
    pub(super) fn over(control: ControlPair, peer: SocketAddr) -> Self {
        Self { channel: Channel::Pair(control), peer, patience: PATIENCE }
    }

    /// Waits this long for each message.
    pub(super) fn with_patience(self, patience: Span) -> Self {
        Self { patience, ..self }
    }

    /// The queue pair for messages.
    pub(super) fn control(&mut self) -> Option<&mut ControlPair> {
        match &mut self.channel {
            Channel::Tcp(_) => None,
            Channel::Pair(control) => Some(control),
        }
    }

    /// Sends messages that wait.
    pub(super) fn pump(&mut self, host: &mut Host) {
        if let Channel::Pair(control) = &mut self.channel {
            control.pump(host);
        }
    }

    /// Reads what has arrived.
    pub(super) fn poll(&mut self, buffer: &mut [u8; MESSAGE_MAX]) -> Incoming {
        let stream = match &mut self.channel {
            Channel::Tcp(stream) => stream,
            Channel::Pair(control) => {
                return match control.next() {
                    Some(message) => {
                        buffer[..message.len()].copy_from_slice(&message);
                        Incoming::Message(message.len())
                    }
                    None if control.is_ended => Incoming::Closed,
                    None => Incoming::Nothing,
                };
            }
        };
        match stream.read(buffer) {
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
        let stream = match &mut self.channel {
            Channel::Tcp(stream) => stream,
            Channel::Pair(control) => {
                control.write(message);
                return Ok(());
            }
        };
        stream
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
        let deadline = host.now().saturating_add(self.patience);
        if matches!(self.channel, Channel::Pair(_)) {
            return self.read_pair(host, deadline, awaited);
        }
        let Channel::Tcp(stream) = &mut self.channel else { unreachable!("there are two channels") };
        let (mut message, mut have) = ([0; N], 0);
        while have < N {
            host.turn()?;
            match stream.read(&mut message[have..]) {
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

    fn read_pair<const N: usize>(
        &mut self,
        host: &mut Host,
        deadline: Time,
        awaited: &'static str,
    ) -> Result<[u8; N], PeerError> {
        let peer = self.peer;
        let Channel::Pair(control) = &mut self.channel else { unreachable!("the caller has looked") };
        loop {
            control.pump(host);
            host.turn()?;
            while let Some(event) = host.endpoint.poll_event() {
                control.on_event(host, &event);
            }
            if let Some(message) = control.next() {
                return message.try_into().map_err(|_| PeerError::Unexpected { peer, awaited });
            }
            if control.is_ended {
                return Err(PeerError::Closed { peer, awaited });
            }
            if host.now() > deadline {
                return Err(PeerError::Silent { peer, awaited });
            }
        }
    }
}
