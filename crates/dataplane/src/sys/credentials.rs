//! Users and processes at the other end of a socket.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use super::sockopt;

/// User id of the peer of a Unix socket at the time of the connection.
pub fn peer_uid(socket: BorrowedFd<'_>) -> io::Result<u32> {
    sockopt::get::<libc::ucred>(socket, libc::SOL_SOCKET, libc::SO_PEERCRED).map(|peer| peer.uid)
}

/// Process id of the peer of a Unix socket, or of the process that listens on it.
pub fn peer_process(socket: &impl AsFd) -> Option<u32> {
    let peer = sockopt::get::<libc::ucred>(socket, libc::SOL_SOCKET, libc::SO_PEERCRED).ok()?;
    u32::try_from(peer.pid).ok().filter(|process| *process > 0)
}

/// Effective user id of this process.
pub fn own_uid() -> u32 {
    // SAFETY: no arguments, never fails.
    unsafe { libc::geteuid() }
}
