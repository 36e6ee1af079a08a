//! Runs work without the GIL while the calling thread handles signals and reports progress.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use pyo3::prelude::*;
use wiremend_runner::{Progress, Runner};

/// Time between two looks at signals. Ctrl-C must work within a second, and a run looks at its flag much more often.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Calls `work` on another thread. Meanwhile other Python threads run, signals are handled, and `report` is called with
/// the completed fraction. If a signal handler or `report` raises, the work is stopped and the exception returned.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    report: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Runner<'_>) -> T + Send,
) -> PyResult<T> {
    let (stop, is_done, share) = (AtomicBool::new(false), AtomicBool::new(false), Share::default());
    let runner = Runner::new().version(crate::VERSION).progress(&share).stop(&stop);
    let runner = threads.map_or(runner, |threads| runner.threads(threads));
    thread::scope(|scope| {
        let caller = thread::current();
        let is_done = &is_done;
        let worker = scope.spawn(move || {
            let _end = End { is_done, caller };
            work(&runner)
        });
        let mut raised = Ok(());
        while raised.is_ok() && !is_done.load(Ordering::Acquire) {
            py.detach(|| thread::park_timeout(LOOK_EVERY));
            raised = py.check_signals().and_then(|()| match report {
                Some(report) => report.call1((share.get(),)).map(drop),
                None => Ok(()),
            });
        }
        if raised.is_err() {
            stop.store(true, Ordering::Release);
        }
        let result = py.detach(|| worker.join()).unwrap_or_else(|panic| resume_unwind(panic));
        raised.map(|()| result)
    })
}

/// Wakes the caller at the end of the work, also if it panics.
struct End<'a> {
    is_done: &'a AtomicBool,
    caller: Thread,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.is_done.store(true, Ordering::Release);
        self.caller.unpark();
    }
}

/// The completed fraction of all runs.
#[derive(Default)]
struct Share(Mutex<Vec<Part>>);

struct Part {
    weight: f64,
    done: f64,
}

impl Share {
    fn get(&self) -> f64 {
        let parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all: f64 = parts.iter().map(|part| part.weight).sum();
        let done: f64 = parts.iter().map(|part| part.weight * part.done).sum();
        if all > 0.0 { (done / all).clamp(0.0, 1.0) } else { 0.0 }
    }
}

impl Progress for Share {
    fn on_start(&self, weights: &[f64]) {
        let parts = weights.iter().map(|&weight| Part { weight, done: 0.0 }).collect();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = parts;
    }

    fn on_progress(&self, run: usize, share: f64) {
        if let Some(part) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(run) {
            part.done = share;
        }
    }
}
