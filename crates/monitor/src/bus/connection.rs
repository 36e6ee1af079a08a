//! A connection to Redis: one command, one answer, in bounded time.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use rustls::{ClientConnection, StreamOwned};

use crate::bus::resp::{self, Answer, Malformed};
use crate::bus::tls::Tls;

/// Where Redis is, and who asks.
#[derive(Clone)]
pub struct Server {
    /// Its place.
    pub place: Place,
    /// Encrypted, over TCP; without, anybody on the way may listen.
    pub tls: Option<Tls>,
    /// The user of its access control list, with a password. Without, the default user without one.
    pub login: Option<(String, String)>,
    /// How long to wait for an answer.
    pub patience: Duration,
}

impl fmt::Debug for Server {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.login.as_ref().map(|(user, _)| user);
        f.debug_struct("Server").field("place", &self.place).field("user", &user).finish_non_exhaustive()
    }
}

/// Where a server listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// Host and port.
    Tcp(String),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl FromStr for Place {
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

/// Why there is no answer.
#[derive(Debug)]
pub enum Fault {
    /// It could not be reached, or went away, or did not answer in time.
    Io(io::Error),
    /// What it said is no answer.
    Malformed(Malformed),
    /// It refused the command.
    Refused(String),
    /// It answered something else than such a command is answered with.
    Unexpected(Answer),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // What a server says that wants to know whom it talks to.
            Self::Io(error) if error.to_string().contains("CertificateRequired") => {
                write!(
                    f,
                    "it asks for a certificate of this node; set cert_file and key_file below [redis.tls]"
                )
            }
            Self::Io(error) => error.fmt(f),
            Self::Malformed(malformed) => malformed.fmt(f),
            Self::Refused(why) => write!(f, "refused: {why}"),
            Self::Unexpected(answer) => {
                let shown: String = format!("{answer:?}").chars().take(200).collect();
                write!(f, "an unexpected answer: {shown}")
            }
        }
    }
}

impl std::error::Error for Fault {}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Malformed> for Fault {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// A connection. After a fault other than a refusal it must not be used any more: answers would belong to other commands.
pub struct Connection {
    stream: Box<dyn Stream>,
    received: Vec<u8>,
    patience: Duration,
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

impl Connection {
    /// Most bytes of one answer with all its items.
    const RECEIVED_MAX: usize = 16 << 20;

    /// Connects and logs in.
    pub fn open(server: &Server) -> Result<Self, Fault> {
        let mut connection = Self { stream: dial(server)?, received: Vec::new(), patience: server.patience };
        if let Some((user, password)) = &server.login {
            connection.call(&[b"AUTH", user.as_bytes(), password.as_bytes()])?;
        }
        Ok(connection)
    }

    /// One command and its answer.
    pub fn call(&mut self, words: &[&[u8]]) -> Result<Answer, Fault> {
        let mut answers = self.call_all(&[words])?;
        match answers.pop() {
            Some(Answer::Refused(why)) => Err(Fault::Refused(why)),
            Some(answer) => Ok(answer),
            None => unreachable!("a command has an answer"),
        }
    }

    /// Several commands at once; refusals are among the answers.
    pub fn call_all(&mut self, commands: &[&[&[u8]]]) -> Result<Vec<Answer>, Fault> {
        let mut bytes = Vec::new();
        for words in commands {
            resp::put_command(&mut bytes, words);
        }
        self.stream.set_timeout(self.patience)?;
        self.stream.write_all(&bytes)?;
        let deadline = now() + self.patience;
        let mut answers = Vec::with_capacity(commands.len());
        while answers.len() < commands.len() {
            let answer = self.answer(deadline)?;
            answers.push(answer.ok_or_else(|| io::Error::from(io::ErrorKind::TimedOut))?);
        }
        Ok(answers)
    }

    /// The next answer that comes by itself, as messages to subscribers do; `None` if none does in time.
    pub fn next(&mut self, within: Duration) -> Result<Option<Answer>, Fault> {
        self.answer(now() + within)
    }

    /// Says something without waiting for an answer.
    pub fn say(&mut self, words: &[&[u8]]) -> Result<(), Fault> {
        let mut bytes = Vec::new();
        resp::put_command(&mut bytes, words);
        self.stream.set_timeout(self.patience)?;
        Ok(self.stream.write_all(&bytes)?)
    }

    fn answer(&mut self, deadline: Instant) -> Result<Option<Answer>, Fault> {
        let mut piece = [0; 16 << 10];
        loop {
            if let Some((answer, taken)) = resp::parse(&self.received)? {
                self.received.drain(..taken);
                return Ok(Some(answer));
            }
            if self.received.len() > Self::RECEIVED_MAX {
                return Err(Malformed::Length.into());
            }
            let left = deadline.saturating_duration_since(now());
            if left.is_zero() {
                return Ok(None);
            }
            self.stream.set_timeout(left.max(Duration::from_millis(1)))?;
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(bytes) => self.received.extend_from_slice(&piece[..bytes]),
                Err(error) if is_late(&error) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn dial(server: &Server) -> io::Result<Box<dyn Stream>> {
    match &server.place {
        Place::Tcp(address) => {
            let mut last = io::Error::new(io::ErrorKind::NotFound, format!("`{address}` has no address"));
            for address in address.to_socket_addrs()? {
                match TcpStream::connect_timeout(&address, server.patience) {
                    Ok(stream) => {
                        stream.set_nodelay(true)?;
                        stream.set_timeout(server.patience)?;
                        return Ok(match &server.tls {
                            Some(tls) => Box::new(tls.over(stream)?),
                            None => Box::new(stream),
                        });
                    }
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
        #[cfg(unix)]
        Place::Unix(path) => Ok(Box::new(UnixStream::connect(path)?)),
        #[cfg(not(unix))]
        Place::Unix(_) => Err(io::Error::from(io::ErrorKind::Unsupported)),
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a server may take is real time, and reaches no result"
)]
fn now() -> Instant {
    Instant::now()
}
