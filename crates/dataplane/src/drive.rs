//! The clock and the waiting: what turns a bump or a cable on real ports.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use wiremend_units::Time;

use crate::sys::wait::{Ready, Waker, wait};

/// Time since a start, as cores want it.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// Starts now.
    #[expect(clippy::disallowed_methods, reason = "this is where time comes from on real ports")]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Now. A clock lasts 213 days; [`Clock::LIFE`] says when to begin anew.
    #[inline]
    pub fn now(&self) -> Time {
        Time::from_ns(self.start.elapsed().as_nanos() as u64)
    }

    /// Well before time overflows.
    pub const LIFE: Duration = Duration::from_hours(200 * 24);

    /// Whether it is time to begin anew.
    pub fn is_worn(&self) -> bool {
        self.start.elapsed() > Self::LIFE
    }
}

/// How to wait for frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Poll {
    /// Sleep until the kernel says that there is something.
    Sleep,
    /// Never sleep.
    Busy,
}

/// Waits until one of two ports can be read, somebody wakes, or `due` has come.
pub fn idle(
    poll: Poll,
    clock: &Clock,
    ports: [&dyn AsFd; 2],
    waker: &Waker,
    due: Option<Time>,
) -> io::Result<[Ready; 2]> {
    let now = clock.now();
    let left = due.map(|due| Duration::from_nanos(due.as_ns().saturating_sub(now.as_ns())));
    let limit = match poll {
        Poll::Busy => Some(Duration::ZERO),
        Poll::Sleep => left,
    };
    let fds = [(ports[0].as_fd(), false), (ports[1].as_fd(), false), (waker.as_fd(), false)];
    let [a, b, _] = wait(fds, limit)?;
    Ok([a, b])
}
