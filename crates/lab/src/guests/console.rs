//! Command channel to a guest: one command per line, and a reply with its length (`serve.sh`).

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(super) struct Console {
    line: BufReader<UnixStream>,
    /// Stop flag, which ends all waits.
    stop: Arc<AtomicBool>,
    count: u64,
}

/// What a command in a guest has printed, and how it ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// Standard output and standard error.
    pub text: String,
    /// Exit status; 137 if the command was killed after its time limit.
    pub status: i32,
}

#[derive(Debug)]
pub(super) enum ConsoleError {
    Timeout,
    Closed,
    Malformed(String),
}

/// Extra time for a reply, because emulated machines are slow.
pub(super) const REPLY_EXTRA_TIME: Duration = Duration::from_mins(5);
/// Interval at which the stop flag is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
const OUTPUT_BYTES_MAX: u64 = 1 << 24;

impl Console {
    pub(super) fn new(line: UnixStream, stop: Arc<AtomicBool>) -> Self {
        Self { line: BufReader::new(line), stop, count: 0 }
    }

    pub(super) fn read_line(&mut self, until: Instant) -> Result<String, ConsoleError> {
        let mut text = Vec::new();
        loop {
            self.wait_until(until)?;
            match self.line.read_until(b'\n', &mut text) {
                Ok(0) => return Err(ConsoleError::Closed),
                Ok(_) if text.ends_with(b"\n") => break,
                Ok(_) => {}
                Err(error) => ConsoleError::from_read(&error)?,
            }
        }
        // A terminal may add a carriage return.
        Ok(String::from_utf8_lossy(&text).trim_end().to_owned())
    }

    /// Runs a command in the shell of the guest, with a time limit.
    pub(super) fn run(&mut self, command: &str, limit: Duration) -> Result<Output, ConsoleError> {
        assert!(!command.contains('\n'), "a command is a line");
        let seconds = limit.as_secs().max(1);
        self.count += 1;
        let until = Instant::now() + limit + REPLY_EXTRA_TIME;
        let request = format!("{} {seconds} {command}\n", self.count);
        self.line.get_mut().write_all(request.as_bytes()).map_err(|_| ConsoleError::Closed)?;
        let line = self.read_line(until)?;
        let (number, status, len) =
            parse_reply(&line).ok_or_else(|| ConsoleError::Malformed(line.clone()))?;
        let text = self.read_text(len, until)?;
        if number == self.count { Ok(Output { text, status }) } else { Err(ConsoleError::Malformed(line)) }
    }

    fn read_text(&mut self, len: u64, until: Instant) -> Result<String, ConsoleError> {
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < len {
            self.wait_until(until)?;
            let rest = len - bytes.len() as u64;
            match self.line.by_ref().take(rest).read_to_end(&mut bytes) {
                Ok(0) => return Err(ConsoleError::Closed),
                Ok(_) => {}
                Err(error) => ConsoleError::from_read(&error)?,
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn wait_until(&self, until: Instant) -> Result<(), ConsoleError> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || self.is_stopped() {
            return Err(ConsoleError::Timeout);
        }
        self.line.get_ref().set_read_timeout(Some(left.min(POLL_INTERVAL))).map_err(|_| ConsoleError::Closed)
    }
}

impl ConsoleError {
    /// Converts a read error. `Ok` means that the read must be repeated.
    fn from_read(error: &io::Error) -> Result<(), Self> {
        match error.kind() {
            io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Ok(()),
            _ => Err(Self::Closed),
        }
    }
}

/// Parses `NUMBER STATUS BYTES`.
fn parse_reply(line: &str) -> Option<(u64, i32, u64)> {
    let mut fields = line.split(' ');
    let (number, status) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let len = fields.next()?.parse().ok().filter(|len| *len <= OUTPUT_BYTES_MAX)?;
    fields.next().is_none().then_some((number, status, len))
}

#[cfg(test)]
mod tests {
    use super::super::image::SERVE;
    use super::*;
    use std::os::fd::OwnedFd;
    use std::process::{Child, Command, Stdio};

    fn served() -> (Console, Child) {
        let (near, far) = UnixStream::pair().unwrap();
        let output = OwnedFd::from(far.try_clone().unwrap());
        let mut shell = Command::new("sh");
        shell.args(["-c", SERVE]).stdin(Stdio::from(OwnedFd::from(far))).stdout(Stdio::from(output));
        (Console::new(near, Arc::default()), shell.spawn().unwrap())
    }

    const LIMIT: Duration = Duration::from_secs(10);

    #[test]
    fn replies_contain_the_whole_output() {
        let (mut console, mut shell) = served();
        let output = |text: &str, status| Output { text: text.to_owned(), status };
        assert_eq!(console.run("echo a; echo b >&2", LIMIT).unwrap(), output("a\nb\n", 0));
        assert_eq!(
            console.run("printf '7 0 3\\nno end'; exit 3", LIMIT).unwrap(),
            output("7 0 3\nno end", 3)
        );
        assert_eq!(console.run("cat; true", LIMIT).unwrap(), output("", 0));
        let long = console.run("seq 1 20000", LIMIT).unwrap().text;
        assert_eq!((long.lines().count(), long.lines().last()), (20_000, Some("20000")));
        drop(console);
        assert!(shell.wait().unwrap().success(), "it ends when the channel is closed");
    }

    #[test]
    fn command_is_killed_after_its_limit_and_the_next_one_runs() {
        let (mut console, mut shell) = served();
        assert_eq!(console.run("sleep 600", Duration::from_secs(1)).unwrap().status, 137);
        assert_eq!(console.run("echo on", LIMIT).unwrap().text, "on\n");
        drop(console);
        shell.wait().unwrap();
    }

    #[test]
    fn timeout_malformed_reply_and_end_are_distinguished() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let mut console = Console::new(near, Arc::default());
        let soon = Instant::now() + Duration::from_millis(50);
        far.write_all(b"half a line").unwrap();
        assert!(matches!(console.read_line(soon), Err(ConsoleError::Timeout)));
        for reply in ["1 2\n", "1 2 3 4\n", "1 0 999999999999\n", "\u{1b}\n", ". 0 0\n", "1 0 0\n"] {
            far.write_all(reply.as_bytes()).unwrap();
            assert!(matches!(console.run("x", LIMIT), Err(ConsoleError::Malformed(_))), "{reply}");
        }
        drop(far);
        assert!(matches!(console.run("x", LIMIT), Err(ConsoleError::Closed)));
    }
}
