//! Talking to a relay or a cable that runs: one line of JSON each way over a Unix socket in its run directory.
//!
//! Whoever may open the socket may ask; only root, the user that runs it and a user named at its start may change anything, by the
//! credentials that the kernel gives of the other side.

mod server;

pub use server::{Inbox, Pending, Server};

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What can be asked of a program that runs.
pub trait Request: Serialize + DeserializeOwned + Send + 'static {
    /// Whether it changes anything.
    fn changes(&self) -> bool;
}

/// What comes back.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer<A> {
    /// It was done; what there is to say.
    Done(A),
    /// It was not, and why.
    Refused(String),
}

/// Why a question was not answered.
#[derive(Debug)]
pub enum Unanswered {
    /// Nobody is there, or may be reached.
    Absent(io::Error),
    /// It broke off, or said what is no answer.
    Garbled(String),
    /// It said no.
    Refused(String),
}

/// Lines are no longer than this.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// The other side answers within this, or is taken for gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks, and waits for the answer.
pub fn ask<Q: Request, A: DeserializeOwned>(socket: &Path, request: &Q) -> Result<A, Unanswered> {
    let mut stream = UnixStream::connect(socket).map_err(Unanswered::Absent)?;
    let line = exchange(&mut stream, request).map_err(|error| Unanswered::Garbled(error.to_string()))?;
    match serde_json::from_str(&line) {
        Ok(Answer::Done(answer)) => Ok(answer),
        Ok(Answer::Refused(why)) => Err(Unanswered::Refused(why)),
        Err(error) => Err(Unanswered::Garbled(error.to_string())),
    }
}

fn exchange<Q: Request>(stream: &mut UnixStream, request: &Q) -> io::Result<String> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_string(request).map_err(io::Error::other)?;
    line.push('\n');
    stream.write_all(line.as_bytes())?;
    read_line(stream)
}

fn read_line(stream: &mut UnixStream) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(stream.take(LINE_BYTES_MAX)).read_line(&mut line)?;
    if line.ends_with('\n') { Ok(line) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
