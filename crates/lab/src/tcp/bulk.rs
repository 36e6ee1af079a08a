//! A bulk transfer from A to B.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::net::sockopt::{set_socket_linger, set_tcp_congestion};
use wiremend_report::lab::Transfer;

use super::connect;
use crate::chain::{Chain, Side};
use crate::error::Error;
use crate::privileges::net_error;

/// Interval of an entry in [`Transfer::tenths`].
const INTERVAL: Duration = Duration::from_millis(100);
const CHUNK_BYTES: usize = 128 * 1024;
/// Socket timeout, which bounds the delay until a thread notices the end.
const SOCKET_TIMEOUT: Duration = Duration::from_millis(50);

/// Lists the congestion controls of the kernel.
pub fn available() -> Result<Vec<String>, Error> {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let names = fs::read_to_string(path)
        .map_err(|error| Error::Environment(format!("cannot read {path}: {error}")))?;
    Ok(names.split_whitespace().map(str::to_owned).collect())
}

/// Sends until `is_over` returns true, which is called every few milliseconds with the elapsed time.
pub(crate) fn stream(
    chain: &Chain,
    control: &str,
    mut is_over: impl FnMut(Duration) -> Result<bool, Error>,
) -> Result<Transfer, Error> {
    let [near, far] = connect(chain)?;
    let broken =
        |error: std::io::Error| Error::Environment(format!("a connection of the lab failed: {error}"));
    set_tcp_congestion(&near, control)
        .map_err(|error| Error::Environment(format!("congestion control {control}: {error}")))?;
    near.set_write_timeout(Some(SOCKET_TIMEOUT)).map_err(broken)?;
    far.set_read_timeout(Some(SOCKET_TIMEOUT)).map_err(broken)?;
    let before = retransmitted(chain)?;
    let over = AtomicBool::new(false);
    let start = Instant::now();
    let (watched, tenths) = std::thread::scope(|scope| {
        let sender = scope.spawn(|| send(&near, &over));
        let receiver = scope.spawn(|| receive(&far, start, &over));
        let watched: Result<(), Error> = (|| {
            while !is_over(start.elapsed())? {
                chain.lab().check_stop()?;
                chain.lab().pause(Duration::from_millis(5))?;
            }
            Ok(())
        })();
        over.store(true, Ordering::Relaxed);
        let sent = sender.join().expect("it does not panic");
        (watched, receiver.join().expect("it does not panic").and_then(|tenths| sent.map(|()| tenths)))
    });
    // Reset the connection: unsent data must not disturb the next measurement.
    set_socket_linger(&near, Some(Duration::ZERO)).map_err(|error| broken(error.into()))?;
    drop((near, far));
    watched?;
    Ok(Transfer { tenths: tenths.map_err(broken)?, retransmitted: retransmitted(chain)? - before })
}

fn send(mut socket: &TcpStream, over: &AtomicBool) -> std::io::Result<()> {
    let chunk = vec![0x5A; CHUNK_BYTES];
    while !over.load(Ordering::Relaxed) {
        match socket.write(&chunk) {
            Err(error) if !is_pause(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn receive(mut socket: &TcpStream, start: Instant, over: &AtomicBool) -> std::io::Result<Vec<u64>> {
    let steps = || (start.elapsed().as_millis() / INTERVAL.as_millis()) as usize;
    let mut tenths = vec![0];
    let mut chunk = vec![0; CHUNK_BYTES];
    while !over.load(Ordering::Relaxed) {
        match socket.read(&mut chunk) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => {
                let step = steps();
                tenths.resize(tenths.len().max(step + 1), 0);
                tenths[step] += bytes as u64;
            }
            Err(error) if is_pause(&error) => {}
            Err(error) => return Err(error),
        }
    }
    // Keep complete intervals only.
    tenths.resize(steps().max(1), 0);
    Ok(tenths)
}

fn is_pause(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Number of segments that host A has retransmitted.
fn retransmitted(chain: &Chain) -> Result<u64, Error> {
    let path = "/proc/thread-self/net/snmp";
    let text = chain.host(Side::A).run(|| fs::read_to_string(path)).map_err(net_error)?;
    let text = text.map_err(|error| Error::Environment(format!("cannot read {path}: {error}")))?;
    counter(&text, "Tcp:", "RetransSegs")
        .ok_or_else(|| Error::Environment(format!("{path} has no RetransSegs")))
}

/// Finds a counter in a line of names followed by a line of numbers, both with the same prefix.
fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_whitespace().position(|one| one == name)?;
    values.split_whitespace().nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_is_found_by_name() {
        let text = "Ip: A B\nIp: 1 2\nTcp: RtoMin RetransSegs\nTcp: 200 17\n";
        assert_eq!(counter(text, "Tcp:", "RetransSegs"), Some(17));
        assert_eq!(counter(text, "Tcp:", "Other"), None);
        assert_eq!(counter("Tcp: X\n", "Tcp:", "X"), None);
    }
}
