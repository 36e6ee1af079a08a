//! Who is who.

use std::io;
use std::os::fd::BorrowedFd;

use super::option;

/// The user at the other side of a Unix socket, as of when it was connected.
pub fn peer_uid(socket: BorrowedFd<'_>) -> io::Result<u32> {
    option::get::<libc::ucred>(socket, libc::SOL_SOCKET, libc::SO_PEERCRED).map(|peer| peer.uid)
}

/// The user that this process acts as.
pub fn own_uid() -> u32 {
    // SAFETY: no arguments, never fails.
    unsafe { libc::geteuid() }
}
