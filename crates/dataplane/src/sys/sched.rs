//! Where a thread runs.

use std::io;
use std::mem::{size_of, zeroed};

/// Keeps the calling thread on one processor.
pub fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: a set of zeros is empty; the number was checked to be in it.
    let set = unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        libc::CPU_SET(cpu, &mut set);
        set
    };
    // SAFETY: the set lives through the call and has the length that is given.
    let done = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
