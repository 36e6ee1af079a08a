//! Waiting for descriptors and for a moment, to the nanosecond; and waking one that waits.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

/// What a descriptor is ready for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Ready {
    /// There is something to read.
    pub read: bool,
    /// There is room to write.
    pub write: bool,
    /// There is an error to take, or the other side is gone.
    pub error: bool,
}

/// Waits until one of the descriptors can be read (or written, where `write` asks for it), or the time is over. No limit: for ever. A
/// signal ends it early.
pub fn wait<const N: usize>(
    fds: [(BorrowedFd<'_>, bool); N],
    limit: Option<Duration>,
) -> io::Result<[Ready; N]> {
    let mut polled = fds.map(|(fd, write)| libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLIN | if write { libc::POLLOUT } else { 0 },
        revents: 0,
    });
    let limit = limit.map(|limit| libc::timespec {
        tv_sec: limit.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(limit.subsec_nanos() as i32),
    });
    let limit = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the array has as many entries as are given; it and the limit live through the call.
    let count = unsafe { libc::ppoll(polled.as_mut_ptr(), N as libc::nfds_t, limit, ptr::null()) };
    if count < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(polled.map(|one| Ready {
        read: one.revents & libc::POLLIN != 0,
        write: one.revents & libc::POLLOUT != 0,
        error: one.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0,
    }))
}

/// Wakes a thread that waits for it; several wakes before it looks are one.
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// One that nobody has woken.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the descriptor that comes back is nobody else's.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: see above.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Wakes.
    pub fn wake(&self) {
        // SAFETY: eight bytes of an integer that lives through the call. It fails only when it has been woken 2^64 times.
        unsafe { libc::write(self.0.as_raw_fd(), ptr::from_ref(&1u64).cast(), 8) };
    }

    /// Whether it was woken since the last time.
    pub fn was_woken(&self) -> bool {
        let mut count = 0u64;
        // SAFETY: eight bytes of an integer that lives through the call.
        unsafe { libc::read(self.0.as_raw_fd(), ptr::from_mut(&mut count).cast(), 8) == 8 }
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Timers of this thread fire when they are due, not up to 50 µs later.
pub fn precise_timers() {
    // SAFETY: integers only; it concerns the calling thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
