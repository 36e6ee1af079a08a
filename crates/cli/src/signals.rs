//! SIGINT, SIGTERM and SIGHUP: the first stops a run in order, the second ends the program at once. SIGHUP makes
//! services read their configuration again.

use std::io;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::Failure;

static CAUGHT: OnceLock<Arc<AtomicUsize>> = OnceLock::new();
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();
static RELOAD: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Installs handlers that record the first signal; the second one ends the program.
pub(crate) fn catch() -> Result<(), Failure> {
    stop_on(&[SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| Failure::Environment(format!("cannot watch for Ctrl-C: {error}")))
}

/// Like [`catch`], but SIGHUP only asks to read the configuration again: see [`reload`].
pub(crate) fn catch_with_reload() -> Result<(), Failure> {
    stop_on(&[SIGINT, SIGTERM])
        .and_then(|()| flag::register(SIGHUP, reload()))
        .map(drop)
        .map_err(|error| Failure::Environment(format!("cannot watch for signals: {error}")))
}

/// Installs handlers that record signals, for a supervised process that stops in order by itself. SIGHUP is for
/// the supervisor.
pub(crate) fn note() -> Result<(), Failure> {
    let caught = CAUGHT.get_or_init(Arc::default);
    let noted = [SIGINT, SIGTERM]
        .into_iter()
        .try_for_each(|signal| flag::register_usize(signal, Arc::clone(caught), signal as usize).map(drop))
        .and_then(|()| flag::register(SIGHUP, Arc::default()));
    noted.map(drop).map_err(|error| Failure::Environment(format!("cannot watch for signals: {error}")))
}

fn stop_on(signals: &[i32]) -> io::Result<()> {
    let caught = CAUGHT.get_or_init(Arc::default);
    let again = stop();
    for signal in signals.iter().copied() {
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

/// Returns the flag that SIGHUP sets after [`catch_with_reload`]. Who reads the configuration clears it.
pub(crate) fn reload() -> Arc<AtomicBool> {
    Arc::clone(RELOAD.get_or_init(Arc::default))
}
