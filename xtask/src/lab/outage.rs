//! Length of the interruption when the process that carries a stream is killed.
//!
//! ```text
//!   wiremend lab shell ─► host A: xtask outage-send ─► host B: xtask outage-receive
//! ```

use std::env;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::Bound::Most;
use super::Measurement;
use crate::shell;

const AT_B: &str = "198.18.0.2:7000";
const GAP: Duration = Duration::from_micros(500);
const KILLED_AFTER: Duration = Duration::from_secs(1);
const LASTS: Duration = Duration::from_secs(4);
/// A datagram of one byte ends the stream; all others are longer.
const END: &[u8] = &[0];
const STREAM: &[u8] = &[7; 100];
const RECEIVER_READY: Duration = Duration::from_millis(300);

/// Kills the relay at each end once.
pub(super) fn measurements(program: &Path) -> Result<Vec<Measurement>> {
    let own = env::current_exe().context("this program has a path")?;
    ["link-a", "link-b"]
        .iter()
        .map(|link| {
            let mut lab = shell::call(program, "lab shell --loss 1e-3 --active --");
            lab.arg(&own).arg("outage-send").arg(program).arg(link);
            let seconds: f64 = shell::output(&mut lab)?
                .trim()
                .parse()
                .context("the output of the receiver is not a number of seconds")?;
            Ok(Measurement::new(
                format!("relay at {link} killed: silence at host B"),
                seconds,
                " s",
                Most(1.0),
            ))
        })
        .collect()
}

/// On host A: sends a stream and kills the relay of this link meanwhile. The receiver prints the longest gap
/// to our standard output.
pub(crate) fn send(arguments: &[String]) -> Result<()> {
    let [program, link] = arguments else { anyhow::bail!("outage-send PROGRAM LINK") };
    let place = env::var("WIREMEND_LAB").context("inside a lab")?;
    let on_b = env::var("ON_B").context("inside a lab")?;
    let mut words = on_b.split_whitespace();
    let mut receiver = Command::new(words.next().context("a command")?);
    receiver.args(words).arg(env::current_exe()?).arg("outage-receive").stdin(Stdio::null());
    let mut receiver = receiver.spawn().context("cannot start the receiver")?;
    thread::sleep(RECEIVER_READY);
    let status = shell::json(&mut shell::call(
        Path::new(program),
        &format!("relay status --json --link {link} --run-dir {place}"),
    ))?;
    let carrier = status["pid"].as_u64().context("a relay has a process")?;
    let socket = UdpSocket::bind("198.18.0.1:0").context("a socket on host A")?;
    let begun = Instant::now();
    let mut killed = false;
    while begun.elapsed() < LASTS {
        // Datagrams that the interface refuses are part of the outage.
        let _ = socket.send_to(STREAM, AT_B);
        if !killed && begun.elapsed() > KILLED_AFTER {
            shell::run(&mut shell::command(&format!("kill -KILL {carrier}")))?;
            killed = true;
        }
        thread::sleep(GAP);
    }
    while receiver.try_wait()?.is_none() {
        socket.send_to(END, AT_B)?;
        thread::sleep(GAP);
    }
    ensure!(receiver.wait()?.success(), "the receiver failed");
    Ok(())
}

/// On host B: prints the longest time without a datagram, in seconds.
pub(crate) fn receive() -> Result<()> {
    let socket = UdpSocket::bind(AT_B).context("a socket on host B")?;
    let mut buffer = [0; 200];
    let (mut last, mut longest) = (None::<Instant>, Duration::ZERO);
    loop {
        let len = socket.recv(&mut buffer).context("receiving")?;
        let now = Instant::now();
        longest = longest.max(last.map_or(Duration::ZERO, |last| now - last));
        last = Some(now);
        if buffer[..len] == *END {
            break;
        }
    }
    println!("{}", longest.as_secs_f64());
    Ok(())
}
