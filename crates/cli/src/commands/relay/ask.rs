//! Requests to a running relay.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::thread::park_timeout;
use std::time::Duration;

use wiremend_dataplane::control::{ControlError, send_request};
use wiremend_dataplane::event_loop::Clock;
use wiremend_dataplane::relay::{Classifier, ProtectionMode, Request, SOCKET, Status};

use super::{class_error, protection_mode, rules, view};
use crate::args::operate::{RelaySet, RelayStatus, RelayWhich};
use crate::failure::{Answer, Failure};
use crate::{rundir, signals, terminal};

/// Interval between updates of the view.
const REFRESH: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(50);
/// Moves the cursor to the upper left corner and clears the screen.
const CLEAR_SCREEN: &str = "\x1b[H\x1b[J";

pub(crate) fn status(args: &RelayStatus) -> Result<Answer, Failure> {
    if args.watch {
        return watch(&args.which);
    }
    let status = send(&args.which, &Request::Status)?;
    terminal::print(&if args.json {
        format!("{}\n", serde_json::to_string_pretty(&status).expect("plain values"))
    } else {
        view::text(&status, None, terminal::stdout())
    })?;
    Ok(Answer::Yes)
}

/// Updates the view until Ctrl-C. Without a terminal, prints one view after the other.
fn watch(which: &RelayWhich) -> Result<Answer, Failure> {
    signals::catch()?;
    let clear = if std::io::stdout().is_terminal() { CLEAR_SCREEN } else { "" };
    let clock = Clock::start();
    let mut before: Option<(Status, u64)> = None;
    loop {
        let status = send(which, &Request::Status)?;
        let now = clock.now().as_ns();
        let earlier = before
            .as_ref()
            .filter(|(earlier, _)| earlier.pid == status.pid)
            .map(|(earlier, at)| (earlier, (now - at) as f64 / 1e9));
        let text = view::text(&status, earlier, terminal::stdout());
        terminal::print(&format!("{clear}{text}"))?;
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
    send(which, if active { &Request::Activate } else { &Request::Deactivate })?;
    Ok(Answer::Yes)
}

pub(crate) fn set(args: &RelaySet) -> Result<Answer, Failure> {
    let (mode, copies, target) = (args.mode.map(protection_mode), args.copies, args.target_loss);
    let classes = if args.classes.is_empty() { None } else { Some(rules(&args.classes)?) };
    if mode.is_none() && classes.is_none() && copies.is_none() && target.is_none() {
        return Err(Failure::Input(
            "nothing to set; give --mode, --class, --copies or --target-loss".to_owned(),
        ));
    }
    if let Some(rules) = &classes {
        Classifier::new(rules.clone(), ProtectionMode::Ordered).map_err(|error| class_error(&error))?;
    }
    send(&args.which, &Request::Set { mode, classes, copies, target })?;
    Ok(Answer::Yes)
}

fn send(which: &RelayWhich, request: &Request) -> Result<Status, Failure> {
    let socket = socket(which)?;
    send_request(&socket, request).map_err(|why| match why {
        ControlError::Refused(why) => Failure::Input(why),
        ControlError::Unreachable(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Failure::Environment(format!(
                "no permission for the relay at {}; only root and the group of that socket may access it",
                socket.display()
            ))
        }
        ControlError::Unreachable(error) => Failure::Environment(format!(
            "no relay at {}: {error}; start one: wiremend relay run --lan IF --link IF",
            socket.display()
        )),
        ControlError::InvalidResponse(why) => {
            Failure::Environment(format!("invalid response of the relay at {}: {why}", socket.display()))
        }
    })
}

/// Returns the socket of the relay.
fn socket(which: &RelayWhich) -> Result<PathBuf, Failure> {
    let place = rundir::path(&which.place);
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
            "no relay is running (no socket in {}); start one: wiremend relay run --lan IF --link IF",
            place.display()
        ))),
        _ => Err(Failure::Input("several relays are running; select one with --link IF".to_owned())),
    }
}
