//! Asking a relay that runs, and telling it what to do.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::thread::park_timeout;
use std::time::Duration;

use wiremend_dataplane::control::{Unanswered, ask};
use wiremend_dataplane::drive::Clock;
use wiremend_dataplane::relay::{Care, Classes, Request, SOCKET, Status};

use super::{care, misfit, rules, view};
use crate::args::operate::{RelaySet, RelayStatus, RelayWhich};
use crate::failure::{Answer, Failure};
use crate::{rundir, signals, terminal};

/// How often a view is drawn anew.
const REFRESH: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(50);
/// To the upper left corner, and nothing below.
const WIPE: &str = "\x1b[H\x1b[J";

pub(crate) fn status(asked: &RelayStatus) -> Result<Answer, Failure> {
    if asked.watch {
        return watch(&asked.which);
    }
    let status = tell(&asked.which, &Request::Status)?;
    terminal::print(&if asked.json {
        format!("{}\n", serde_json::to_string_pretty(&status).expect("plain values"))
    } else {
        view::text(&status, None, terminal::stdout())
    })?;
    Ok(Answer::Yes)
}

/// Draws the view again and again, until Ctrl-C. Where there is no terminal, one below the other.
fn watch(which: &RelayWhich) -> Result<Answer, Failure> {
    signals::catch()?;
    let wipe = if std::io::stdout().is_terminal() { WIPE } else { "" };
    let clock = Clock::start();
    let mut before: Option<(Status, u64)> = None;
    loop {
        let status = tell(which, &Request::Status)?;
        let now = clock.now().as_ns();
        let earlier = before
            .as_ref()
            .filter(|(earlier, _)| earlier.pid == status.pid)
            .map(|(earlier, at)| (earlier, (now - at) as f64 / 1e9));
        let text = view::text(&status, earlier, terminal::stdout());
        terminal::print(&format!("{wipe}{text}"))?;
        before = Some((status, now));
        for _ in 0..REFRESH.as_millis() / STEP.as_millis() {
            if signals::caught().is_some() {
                return Ok(Answer::Yes);
            }
            park_timeout(STEP);
        }
    }
}

pub(crate) fn activate(which: &RelayWhich, active: bool) -> Result<Answer, Failure> {
    tell(which, if active { &Request::Activate } else { &Request::Deactivate })?;
    Ok(Answer::Yes)
}

pub(crate) fn set(asked: &RelaySet) -> Result<Answer, Failure> {
    let (mode, copies, target) = (asked.mode.map(care), asked.copies, asked.target_loss);
    let classes = if asked.classes.is_empty() { None } else { Some(rules(&asked.classes)?) };
    if mode.is_none() && classes.is_none() && copies.is_none() && target.is_none() {
        return Err(Failure::Input(
            "nothing to set; say --mode, --class, --copies or --target-loss".to_owned(),
        ));
    }
    if let Some(rules) = &classes {
        Classes::new(rules.clone(), Care::Ordered).map_err(|error| misfit(&error))?;
    }
    tell(&asked.which, &Request::Set { mode, classes, copies, target })?;
    Ok(Answer::Yes)
}

fn tell(which: &RelayWhich, request: &Request) -> Result<Status, Failure> {
    let socket = socket(which)?;
    ask(&socket, request).map_err(|why| match why {
        Unanswered::Refused(why) => Failure::Input(why),
        Unanswered::Absent(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Failure::Environment(format!(
                "the relay at {} may be asked by root and the group of that socket only",
                socket.display()
            ))
        }
        Unanswered::Absent(error) => {
            Failure::Environment(format!("no relay answers at {}: {error}", socket.display()))
        }
        Unanswered::Garbled(why) => {
            Failure::Environment(format!("the relay at {} broke off: {why}", socket.display()))
        }
    })
}

/// The socket of the relay that is meant.
fn socket(which: &RelayWhich) -> Result<PathBuf, Failure> {
    let place = rundir::of(&which.place);
    if let Some(link) = &which.link {
        return Ok(place.join(link).join(SOCKET));
    }
    let mut all: Vec<_> = std::fs::read_dir(&place)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join(SOCKET))
        .filter(|path| path.exists())
        .collect();
    match (all.pop(), all.is_empty()) {
        (Some(only), true) => Ok(only),
        (None, _) => Err(Failure::Environment(format!(
            "no relay runs here (none has a socket in {}); start one: wiremend relay run --lan IF --link IF",
            place.display()
        ))),
        _ => Err(Failure::Input("several relays run here; say which with --link IF".to_owned())),
    }
}
