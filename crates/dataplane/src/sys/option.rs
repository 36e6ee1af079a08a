//! Descriptors and options of sockets: what every kind of socket needs.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use libc::{c_int, socklen_t};

/// A value that is made of integers alone, so that any bytes of the kernel are one.
///
/// # Safety
/// All bit patterns are valid, zeros among them.
pub(super) unsafe trait Plain: Copy {}

/// The result of a system call, or its error.
pub(super) fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The descriptor that a system call has just made, or its error.
pub(super) fn owned(result: c_int) -> io::Result<OwnedFd> {
    let fd = checked(result)?;
    // SAFETY: a descriptor that a system call has just made belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sets an option of a socket.
pub(super) fn set<T>(fd: impl AsFd, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    let len = size_of::<T>() as socklen_t;
    // SAFETY: the value lives through the call and has the length that is given; the kernel checks the rest.
    let done =
        unsafe { libc::setsockopt(fd.as_fd().as_raw_fd(), level, option, ptr::from_ref(value).cast(), len) };
    checked(done).map(drop)
}

/// Asks for an option of a socket.
pub(super) fn get<T: Plain>(fd: impl AsFd, level: c_int, option: c_int) -> io::Result<T> {
    // SAFETY: zeros are a value, by the trait.
    let mut value: T = unsafe { zeroed() };
    let mut len = size_of::<T>() as socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into a value of that length, of which all bytes are valid, by the trait.
    let done = unsafe {
        let value = ptr::from_mut(&mut value).cast();
        libc::getsockopt(fd.as_fd().as_raw_fd(), level, option, value, &raw mut len)
    };
    checked(done).map(|_| value)
}

// SAFETY: integers.
unsafe impl Plain for c_int {}
// SAFETY: integers.
unsafe impl Plain for libc::tpacket_stats {}
// SAFETY: integers.
unsafe impl Plain for libc::ucred {}
// SAFETY: integers.
unsafe impl Plain for libc::xdp_mmap_offsets {}
// SAFETY: integers.
unsafe impl Plain for libc::xdp_options {}
// SAFETY: integers.
unsafe impl Plain for libc::xdp_statistics {}
