//! Where a thread runs, and for how long.

use std::io;
use std::mem::{size_of, zeroed};
use std::time::Duration;

/// How long the calling thread has computed, in and for which the kernel worked.
pub fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes a time into a structure that is one. This clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

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

/// Turns of this thread are short, so that it is not kept waiting for the longer ones of others: a kernel from 6.12 on lets whoever
/// asks for less at a time go first. Others take no notice, and a thread that was given a better policy than the usual one keeps it.
pub fn short_turns() {
    /// `struct sched_attr`, as far as it always was.
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime_ns: u64,
        deadline_ns: u64,
        period_ns: u64,
    }
    // SAFETY: an integer only; it concerns the calling thread.
    if unsafe { libc::sched_getscheduler(0) } != libc::SCHED_OTHER {
        return;
    }
    // SAFETY: integers only; it concerns the calling thread, and cannot fail for it.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        nice,
        priority: 0,
        runtime_ns: TURN_NS,
        deadline_ns: 0,
        period_ns: 0,
    };
    // SAFETY: the kernel reads as many bytes as `size` says. It concerns the calling thread; a refusal leaves things as they were.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// The shortest that the kernel takes.
const TURN_NS: u64 = 100_000;
