//! SIGINT, SIGTERM and SIGHUP: the first stops a run in order, the second ends the program at once.

use std::io;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::Failure;

static CAUGHT: OnceLock<Arc<AtomicUsize>> = OnceLock::new();
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Installs handlers that record the first signal; the second one ends the program.
pub(crate) fn catch() -> Result<(), Failure> {
    install().map_err(|error| Failure::Environment(format!("cannot watch for Ctrl-C: {error}")))
}

/// Installs handlers that record all signals, for a supervised process that stops in order by itself.
pub(crate) fn note() -> Result<(), Failure> {
    let caught = CAUGHT.get_or_init(Arc::default);
    let noted = [SIGINT, SIGTERM, SIGHUP]
        .into_iter()
        .try_for_each(|signal| flag::register_usize(signal, Arc::clone(caught), signal as usize).map(drop));
    noted.map_err(|error| Failure::Environment(format!("cannot watch for Ctrl-C: {error}")))
}

fn install() -> io::Result<()> {
    let caught = CAUGHT.get_or_init(Arc::default);
    let again = stop();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The order matters: the flag of the first signal arms the exit by the second, and the signal number must be
        // stored before the flag is visible.
        flag::register_conditional_default(signal, Arc::clone(&again))?;
        flag::register_usize(signal, Arc::clone(caught), signal as usize)?;
        flag::register(signal, Arc::clone(&again))?;
    }
    Ok(())
}

/// Returns the signal that was caught.
pub(crate) fn caught() -> Option<u8> {
    let signal = CAUGHT.get()?.load(Ordering::Relaxed);
    u8::try_from(signal).ok().filter(|signal| *signal != 0)
}

/// Returns the flag that is set when a signal was caught, for libraries.
pub(crate) fn stop() -> Arc<AtomicBool> {
    Arc::clone(STOP.get_or_init(Arc::default))
}
