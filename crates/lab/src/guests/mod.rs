//! Virtual machines with soft-RoCE: Debian's unmodified kernel and perftest, under QEMU.
//!
//! The kernel of this machine may lack InfiniBand, and hardware virtualisation may be unavailable. So QEMU
//! emulates the processor (TCG). Two guests start in about ten seconds.
//!
//! [`GuestFiles`] are the programs of this machine and the kernel that [`fetch`] has downloaded into a cache.
//! An image is a root file system with the programs, their libraries and the modules. A guest is a running
//! machine on a TAP interface; it executes commands from a virtio port (`console`). `perftest` measures
//! between two guests.
//!
//! Nothing is installed. A guest ends when it is dropped or when this process is killed.

mod archive;
mod console;
mod error;
mod guest;
mod guest_files;
mod image;
mod kernel;
mod modules;
pub(crate) mod perftest;
#[cfg(test)]
mod tests;

use crate::error::Error;

pub use console::Output;
pub use error::GuestError;
pub use guest::{Guest, GuestConfig, TapDevice};
pub use guest_files::GuestFiles;
pub use image::Image;

/// Finds the files of guests. The error lists everything that is missing and how to install it.
pub fn find() -> Result<GuestFiles, Error> {
    Ok(GuestFiles::find()?)
}

/// Downloads Debian's kernel into the cache with apt-get.
pub fn fetch() -> Result<(), Error> {
    Ok(kernel::fetch()?)
}
