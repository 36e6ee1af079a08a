//! Capabilities of threads.

use std::io;

/// A capability (`capabilities(7)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Capability {
    /// Configuration of interfaces, filters and addresses.
    NetAdmin = 12,
    /// Packet sockets.
    NetRaw = 13,
    /// Locked memory.
    IpcLock = 14,
    /// Namespaces.
    SysAdmin = 21,
    /// Priorities and real-time scheduling.
    SysNice = 23,
}

impl Capability {
    /// Name as in `capabilities(7)`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NetAdmin => "CAP_NET_ADMIN",
            Self::NetRaw => "CAP_NET_RAW",
            Self::IpcLock => "CAP_IPC_LOCK",
            Self::SysAdmin => "CAP_SYS_ADMIN",
            Self::SysNice => "CAP_SYS_NICE",
        }
    }

    /// Returns whether the calling thread has the capability.
    pub fn is_held(self) -> io::Result<bool> {
        Ok(own_sets()?[0].effective & 1 << self as u8 != 0)
    }
}

/// Drops all capabilities of the calling thread except those in `kept`.
///
/// Threads started later inherit the reduced set. Running threads keep theirs.
pub fn keep_only(kept: &[Capability]) -> io::Result<()> {
    let sets = own_sets()?;
    let header = Header { version: VERSION_3, thread: 0 };
    let mask = kept.iter().fold(0, |mask, capability| mask | 1 << *capability as u8);
    let permitted = sets[0].permitted & mask;
    let sets = [Sets { effective: permitted, permitted, inheritable: 0 }, Sets::default()];
    // SAFETY: version 3 reads the header and two `Sets`.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) })
}

fn own_sets() -> io::Result<[Sets; 2]> {
    let header = Header { version: VERSION_3, thread: 0 };
    let mut sets = [Sets::default(); 2];
    // SAFETY: version 3 reads the header and writes two `Sets`.
    check(unsafe { libc::syscall(libc::SYS_capget, &raw const header, sets.as_mut_ptr()) })?;
    Ok(sets)
}

/// `_LINUX_CAPABILITY_VERSION_3`.
const VERSION_3: u32 = 0x2008_0522;

/// `struct __user_cap_header_struct`.
#[repr(C)]
struct Header {
    version: u32,
    /// 0: the calling thread.
    thread: i32,
}

/// `struct __user_cap_data_struct`: 32 capabilities; the system call takes two of them.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

fn check(outcome: libc::c_long) -> io::Result<()> {
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
