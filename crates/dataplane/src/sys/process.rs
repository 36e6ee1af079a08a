//! Control of child processes.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::ptr;

/// Makes the child receive SIGTERM when the thread that started it ends.
pub fn terminate_with_parent(command: &mut Command) {
    let parent = std::process::id();
    // SAFETY: `prctl` and `getppid` are safe between `fork` and `exec`; they affect only the new process.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) < 0 {
                return Err(io::Error::last_os_error());
            }
            // The parent may have died before the signal was set.
            if libc::getppid() as u32 == parent { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
        });
    }
}
/// Lets the child inherit these descriptors and their locks. They must stay open until the child runs.
pub fn inherit_descriptors(command: &mut Command, descriptors: &[BorrowedFd<'_>]) {
    let descriptors: Vec<RawFd> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    // SAFETY: `fcntl` is safe to call between `fork` and `exec`; it affects only the new process.
    unsafe {
        command.pre_exec(move || {
            let kept = descriptors.iter().all(|fd| libc::fcntl(*fd, libc::F_SETFD, 0) == 0);
            if kept { Ok(()) } else { Err(io::Error::last_os_error()) }
        });
    }
}

/// The descriptor of [`SignsOfLife`] in the child. The kernel closes the highest descriptors of a dead process first,
/// so this one is high.
const LIFE: RawFd = 512;
/// Tells the child that it has [`LIFE`].
const LIFE_VARIABLE: &str = "WIREMEND_SIGNS_OF_LIFE";

/// Returns the read end of a pipe whose write end only the child holds, once `command` is dropped. The child writes
/// to it by [`SignsOfLife`]. It hangs up when the child dies.
///
/// This is earlier than [`ProcessExit`], which waits until the kernel has freed all resources: some tens of
/// milliseconds for packet rings. Neither end blocks.
pub fn life_pipe(command: &mut Command) -> io::Result<io::PipeReader> {
    let (reader, writer) = io::pipe()?;
    for end in [reader.as_raw_fd(), writer.as_raw_fd()] {
        // SAFETY: no pointers; both descriptors are open. A new pipe has no other status flags.
        if unsafe { libc::fcntl(end, libc::F_SETFL, libc::O_NONBLOCK) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    command.env(LIFE_VARIABLE, LIFE.to_string());
    // SAFETY: `dup2` is safe to call between `fork` and `exec`; it affects only the new process.
    unsafe {
        command.pre_exec(move || {
            let copied = libc::dup2(writer.as_raw_fd(), LIFE);
            if copied < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
        });
    }
    Ok(reader)
}

/// How a child tells its parent that it does not hang.
#[derive(Debug)]
pub struct SignsOfLife {
    is_supervised: bool,
}

impl SignsOfLife {
    /// Those that [`life_pipe`] expects; none in a process that it did not prepare.
    #[expect(clippy::disallowed_methods, reason = "only the parent sets it")]
    pub fn inherited() -> Self {
        Self { is_supervised: std::env::var_os(LIFE_VARIABLE).is_some() }
    }

    /// Gives a sign. Does nothing if the parent does not read.
    pub fn give(&self) {
        if self.is_supervised {
            // SAFETY: one byte of a constant. The descriptor stays open until the process ends.
            unsafe { libc::write(LIFE, ptr::from_ref(&0u8).cast(), 1) };
        }
    }
}

/// Sets `no_new_privs`: running another program gives the process no additional privileges.
pub fn no_new_privileges() -> io::Result<()> {
    // SAFETY: no pointers; applies to the calling thread and its children.
    let done = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A pidfd, readable when the process has ended (Linux 5.3).
#[derive(Debug)]
pub struct ProcessExit(OwnedFd);

impl ProcessExit {
    /// Watches a child that was not waited for.
    pub fn watch(child: &Child) -> io::Result<Self> {
        // SAFETY: no pointers; the new descriptor is not shared.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id() as libc::pid_t, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: see above.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd as RawFd) }))
    }
}

impl AsFd for ProcessExit {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sends SIGTERM to a child that was not waited for.
pub fn terminate(pid: u32) -> io::Result<()> {
    // SAFETY: no pointers. The child was not waited for, so the id is still its own.
    let done = unsafe { libc::kill(pid as libc::pid_t, libc::SIGTERM) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
