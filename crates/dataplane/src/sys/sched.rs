//! CPU affinity, CPU time and time slices of threads.

use std::io;
use std::mem::{size_of, zeroed};
use std::time::Duration;

/// CPU time of the calling thread, in user and kernel mode.
pub fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes a `timespec`. This clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Pins the calling thread to one processor.
pub fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: a zeroed set is empty; the number was checked above.
    let set = unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        libc::CPU_SET(cpu, &mut set);
        set
    };
    // SAFETY: the set outlives the call and has the given length.
    let done = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
/// Requests short time slices for the calling thread. Linux 6.12 and later then schedules it before threads
/// with longer slices; older kernels ignore it. Threads with policies other than `SCHED_OTHER` are unchanged.
pub fn request_short_slices() {
    /// The first version of `struct sched_attr`.
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
    // SAFETY: no pointers; applies to the calling thread.
    if unsafe { libc::sched_getscheduler(0) } != libc::SCHED_OTHER {
        return;
    }
    // SAFETY: no pointers; cannot fail for the calling thread.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        nice,
        priority: 0,
        runtime_ns: SLICE_NS,
        deadline_ns: 0,
        period_ns: 0,
    };
    // SAFETY: the kernel reads `size` bytes. Applies to the calling thread; a failure changes nothing.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// The shortest slice that the kernel accepts.
const SLICE_NS: u64 = 100_000;
