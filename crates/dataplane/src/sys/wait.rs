//! Waiting for descriptors with nanosecond timeouts, and waking a waiting thread.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

/// Readiness of a descriptor.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Ready {
    /// Readable.
    pub read: bool,
    /// Writable.
    pub write: bool,
    /// An error is pending, or the peer closed.
    pub error: bool,
}

/// Waits until a descriptor is readable (or writable, if its flag is set), `limit` has passed or a signal
/// came.
pub fn wait<const N: usize>(
    fds: [(BorrowedFd<'_>, bool); N],
    limit: Option<Duration>,
) -> io::Result<[Ready; N]> {
    let mut polled = fds.map(poll_entry);
    poll(&mut polled, limit)?;
    Ok(polled.map(readiness))
}

/// Does the same for any number of descriptors.
pub fn wait_all(fds: &[(BorrowedFd<'_>, bool)], limit: Option<Duration>) -> io::Result<Vec<Ready>> {
    let mut polled: Vec<libc::pollfd> = fds.iter().copied().map(poll_entry).collect();
    poll(&mut polled, limit)?;
    Ok(polled.into_iter().map(readiness).collect())
}

fn poll_entry((fd, write): (BorrowedFd<'_>, bool)) -> libc::pollfd {
    let events = libc::POLLIN | if write { libc::POLLOUT } else { 0 };
    libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 }
}

fn poll(polled: &mut [libc::pollfd], limit: Option<Duration>) -> io::Result<()> {
    let limit = limit.map(|limit| libc::timespec {
        tv_sec: limit.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(limit.subsec_nanos() as i32),
    });
    let limit = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the length is that of the slice; it and the limit outlive the call.
    let count = unsafe { libc::ppoll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, limit, ptr::null()) };
    if count < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(())
}

fn readiness(polled: libc::pollfd) -> Ready {
    Ready {
        read: polled.revents & libc::POLLIN != 0,
        write: polled.revents & libc::POLLOUT != 0,
        error: polled.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0,
    }
}

/// Wakes a waiting thread. Several wake-ups before it runs count as one.
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// Creates a waker.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the new descriptor is not shared.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: see above.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Wakes the waiting thread.
    pub fn wake(&self) {
        // SAFETY: eight bytes of an integer that outlives the call. Fails only after 2^64 wake-ups.
        unsafe { libc::write(self.0.as_raw_fd(), ptr::from_ref(&1u64).cast(), 8) };
    }

    /// Returns whether it was woken since the last call.
    pub fn was_woken(&self) -> bool {
        let mut count = 0u64;
        // SAFETY: eight bytes of an integer that outlives the call.
        unsafe { libc::read(self.0.as_raw_fd(), ptr::from_mut(&mut count).cast(), 8) == 8 }
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sets the timer slack of this thread to 1 ns. The default lets timers fire up to 50 µs late.
pub fn set_precise_timers() {
    // SAFETY: no pointers; applies to the calling thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
