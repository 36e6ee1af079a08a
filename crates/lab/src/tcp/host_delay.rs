//! Time until a process of this machine reacts to bytes that arrive: an exchange over loopback.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::lab::Lab;

/// Number of exchanges, of two delays each: 99.99 % has ten delays above it.
const EXCHANGES: usize = 50_000;
const READ_LIMIT: Duration = Duration::from_mins(1);

/// Measures delays in nanoseconds, sorted: from a write until the other end has read the bytes and can answer. Two
/// threads write in turn over loopback, so that each waits for the other, as hosts do in flows of few packets.
pub fn host_delays(lab: &Lab) -> Result<Vec<u64>, Error> {
    exchange(lab, EXCHANGES)
}

fn exchange(lab: &Lab, count: usize) -> Result<Vec<u64>, Error> {
    let failed = |error: io::Error| Error::Environment(format!("an exchange over loopback failed: {error}"));
    let [near, far] = pair().map_err(failed)?;
    let clock = Clock { start: Instant::now(), written_ns: AtomicU64::new(0) };
    let [forth, back] = thread::scope(|scope| {
        let answers = scope.spawn(|| -> io::Result<Vec<u64>> {
            let mut delays = Vec::with_capacity(count);
            for _ in 0..count {
                delays.push(clock.read(&far)?);
                clock.write(&far)?;
            }
            Ok(delays)
        });
        let asked = ask(&clock, lab, &near, count);
        // Ends the other thread if this one ended early.
        let _ = near.shutdown(std::net::Shutdown::Both);
        let answered = answers.join().expect("it does not panic");
        let asked = asked?.map_err(failed)?;
        Ok::<_, Error>([answered.map_err(failed)?, asked])
    })?;
    let mut delays = [forth, back].concat();
    delays.sort_unstable();
    Ok(delays)
}

fn ask(clock: &Clock, lab: &Lab, near: &TcpStream, count: usize) -> Result<io::Result<Vec<u64>>, Error> {
    let mut delays = Vec::with_capacity(count);
    for _ in 0..count {
        lab.check_stop()?;
        match clock.write(near).and_then(|()| clock.read(near)) {
            Ok(delay) => delays.push(delay),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(delays))
}

fn pair() -> io::Result<[TcpStream; 2]> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let (far, _) = listener.accept()?;
    for end in [&near, &far] {
        end.set_nodelay(true)?;
        end.set_read_timeout(Some(READ_LIMIT))?;
    }
    Ok([near, far])
}

/// The time of the last write, for the thread that reads it.
struct Clock {
    start: Instant,
    written_ns: AtomicU64,
}

impl Clock {
    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn write(&self, mut socket: &TcpStream) -> io::Result<()> {
        self.written_ns.store(self.now_ns(), Ordering::Release);
        socket.write_all(&[0])
    }

    fn read(&self, mut socket: &TcpStream) -> io::Result<u64> {
        socket.read_exact(&mut [0])?;
        Ok(self.now_ns() - self.written_ns.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn each_exchange_has_two_delays_and_stops_on_request() {
        let lab = |stops| Lab { program: "unused".into(), stop: Arc::new(AtomicBool::new(stops)) };
        let delays = exchange(&lab(false), 100).unwrap();
        assert!(delays.is_sorted() && delays.len() == 200 && delays[0] > 0, "{delays:?}");
        assert!(matches!(exchange(&lab(true), 100), Err(Error::Interrupted)));
    }
}
