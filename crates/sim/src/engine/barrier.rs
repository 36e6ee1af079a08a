//! A barrier for threads that meet every few microseconds: a thread spins for a while, then sleeps.
//!
//! A waiting thread must not yield in a loop. On a machine whose processors run other programs too, each
//! yield gives away a whole time slice, so a simulation would get far less than its share. A sleeping thread
//! keeps its share.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

pub(crate) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
    spins_max: u32,
    /// Threads that sleep or are about to sleep.
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
}

/// A few microseconds of spinning. Used only if every thread has its own processor; otherwise spinning delays
/// the other threads.
const SPINS_MAX: u32 = 4_000;

impl Barrier {
    pub(crate) fn new(threads: usize) -> Self {
        let zero = || AtomicUsize::new(0);
        #[expect(clippy::disallowed_methods, reason = "how to wait changes no result")]
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let spins_max = if threads <= processors { SPINS_MAX } else { 0 };
        let (lock, wake) = (Mutex::new(()), Condvar::new());
        let broken = AtomicBool::new(false);
        Self { threads, arrived: zero(), round: zero(), broken, spins_max, sleepers: zero(), lock, wake }
    }

    /// Waits until all threads have arrived. Panics if another thread has panicked.
    pub(crate) fn wait(&self) {
        if self.threads == 1 {
            return;
        }
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Release);
            self.round.store(round + 1, Ordering::SeqCst);
            // A thread counts itself as a sleeper before it reads `round` again, so one of the two sees the
            // other.
            if self.sleepers.load(Ordering::SeqCst) > 0 {
                self.wake_all();
            }
            return;
        }
        let is_waiting = || self.round.load(Ordering::SeqCst) == round && !self.broken.load(Ordering::SeqCst);
        for _ in 0..self.spins_max {
            if self.round.load(Ordering::Acquire) != round {
                return;
            }
            std::hint::spin_loop();
        }
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.wake.wait_while(guard, |()| is_waiting()).unwrap_or_else(PoisonError::into_inner));
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        let is_broken = self.round.load(Ordering::Acquire) == round;
        assert!(!is_broken, "another thread of the simulation panicked");
    }

    fn wake_all(&self) {
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake.notify_all();
    }

    /// While the guard lives, a panic of this thread releases the other threads.
    pub(crate) fn guard(&self) -> Guard<'_> {
        Guard(self)
    }
}

pub(crate) struct Guard<'a>(&'a Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::SeqCst);
            self.0.wake_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_passes_the_barrier_early() {
        let (barrier, sum) = (Barrier::new(3), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 0..1_000 {
                        sum.fetch_add(1, Ordering::Relaxed);
                        barrier.wait();
                        assert_eq!(sum.load(Ordering::Relaxed), 3 * (round + 1));
                        barrier.wait();
                    }
                });
            }
        });
    }

    #[test]
    fn a_panic_releases_the_other_threads() {
        let barrier = Barrier::new(2);
        let outcome = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| barrier.wait());
            let failing = scope.spawn(|| {
                let _guard = barrier.guard();
                panic!("on purpose");
            });
            (waiting.join().is_err(), failing.join().is_err())
        });
        assert_eq!(outcome, (true, true));
    }
}
