//! Processes that depend on each other.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The process is asked to end when the thread that started it does, however that ends.
pub fn ends_with_parent(command: &mut Command) {
    // SAFETY: `prctl` is safe to call between `fork` and `exec`; it concerns the new process alone.
    unsafe {
        command.pre_exec(|| {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
}

/// Asks a process, which is a child of this one and was not waited for, to end.
pub fn terminate(pid: u32) -> io::Result<()> {
    // SAFETY: integers only. The child was not waited for, so the number is still its own.
    let done = unsafe { libc::kill(pid as libc::pid_t, libc::SIGTERM) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
