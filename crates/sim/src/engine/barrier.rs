//! A barrier for threads that meet every few microseconds: it spins, then yields.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub(crate) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
    spins_max: u32,
}

/// A few microseconds, if every thread has a processor of its own; else waiting only keeps the others from it.
const SPINS_MAX: u32 = 4_000;

impl Barrier {
    pub(crate) fn new(threads: usize) -> Self {
        let zero = || AtomicUsize::new(0);
        #[expect(clippy::disallowed_methods, reason = "how to wait changes no result")]
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let spins_max = if threads <= processors { SPINS_MAX } else { 0 };
        Self { threads, arrived: zero(), round: zero(), broken: AtomicBool::new(false), spins_max }
    }

    /// Waits until all threads are here. Panics if one of them has.
    pub(crate) fn wait(&self) {
        if self.threads == 1 {
            return;
        }
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Release);
            self.round.store(round + 1, Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.round.load(Ordering::Acquire) == round {
            assert!(!self.broken.load(Ordering::Relaxed), "another thread of the simulation panicked");
            spins += 1;
            if spins < self.spins_max { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }

    /// While held, a panic of this thread frees the others.
    pub(crate) fn guard(&self) -> Guard<'_> {
        Guard(self)
    }
}

pub(crate) struct Guard<'a>(&'a Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_runs_ahead() {
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
    fn a_panic_frees_the_others() {
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
