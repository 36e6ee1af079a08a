//! The lab: real kernels and real transports at the two ends of a link that we impair and protect.
//!
//! A [`chain::Chain`] is host A, a relay, a wire, a relay and host B, in networks that nobody else sees: three namespaces held by
//! this process alone, and processes that end with it. [`tcp`] sends TCP over it, [`auto`] lets daemons mend it, [`roce`] puts machines with soft-RoCE in the place
//! of hosts ([`guests`]). A lab has a [`place::Place`], by which others find it.

pub(crate) mod auto;
pub(crate) mod chain;
pub(crate) mod guests;
mod part;
pub(crate) mod place;
pub(crate) mod rights;
pub(crate) mod roce;
pub(crate) mod tcp;

use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::signals;

/// How often something is looked at that nobody reports.
const LOOK: Duration = Duration::from_millis(2);

/// Waits for so long, unless somebody ends the program.
pub(crate) fn pause(span: Duration) -> Result<(), Failure> {
    let until = Instant::now() + span;
    loop {
        go_on()?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(Duration::from_millis(20)));
    }
}

/// Fails if somebody ends the program.
pub(crate) fn go_on() -> Result<(), Failure> {
    signals::caught().map_or(Ok(()), |signal| Err(Failure::Interrupted(signal)))
}
