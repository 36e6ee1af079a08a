//! Socket descriptors and socket options.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use libc::{c_int, socklen_t};

/// A type made of integers only, for which any bytes are valid.
///
/// # Safety
/// All bit patterns must be valid, including zeros.
pub(super) unsafe trait Pod: Copy {}

/// Converts the result of a system call.
pub(super) fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Converts the result of a system call that creates a descriptor.
pub(super) fn owned(result: c_int) -> io::Result<OwnedFd> {
    let fd = checked(result)?;
    // SAFETY: the new descriptor is not shared.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(super) fn set<T>(fd: impl AsFd, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    let len = size_of::<T>() as socklen_t;
    // SAFETY: the value outlives the call and has the given length; the kernel checks the rest.
    let done =
        unsafe { libc::setsockopt(fd.as_fd().as_raw_fd(), level, option, ptr::from_ref(value).cast(), len) };
    checked(done).map(drop)
}

pub(super) fn get<T: Pod>(fd: impl AsFd, level: c_int, option: c_int) -> io::Result<T> {
    // SAFETY: zeros are valid by the contract of the trait.
    let mut value: T = unsafe { zeroed() };
    let mut len = size_of::<T>() as socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, and any bytes are valid by the contract of the trait.
    let done = unsafe {
        let value = ptr::from_mut(&mut value).cast();
        libc::getsockopt(fd.as_fd().as_raw_fd(), level, option, value, &raw mut len)
    };
    checked(done).map(|_| value)
}

// SAFETY: integers.
unsafe impl Pod for c_int {}
// SAFETY: integers.
unsafe impl Pod for libc::tpacket_stats {}
// SAFETY: integers.
unsafe impl Pod for libc::ucred {}
// SAFETY: integers.
unsafe impl Pod for libc::xdp_mmap_offsets {}
// SAFETY: integers.
unsafe impl Pod for libc::xdp_options {}
// SAFETY: integers.
unsafe impl Pod for libc::xdp_statistics {}
