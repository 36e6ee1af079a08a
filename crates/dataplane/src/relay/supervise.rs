//! Whatever becomes of a relay, its link goes on: a process that carries no frames watches the one that does.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use super::Unusable;
use super::junction::Junction;
use crate::sys::process;

/// Runs `command`, which runs a relay between these interfaces, until `stop` says so or it ends by itself. If it is killed, the
/// kernel joins the two interfaces at once, and another one is started.
pub fn supervise(
    mut command: Command,
    [lan, link]: [&str; 2],
    ethertype: u16,
    stop: impl Fn() -> bool,
) -> Result<ExitStatus, Unusable> {
    process::ends_with_parent(&mut command);
    let mut quick_deaths = 0;
    loop {
        let born = now();
        let mut child =
            command.spawn().map_err(|source| Unusable::Io { what: "a process".into(), source })?;
        let status =
            watch(&mut child, &stop).map_err(|source| Unusable::Io { what: "waiting".into(), source })?;
        if status.code().is_some_and(|code| code != super::WORN) || stop() {
            return Ok(status);
        }
        Junction::new(lan, link, ethertype)?;
        quick_deaths = if born.elapsed() < QUICK { quick_deaths + 1 } else { 0 };
        if quick_deaths > 0 {
            pause(BACKOFF * (1 << quick_deaths.min(5)));
        }
    }
}

/// A life shorter than this is no life: the next one waits.
const QUICK: Duration = Duration::from_secs(1);
const BACKOFF: Duration = Duration::from_millis(100);
/// How soon a death or the wish to stop is noticed.
const LOOK: Duration = Duration::from_millis(2);

fn watch(child: &mut Child, stop: &impl Fn() -> bool) -> io::Result<ExitStatus> {
    let mut told = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if stop() && !told {
            told = true;
            process::terminate(child.id())?;
        }
        pause(LOOK);
    }
}

#[expect(clippy::disallowed_methods, reason = "a process is watched in real time")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "a process is watched in real time")]
fn pause(span: Duration) {
    thread::sleep(span);
}
