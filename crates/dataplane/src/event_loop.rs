//! Clock and waiting for the event loops of the relay and the wire.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use wiremend_units::Time;

use crate::sys::wait::{Ready, Waker, wait};

/// A monotonic clock that starts at zero, in the time unit of the protocol cores.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// Starts a clock at the current instant.
    #[expect(clippy::disallowed_methods, reason = "this is where time comes from on real ports")]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Returns the time since the start. It overflows after 213 days: see [`Clock::is_expired`].
    #[inline]
    pub fn now(&self) -> Time {
        Time::from_ns(self.start.elapsed().as_nanos() as u64)
    }

    /// Time after which a clock must be replaced, well before it overflows.
    pub const LIFETIME: Duration = Duration::from_hours(200 * 24);

    /// Returns whether the clock has reached its [`Clock::LIFETIME`].
    pub fn is_expired(&self) -> bool {
        self.start.elapsed() > Self::LIFETIME
    }
}

/// When a loop turned last, for health checks by other threads.
#[derive(Debug)]
pub struct Heartbeat {
    start: Instant,
    beat_ns: AtomicU64,
}

impl Heartbeat {
    /// Starts with a beat.
    #[expect(clippy::disallowed_methods, reason = "a clock of months, which the protocol cores do not see")]
    pub fn start() -> Self {
        Self { start: Instant::now(), beat_ns: AtomicU64::new(0) }
    }

    /// Records a turn of the loop.
    pub fn beat(&self) {
        self.beat_ns.store(self.start.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    /// Time since the last beat.
    pub fn age(&self) -> Duration {
        self.start.elapsed().saturating_sub(Duration::from_nanos(self.beat_ns.load(Ordering::Relaxed)))
    }
}

/// How a thread waits for frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitMode {
    /// Sleep until a descriptor is readable.
    Sleep,
    /// Poll without sleeping.
    Busy,
}

/// Waits until one of two ports is readable, the waker is woken, or the time `due` is reached.
pub fn wait_for_frames(
    poll: WaitMode,
    clock: &Clock,
    ports: [&dyn AsFd; 2],
    waker: &Waker,
    due: Option<Time>,
) -> io::Result<[Ready; 2]> {
    let now = clock.now();
    let left = due.map(|due| Duration::from_nanos(due.as_ns().saturating_sub(now.as_ns())));
    let limit = match poll {
        WaitMode::Busy => Some(Duration::ZERO),
        WaitMode::Sleep => left,
    };
    let fds = [(ports[0].as_fd(), false), (ports[1].as_fd(), false), (waker.as_fd(), false)];
    let [a, b, _] = wait(fds, limit)?;
    Ok([a, b])
}
