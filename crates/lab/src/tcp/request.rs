//! A small request and its answer, again and again.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::connect;
use crate::chain::Chain;
use crate::error::Error;
use crate::lab::Lab;

const REQUEST_BYTES: usize = 64;
/// A request that takes longer has failed; TCP doubles its timeout of 200 ms each time.
const PATIENCE: Duration = Duration::from_mins(2);

/// Connections that ask side by side.
const CONNECTIONS: usize = 16;

/// How long each took, in nanoseconds, for so long.
pub(super) fn times(chain: &Chain, lasts: Duration) -> Result<Vec<u64>, Error> {
    let broken = |error: io::Error| Error::Environment(format!("a connection of the lab broke: {error}"));
    let pairs = (0..CONNECTIONS).map(|_| connect(chain)).collect::<Result<Vec<_>, _>>()?;
    for end in pairs.iter().flatten() {
        end.set_nodelay(true).and_then(|()| end.set_read_timeout(Some(PATIENCE))).map_err(broken)?;
    }
    std::thread::scope(|scope| {
        let spoken: Vec<_> = pairs
            .iter()
            .map(|[near, far]| {
                (scope.spawn(|| answer(far)), scope.spawn(|| ask(chain.lab(), near, lasts)), near)
            })
            .collect();
        let mut all = Vec::new();
        for (answers, asks, near) in spoken {
            let times = asks.join().expect("it does not panic");
            // Wakes the other end, which is done then.
            let _ = near.shutdown(Shutdown::Both);
            let answered = answers.join().expect("it does not panic");
            all.extend(times?.map_err(broken)?);
            answered.map_err(broken)?;
        }
        Ok(all)
    })
}

fn ask(lab: &Lab, mut socket: &TcpStream, lasts: Duration) -> Result<io::Result<Vec<u64>>, Error> {
    let mut bytes = [7; REQUEST_BYTES];
    let mut times = Vec::new();
    let start = Instant::now();
    while start.elapsed() < lasts {
        lab.go_on()?;
        let asked = Instant::now();
        if let Err(error) = socket.write_all(&bytes).and_then(|()| socket.read_exact(&mut bytes)) {
            return Ok(Err(error));
        }
        times.push(asked.elapsed().as_nanos() as u64);
    }
    Ok(Ok(times))
}

fn answer(mut socket: &TcpStream) -> io::Result<()> {
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
