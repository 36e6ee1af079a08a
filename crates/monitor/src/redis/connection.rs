//! A connection to Redis: commands and replies with timeouts.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use rustls::{ClientConnection, StreamOwned};

use crate::redis::resp::{self, MalformedReply, Reply};
use crate::redis::tls::TlsClient;

/// Address, TLS settings and credentials of a Redis server.
#[derive(Clone)]
pub struct RedisServer {
    /// Address.
    pub address: ServerAddress,
    /// TLS over TCP; `None` for an unencrypted connection.
    pub tls: Option<TlsClient>,
    /// User and password; `None` for the default user without a password.
    pub login: Option<(String, String)>,
    /// Timeout of a command.
    pub timeout: Duration,
}

impl fmt::Debug for RedisServer {
    /// Omits the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.login.as_ref().map(|(user, _)| user);
        f.debug_struct("RedisServer")
            .field("address", &self.address)
            .field("user", &user)
            .finish_non_exhaustive()
    }
}

/// Address of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ServerAddress {
    /// `HOST:PORT`.
    Tcp(String),
    /// Path of a Unix socket.
    Unix(PathBuf),
}

impl FromStr for ServerAddress {
    type Err = String;

    fn from_str(address: &str) -> Result<Self, String> {
        let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
        match address.rsplit_once(':') {
            _ if address.starts_with('/') => Ok(Self::Unix(PathBuf::from(address))),
            Some((host, port)) if !host.is_empty() && is_port(port) => Ok(Self::Tcp(address.to_owned())),
            _ => Err(format!(
                "address: `{address}` is neither HOST:PORT, such as 127.0.0.1:6379, nor the path of a socket"
            )),
        }
    }
}

/// Why a command has no usable reply.
#[derive(Debug)]
pub enum RedisError {
    /// The server is unreachable, closed the connection, or did not reply in time.
    Io(io::Error),
    /// The reply is not valid RESP.
    MalformedReply(MalformedReply),
    /// The server returned an error.
    Refused(String),
    /// The reply has another type than the command returns.
    Unexpected(Reply),
}

impl fmt::Display for RedisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // TLS alert of a server that requires a client certificate.
            Self::Io(error) if error.to_string().contains("CertificateRequired") => {
                write!(
                    f,
                    "the server requires a client certificate; set cert_file and key_file in [redis.tls]"
                )
            }
            Self::Io(error) => error.fmt(f),
            Self::MalformedReply(malformed) => malformed.fmt(f),
            Self::Refused(reason) => write!(f, "refused: {reason}"),
            Self::Unexpected(reply) => {
                let shown: String = format!("{reply:?}").chars().take(200).collect();
                write!(f, "unexpected reply: {shown}")
            }
        }
    }
}

impl std::error::Error for RedisError {}

impl From<io::Error> for RedisError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<MalformedReply> for RedisError {
    fn from(malformed: MalformedReply) -> Self {
        Self::MalformedReply(malformed)
    }
}

/// A connection. After an error other than a refusal, replies may belong to other commands: discard it.
pub struct RedisConnection {
    stream: Box<dyn Stream>,
    received: Vec<u8>,
    timeout: Duration,
}

trait Stream: Read + Write + Send {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()>;
}

impl Stream for TcpStream {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(timeout))?;
        self.set_write_timeout(Some(timeout))
    }
}

impl Stream for StreamOwned<ClientConnection, TcpStream> {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.sock.set_timeout(timeout)
    }
}

#[cfg(unix)]
impl Stream for UnixStream {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(timeout))?;
        self.set_write_timeout(Some(timeout))
    }
}

impl RedisConnection {
    /// Maximum size of one reply with all its items.
    const RECEIVED_MAX: usize = 16 << 20;

    /// Connects and authenticates.
    pub fn open(server: &RedisServer) -> Result<Self, RedisError> {
        let mut connection = Self { stream: connect(server)?, received: Vec::new(), timeout: server.timeout };
        if let Some((user, password)) = &server.login {
            connection.call(&[b"AUTH", user.as_bytes(), password.as_bytes()])?;
        }
        Ok(connection)
    }

    /// Sends one command and returns its reply.
    pub fn call(&mut self, args: &[&[u8]]) -> Result<Reply, RedisError> {
        let mut replies = self.call_all(&[args])?;
        match replies.pop() {
            Some(Reply::Error(reason)) => Err(RedisError::Refused(reason)),
            Some(reply) => Ok(reply),
            None => unreachable!("every command has a reply"),
        }
    }

    /// Sends several commands at once. Errors of single commands are among the replies.
    pub fn call_all(&mut self, commands: &[&[&[u8]]]) -> Result<Vec<Reply>, RedisError> {
        let mut bytes = Vec::new();
        for args in commands {
            resp::emit_command(&mut bytes, args);
        }
        self.stream.set_timeout(self.timeout)?;
        self.stream.write_all(&bytes)?;
        let deadline = now() + self.timeout;
        let mut replies = Vec::with_capacity(commands.len());
        while replies.len() < commands.len() {
            let reply = self.reply(deadline)?;
            replies.push(reply.ok_or_else(|| io::Error::from(io::ErrorKind::TimedOut))?);
        }
        Ok(replies)
    }

    /// Waits for the next unsolicited reply, such as a message to a subscriber; `None` after `within`.
    pub fn next_reply(&mut self, within: Duration) -> Result<Option<Reply>, RedisError> {
        self.reply(now() + within)
    }

    /// Sends a command without waiting for its reply.
    pub fn send(&mut self, args: &[&[u8]]) -> Result<(), RedisError> {
        let mut bytes = Vec::new();
        resp::emit_command(&mut bytes, args);
        self.stream.set_timeout(self.timeout)?;
        Ok(self.stream.write_all(&bytes)?)
    }

    fn reply(&mut self, deadline: Instant) -> Result<Option<Reply>, RedisError> {
        let mut piece = [0; 16 << 10];
        loop {
            if let Some((reply, taken)) = resp::parse(&self.received)? {
                self.received.drain(..taken);
                return Ok(Some(reply));
            }
            if self.received.len() > Self::RECEIVED_MAX {
                return Err(MalformedReply::Length.into());
            }
            let left = deadline.saturating_duration_since(now());
            if left.is_zero() {
                return Ok(None);
            }
            self.stream.set_timeout(left.max(Duration::from_millis(1)))?;
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(bytes) => self.received.extend_from_slice(&piece[..bytes]),
                Err(error) if is_timeout(&error) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn connect(server: &RedisServer) -> io::Result<Box<dyn Stream>> {
    match &server.address {
        ServerAddress::Tcp(address) => {
            let mut last = io::Error::new(io::ErrorKind::NotFound, format!("`{address}` does not resolve"));
            for address in address.to_socket_addrs()? {
                match TcpStream::connect_timeout(&address, server.timeout) {
                    Ok(stream) => {
                        stream.set_nodelay(true)?;
                        stream.set_timeout(server.timeout)?;
                        return Ok(match &server.tls {
                            Some(tls) => Box::new(tls.wrap(stream)?),
                            None => Box::new(stream),
                        });
                    }
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
        #[cfg(unix)]
        ServerAddress::Unix(path) => Ok(Box::new(UnixStream::connect(path)?)),
        #[cfg(not(unix))]
        ServerAddress::Unix(_) => Err(io::Error::from(io::ErrorKind::Unsupported)),
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[expect(
    clippy::disallowed_methods,
    reason = "timeouts of a server are real time and do not influence results"
)]
fn now() -> Instant {
    Instant::now()
}
