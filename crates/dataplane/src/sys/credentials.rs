//! User ids.

use std::io;
use std::os::fd::BorrowedFd;

use super::sockopt;

/// User id of the peer of a Unix socket at the time of the connection.
pub fn peer_uid(socket: BorrowedFd<'_>) -> io::Result<u32> {
    sockopt::get::<libc::ucred>(socket, libc::SOL_SOCKET, libc::SO_PEERCRED).map(|peer| peer.uid)
}

/// Effective user id of this process.
pub fn own_uid() -> u32 {
    // SAFETY: no arguments, never fails.
    unsafe { libc::geteuid() }
}
