//! The line on which a guest is told what to do: a command a line, and an answer that says how long it is (`serve.sh`).

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Our end of the line.
pub(super) struct Console {
    line: BufReader<UnixStream>,
    /// Set when nobody waits any more.
    stop: Arc<AtomicBool>,
    /// Commands given so far.
    count: u64,
}

/// What a command came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Output {
    /// All that it wrote, errors too.
    pub(crate) text: String,
    /// 0 if it worked; 137 if it took too long.
    pub(crate) status: i32,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// It takes too long.
    Late,
    /// The other end is gone.
    Gone,
    /// What came is no answer.
    Unreadable(String),
}

/// An emulated machine is slow, and slower beside others: so much may an answer come late.
pub(super) const PATIENCE: Duration = Duration::from_mins(5);
/// Ctrl-C is heard within this.
const TURN: Duration = Duration::from_millis(200);
/// More than any of our commands writes.
const OUTPUT_BYTES_MAX: u64 = 1 << 24;

impl Console {
    pub(super) fn new(line: UnixStream, stop: Arc<AtomicBool>) -> Self {
        Self { line: BufReader::new(line), stop, count: 0 }
    }

    /// The next line, whatever it says.
    pub(super) fn read_line(&mut self, until: Instant) -> Result<String, NoAnswer> {
        let mut text = Vec::new();
        loop {
            self.wait_until(until)?;
            match self.line.read_until(b'\n', &mut text) {
                Ok(0) => return Err(NoAnswer::Gone),
                Ok(_) if text.ends_with(b"\n") => break,
                Ok(_) => {}
                Err(error) => NoAnswer::of(&error)?,
            }
        }
        // A terminal in between may end lines in its own way.
        Ok(String::from_utf8_lossy(&text).trim_end().to_owned())
    }

    /// Has a shell run a command for at most so long.
    pub(super) fn run(&mut self, command: &str, limit: Duration) -> Result<Output, NoAnswer> {
        assert!(!command.contains('\n'), "a command is a line");
        let seconds = limit.as_secs().max(1);
        self.count += 1;
        let until = Instant::now() + limit + PATIENCE;
        writeln!(self.line.get_mut(), "{} {seconds} {command}", self.count).map_err(|_| NoAnswer::Gone)?;
        let line = self.read_line(until)?;
        let (number, status, len) = answer(&line).ok_or_else(|| NoAnswer::Unreadable(line.clone()))?;
        let text = self.read_text(len, until)?;
        if number == self.count { Ok(Output { text, status }) } else { Err(NoAnswer::Unreadable(line)) }
    }

    fn read_text(&mut self, len: u64, until: Instant) -> Result<String, NoAnswer> {
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < len {
            self.wait_until(until)?;
            let rest = len - bytes.len() as u64;
            match self.line.by_ref().take(rest).read_to_end(&mut bytes) {
                Ok(0) => return Err(NoAnswer::Gone),
                Ok(_) => {}
                Err(error) => NoAnswer::of(&error)?,
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Lets the next read wait until then.
    fn wait_until(&self, until: Instant) -> Result<(), NoAnswer> {
        let left = until.saturating_duration_since(Instant::now());
        // Whoever ends the program does not wait for a guest.
        if left.is_zero() || self.is_over() {
            return Err(NoAnswer::Late);
        }
        self.line.get_ref().set_read_timeout(Some(left.min(TURN))).map_err(|_| NoAnswer::Gone)
    }
}

impl NoAnswer {
    /// What a failed read means; some mean that it has to be tried again.
    fn of(error: &io::Error) -> Result<(), Self> {
        match error.kind() {
            io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Ok(()),
            _ => Err(Self::Gone),
        }
    }
}

/// `NUMBER STATUS BYTES`.
fn answer(line: &str) -> Option<(u64, i32, u64)> {
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

    /// The script of the guests, run by this machine's shell.
    fn served() -> (Console, Child) {
        let (near, far) = UnixStream::pair().unwrap();
        let output = OwnedFd::from(far.try_clone().unwrap());
        let mut shell = Command::new("sh");
        shell.args(["-c", SERVE]).stdin(Stdio::from(OwnedFd::from(far))).stdout(Stdio::from(output));
        (Console::new(near, Arc::default()), shell.spawn().unwrap())
    }

    const LIMIT: Duration = Duration::from_secs(10);

    #[test]
    fn commands_are_answered_with_all_they_wrote() {
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
        assert!(shell.wait().unwrap().success(), "it ends when nobody is there any more");
    }

    #[test]
    fn what_takes_too_long_is_killed_and_the_next_command_runs() {
        let (mut console, mut shell) = served();
        assert_eq!(console.run("sleep 600", Duration::from_secs(1)).unwrap().status, 137);
        assert_eq!(console.run("echo on", LIMIT).unwrap().text, "on\n");
        drop(console);
        shell.wait().unwrap();
    }

    #[test]
    fn silence_nonsense_and_the_end_are_told_apart() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let mut console = Console::new(near, Arc::default());
        let soon = Instant::now() + Duration::from_millis(50);
        far.write_all(b"half a line").unwrap();
        assert!(matches!(console.read_line(soon), Err(NoAnswer::Late)));
        for nonsense in ["1 2\n", "1 2 3 4\n", "1 0 999999999999\n", "\u{1b}\n", ". 0 0\n", "1 0 0\n"] {
            far.write_all(nonsense.as_bytes()).unwrap();
            assert!(matches!(console.run("x", LIMIT), Err(NoAnswer::Unreadable(_))), "{nonsense}");
        }
        drop(far);
        assert!(matches!(console.run("x", LIMIT), Err(NoAnswer::Gone)));
    }
}
