//! Two machines that speak RoCE: Debian's own kernel with its soft-RoCE, unchanged, and perftest, under QEMU.
//!
//! A kernel without InfiniBand can't be a peer, and not every machine lets a guest use its processor's virtualisation. So a guest's
//! processor is emulated (TCG), which needs nothing but patience: about ten seconds to start two.
//!
//! [`Parts`] are what is found on this machine: programs of packages, and the kernel, which [`fetch`] has brought into
//! a cache. An image is made of them: a root file system of the programs, their libraries and the modules. A guest is a running
//! one, on a TAP interface that somebody else has made, and does as it is told on a virtio port (`console`). perftest has two of them
//! measure what lies between.
//!
//! Nothing is installed, and nothing stays: a guest ends when it is dropped, and by the kernel's hand when this process is killed.

mod archive;
mod console;
mod guest;
mod image;
mod kernel;
mod modules;
mod parts;
pub(crate) mod perftest;
#[cfg(test)]
mod trial;
mod trouble;

use crate::error::Error;

pub use parts::Parts;
#[cfg(test)]
pub(crate) use trouble::Trouble;
pub(crate) use {
    guest::{Guest, Seat, Tap},
    image::Image,
};

/// What guests are made of, as far as this machine has it; what it lacks is an error that says how to get it.
pub fn find() -> Result<Parts, Error> {
    Ok(Parts::find()?)
}

/// Brings Debian's kernel into the cache, with apt-get.
pub fn fetch() -> Result<(), Error> {
    Ok(kernel::fetch()?)
}
