//! Asking a relay that runs, and telling it what to do.

use std::path::PathBuf;

use wiremend_dataplane::control::{Unanswered, ask};
use wiremend_dataplane::relay::{Request, SOCKET, Status};

use crate::args::operate::{Mode, RelaySet, RelayStatus, RelayWhich};
use crate::failure::{Answer, Failure};
use crate::{rundir, terminal};

pub(crate) fn status(asked: &RelayStatus) -> Result<Answer, Failure> {
    let status = tell(&asked.which, &Request::Status)?;
    let text = serde_json::to_string_pretty(&status).expect("plain values");
    terminal::print(&format!("{text}\n"))?;
    Ok(Answer::Yes)
}

pub(crate) fn activate(which: &RelayWhich, active: bool) -> Result<Answer, Failure> {
    tell(which, if active { &Request::Activate } else { &Request::Deactivate })?;
    Ok(Answer::Yes)
}

pub(crate) fn set(asked: &RelaySet) -> Result<Answer, Failure> {
    let ordered = asked.mode.map(|mode| mode == Mode::Ordered);
    tell(&asked.which, &Request::Set { ordered, copies: asked.copies, target: asked.target_loss })?;
    Ok(Answer::Yes)
}

fn tell(which: &RelayWhich, request: &Request) -> Result<Status, Failure> {
    let socket = socket(which)?;
    ask(&socket, request).map_err(|why| match why {
        Unanswered::Refused(why) => Failure::Input(why),
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
