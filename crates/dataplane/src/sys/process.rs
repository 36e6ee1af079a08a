//! Processes that depend on each other.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// The process is asked to end when the thread that started it does, however that ends.
pub fn ends_with_parent(command: &mut Command) {
    let parent = std::process::id();
    // SAFETY: `prctl` and `getppid` are safe to call between `fork` and `exec`; they concern the new process alone.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) < 0 {
                return Err(io::Error::last_os_error());
            }
            // The parent may have died before it could be asked for a signal.
            if libc::getppid() as u32 == parent { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
        });
    }
}

/// The process shares these descriptors, and thereby the locks on them, as long as it lives. They stay open until it was started.
pub fn shares(command: &mut Command, descriptors: &[BorrowedFd<'_>]) {
    let descriptors: Vec<RawFd> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    // SAFETY: `fcntl` is safe to call between `fork` and `exec`; it changes flags of the new process alone.
    unsafe {
        command.pre_exec(move || {
            let kept = descriptors.iter().all(|fd| libc::fcntl(*fd, libc::F_SETFD, 0) == 0);
            if kept { Ok(()) } else { Err(io::Error::last_os_error()) }
        });
    }
}

/// The other end of a pipe that the process holds, and nobody else once `command` is gone: it hangs up as soon as the process dies.
///
/// That is earlier than [`Death`], which waits until all that the process had is given back: for rings of packet sockets that takes some
/// tens of milliseconds. The kernel closes the highest descriptors of a dead process first, so the pipe has one of these.
pub fn last_breath(command: &mut Command) -> io::Result<io::PipeReader> {
    const HIGH: libc::c_int = 512;
    let (reader, writer) = io::pipe()?;
    // SAFETY: `fcntl` is safe to call between `fork` and `exec`; it gives the new process alone another descriptor.
    unsafe {
        command.pre_exec(move || {
            let copied = libc::fcntl(writer.as_raw_fd(), libc::F_DUPFD, HIGH);
            if copied < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
        });
    }
    Ok(reader)
}

/// A process gains nothing by running another program: neither root's nor that program's privileges.
pub fn no_new_privileges() -> io::Result<()> {
    // SAFETY: integers only; it concerns the calling thread and those it starts.
    let done = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Can be read when a process has ended (Linux 5.3).
#[derive(Debug)]
pub struct Death(OwnedFd);

impl Death {
    /// Of a child that was not waited for.
    pub fn of(child: &Child) -> io::Result<Self> {
        // SAFETY: integers only; the descriptor that comes back is nobody else's.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id() as libc::pid_t, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: see above.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd as RawFd) }))
    }
}

impl AsFd for Death {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Asks a process, which is a child of this one and was not waited for, to end.
pub fn terminate(pid: u32) -> io::Result<()> {
    // SAFETY: integers only. The child was not waited for, so the number is still its own.
    let done = unsafe { libc::kill(pid as libc::pid_t, libc::SIGTERM) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
