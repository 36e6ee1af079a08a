//! Small requests and their responses, one after the other.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::connect;
use crate::chain::Chain;
use crate::error::Error;
use crate::lab::Lab;

const REQUEST_BYTES: usize = 64;
/// Time limit of a request. TCP doubles its timeout of 200 ms with each retransmission.
const REQUEST_LIMIT: Duration = Duration::from_mins(2);

const CONNECTIONS: usize = 16;

/// Sends requests for `lasts` and returns the time of each in nanoseconds.
pub(super) fn times(chain: &Chain, lasts: Duration) -> Result<Vec<u64>, Error> {
    let broken = |error: io::Error| Error::Environment(format!("a connection of the lab failed: {error}"));
    let pairs = (0..CONNECTIONS).map(|_| connect(chain)).collect::<Result<Vec<_>, _>>()?;
    for end in pairs.iter().flatten() {
        end.set_nodelay(true).and_then(|()| end.set_read_timeout(Some(REQUEST_LIMIT))).map_err(broken)?;
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = pairs
            .iter()
            .map(|[near, far]| {
                (scope.spawn(|| respond(far)), scope.spawn(|| send_requests(chain.lab(), near, lasts)), near)
            })
            .collect();
        let mut all = Vec::new();
        for (responses, requests, near) in threads {
            let times = requests.join().expect("it does not panic");
            // Ends the thread at the other end.
            let _ = near.shutdown(Shutdown::Both);
            let answered = responses.join().expect("it does not panic");
            all.extend(times?.map_err(broken)?);
            answered.map_err(broken)?;
        }
        Ok(all)
    })
}

fn send_requests(lab: &Lab, mut socket: &TcpStream, lasts: Duration) -> Result<io::Result<Vec<u64>>, Error> {
    let mut bytes = [7; REQUEST_BYTES];
    let mut times = Vec::new();
    let start = Instant::now();
    while start.elapsed() < lasts {
        lab.check_stop()?;
        let sent_at = Instant::now();
        if let Err(error) = socket.write_all(&bytes).and_then(|()| socket.read_exact(&mut bytes)) {
            return Ok(Err(error));
        }
        times.push(sent_at.elapsed().as_nanos() as u64);
    }
    Ok(Ok(times))
}

fn respond(mut socket: &TcpStream) -> io::Result<()> {
    let mut bytes = [0; REQUEST_BYTES];
    loop {
        match socket.read_exact(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
            Ok(()) => {}
        }
        match socket.write_all(&bytes) {
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                return Ok(());
            }
            Err(error) => return Err(error),
            Ok(()) => {}
        }
    }
}
