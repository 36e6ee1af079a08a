//! Ctrl-C, a closed terminal, `kill`: the first ends a run in good order, the second at once.

use std::io;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::Failure;

static CAUGHT: OnceLock<Arc<AtomicUsize>> = OnceLock::new();
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From here on, a signal is noted and no longer ends the program at once.
pub(crate) fn catch() -> Result<(), Failure> {
    install().map_err(|error| Failure::Environment(format!("cannot watch for Ctrl-C: {error}")))
}

/// From here on, a signal is noted, and the next one too: for a process that ends in order, soon, and is not asked by people.
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
        // In this order: the flag of the first signal arms the end by the second, and who sees the flag finds the signal.
        flag::register_conditional_default(signal, Arc::clone(&again))?;
        flag::register_usize(signal, Arc::clone(caught), signal as usize)?;
        flag::register(signal, Arc::clone(&again))?;
    }
    Ok(())
}

/// The signal that was caught, if one was.
pub(crate) fn caught() -> Option<u8> {
    let signal = CAUGHT.get()?.load(Ordering::Relaxed);
    u8::try_from(signal).ok().filter(|signal| *signal != 0)
}

/// Set once a signal was caught, for libraries.
pub(crate) fn stop() -> Arc<AtomicBool> {
    Arc::clone(STOP.get_or_init(Arc::default))
}
