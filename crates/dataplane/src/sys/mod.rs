//! Safe wrappers of system calls. The only module with `unsafe` code.
#![expect(unsafe_code, reason = "the kernel's interfaces are C; each block says why it is sound")]

pub mod capability;
pub mod credentials;
pub mod ioctl;
pub mod namespace;
pub mod netlink;
pub mod packet;

pub mod process;
pub mod raw;
pub mod sched;
pub mod udp;
pub mod wait;
pub mod xdp;

mod mapping;
mod sockopt;
