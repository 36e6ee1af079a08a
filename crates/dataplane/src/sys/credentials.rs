//! Who is who.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// The user at the other side of a Unix socket, as of when it was connected.
pub fn peer_uid(socket: BorrowedFd<'_>) -> io::Result<u32> {
    // SAFETY: all fields are integers.
    let mut credentials: libc::ucred = unsafe { zeroed() };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into a structure of that length.
    let done = unsafe {
        let value = ptr::from_mut(&mut credentials).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, value, &raw mut len)
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(credentials.uid) }
}

/// The user that this process acts as.
pub fn own_uid() -> u32 {
    // SAFETY: no arguments, never fails.
    unsafe { libc::geteuid() }
}
