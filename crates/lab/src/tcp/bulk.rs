//! As much as congestion control lets through, from A to B.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::net::sockopt::{set_socket_linger, set_tcp_congestion};
use wiremend_report::lab::Stream;

use super::connect;
use crate::chain::{Chain, Side};
use crate::error::Error;
use crate::rights::refused;

/// The time that a number of [`Stream::tenths`] is about.
const STEP: Duration = Duration::from_millis(100);
const CHUNK_BYTES: usize = 128 * 1024;
/// Neither end waits longer before it looks whether it is over.
const TURN: Duration = Duration::from_millis(50);

/// Congestion controls that the kernel has.
pub fn available() -> Result<Vec<String>, Error> {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let names = fs::read_to_string(path)
        .map_err(|error| Error::Environment(format!("cannot read {path}: {error}")))?;
    Ok(names.split_whitespace().map(str::to_owned).collect())
}

/// Sends until it is over. `is_over` is told every few milliseconds how much time has passed.
pub(crate) fn stream(
    chain: &Chain,
    control: &str,
    mut is_over: impl FnMut(Duration) -> Result<bool, Error>,
) -> Result<Stream, Error> {
    let [near, far] = connect(chain)?;
    let broken =
        |error: std::io::Error| Error::Environment(format!("a connection of the lab broke: {error}"));
    set_tcp_congestion(&near, control)
        .map_err(|error| Error::Environment(format!("congestion control {control}: {error}")))?;
    near.set_write_timeout(Some(TURN)).map_err(broken)?;
    far.set_read_timeout(Some(TURN)).map_err(broken)?;
    let before = retransmitted(chain)?;
    let over = AtomicBool::new(false);
    let start = Instant::now();
    let (watched, tenths) = std::thread::scope(|scope| {
        let sender = scope.spawn(|| send(&near, &over));
        let receiver = scope.spawn(|| receive(&far, start, &over));
        let watched: Result<(), Error> = (|| {
            while !is_over(start.elapsed())? {
                chain.lab().go_on()?;
                chain.lab().pause(Duration::from_millis(5))?;
            }
            Ok(())
        })();
        over.store(true, Ordering::Relaxed);
        let sent = sender.join().expect("it does not panic");
        (watched, receiver.join().expect("it does not panic").and_then(|tenths| sent.map(|()| tenths)))
    });
    // What still waits to be sent shall not disturb what comes next.
    set_socket_linger(&near, Some(Duration::ZERO)).map_err(|error| broken(error.into()))?;
    drop((near, far));
    watched?;
    Ok(Stream { tenths: tenths.map_err(broken)?, retransmitted: retransmitted(chain)? - before })
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
    let steps = || (start.elapsed().as_millis() / STEP.as_millis()) as usize;
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
    // Only steps that are complete.
    tenths.resize(steps().max(1), 0);
    Ok(tenths)
}

fn is_pause(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Segments that host A has sent again since it is there.
fn retransmitted(chain: &Chain) -> Result<u64, Error> {
    let path = "/proc/thread-self/net/snmp";
    let text = chain.host(Side::A).run(|| fs::read_to_string(path)).map_err(refused)?;
    let text = text.map_err(|error| Error::Environment(format!("cannot read {path}: {error}")))?;
    counter(&text, "Tcp:", "RetransSegs")
        .ok_or_else(|| Error::Environment(format!("{path} does not tell RetransSegs")))
}

/// A line of names and below it a line of numbers, both after the same word.
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
    fn a_counter_is_found_by_its_name() {
        let text = "Ip: A B\nIp: 1 2\nTcp: RtoMin RetransSegs\nTcp: 200 17\n";
        assert_eq!(counter(text, "Tcp:", "RetransSegs"), Some(17));
        assert_eq!(counter(text, "Tcp:", "Other"), None);
        assert_eq!(counter("Tcp: X\n", "Tcp:", "X"), None);
    }
}
