//! Control protocol of relays and wires: one line of JSON per request and response, over a Unix socket.
//!
//! A user who may open the socket may read the status. Only root, the user that runs the program and a
//! configured user may change settings, by the peer credentials of the socket.

mod server;

pub use server::{Inbox, PendingRequest, Server};

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A control request.
pub trait Request: Serialize + DeserializeOwned + Send + 'static {
    /// Returns whether the request changes something.
    fn is_change(&self) -> bool;
}

/// Response to a control request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response<A> {
    /// The request succeeded.
    Done(A),
    /// The request was refused, with the reason.
    Refused(String),
}

/// Why a request failed.
#[derive(Debug)]
pub enum ControlError {
    /// Connecting to the socket failed.
    Unreachable(io::Error),
    /// The connection broke, or the response is not valid.
    InvalidResponse(String),
    /// The program refused the request, with the reason.
    Refused(String),
}

const LINE_BYTES_MAX: u64 = 1 << 20;
const IO_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends a request and waits for the response.
pub fn send_request<Q: Request, A: DeserializeOwned>(socket: &Path, request: &Q) -> Result<A, ControlError> {
    let mut stream = UnixStream::connect(socket).map_err(ControlError::Unreachable)?;
    let line =
        exchange(&mut stream, request).map_err(|error| ControlError::InvalidResponse(error.to_string()))?;
    match serde_json::from_str(&line) {
        Ok(Response::Done(answer)) => Ok(answer),
        Ok(Response::Refused(why)) => Err(ControlError::Refused(why)),
        Err(error) => Err(ControlError::InvalidResponse(error.to_string())),
    }
}

fn exchange<Q: Request>(stream: &mut UnixStream, request: &Q) -> io::Result<String> {
    stream.set_read_timeout(Some(IO_TIMEOUT))?;
    stream.set_write_timeout(Some(IO_TIMEOUT))?;
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
