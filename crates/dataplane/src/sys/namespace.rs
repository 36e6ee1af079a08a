//! Network namespaces and user namespaces.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Moves the calling thread into a new, empty network namespace. Needs `CAP_SYS_ADMIN`.
pub fn unshare_network() -> io::Result<()> {
    unshare(libc::CLONE_NEWNET)
}

/// Moves the calling thread into the network namespace that `fd` refers to. Needs `CAP_SYS_ADMIN`.
pub fn enter_network(fd: impl AsFd) -> io::Result<()> {
    // SAFETY: plain call without pointers; the descriptor is open while it is borrowed.
    let outcome = unsafe { libc::setns(fd.as_fd().as_raw_fd(), libc::CLONE_NEWNET) };
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Opens the network namespace of the calling thread.
pub fn own_network() -> io::Result<File> {
    File::open("/proc/thread-self/ns/net")
}

/// Moves the calling process into a new user namespace, in which it is root.
///
/// The process must have a single thread (otherwise `EINVAL`): call it at the start of `main`.
pub fn enter_user() -> io::Result<()> {
    IdMaps::for_this_process().enter(0)
}
/// Makes `command` start in a new user namespace and network namespace. The caller may have several threads.
pub fn start_in_user(command: &mut Command) {
    let maps = IdMaps::for_this_process();
    // SAFETY: between fork and exec `enter` makes system calls only and does not allocate.
    unsafe { command.pre_exec(move || maps.enter(libc::CLONE_NEWNET)) };
}

/// Makes `command` start in the network namespace that `fd` refers to. Needs `CAP_SYS_ADMIN`.
pub fn start_in_network(command: &mut Command, fd: impl AsFd) -> io::Result<()> {
    let fd: OwnedFd = fd.as_fd().try_clone_to_owned()?;
    // SAFETY: between fork and exec `enter_network` makes one system call; the descriptor is open.
    unsafe { command.pre_exec(move || enter_network(&fd)) };
    Ok(())
}

/// Returns whether the effective user is root in the current user namespace.
pub fn is_root() -> bool {
    // SAFETY: plain call without pointers, which cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Id maps that make the current user root in a new user namespace.
struct IdMaps {
    users: String,
    groups: String,
}

impl IdMaps {
    fn for_this_process() -> Self {
        // SAFETY: plain calls without pointers, which cannot fail.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        Self { users: format!("0 {user} 1"), groups: format!("0 {group} 1") }
    }

    /// Does not allocate, because it also runs between fork and exec.
    fn enter(&self, with: i32) -> io::Result<()> {
        unshare(libc::CLONE_NEWUSER | with)?;
        // Unprivileged users must deny `setgroups` before they map groups (`user_namespaces(7)`).
        write(c"/proc/self/setgroups", b"deny")?;
        write(c"/proc/self/uid_map", self.users.as_bytes())?;
        write(c"/proc/self/gid_map", self.groups.as_bytes())
    }
}

fn unshare(what: i32) -> io::Result<()> {
    // SAFETY: plain call without pointers.
    let outcome = unsafe { libc::unshare(what) };
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn write(path: &std::ffi::CStr, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the path is NUL-terminated and only read.
    let fd = unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: pointer and length are those of a slice, which is only read; `fd` was just opened.
    let written = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
    let outcome = if written < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
    // SAFETY: `fd` was opened above and is not used again.
    unsafe { libc::close(fd) };
    outcome
}
