//! Two machines that speak RoCE: Debian's own kernel with its soft-RoCE, unchanged, and perftest, under QEMU.
//!
//! A kernel without InfiniBand can't be a peer, and not every machine lets a guest use its processor's virtualisation. So a guest's
//! processor is emulated (TCG), which needs nothing but patience: about ten seconds to start two.
//!
//! [`Parts`] are what is found on this machine: programs of packages, and the kernel, which [`kernel::fetch`] has brought into
//! a cache. An [`Image`] is made of them: a root file system of the programs, their libraries and the modules. A [`Guest`] is a running
//! one, on a TAP interface that somebody else has made, and does as it is told on a serial line ([`console`]). [`perftest`] has two of them
//! measure what lies between.
//!
//! Nothing is installed, and nothing stays: a guest ends when it is dropped, and by the kernel's hand when this process is killed.

mod archive;
mod console;
mod guest;
mod image;
pub(crate) mod kernel;
mod modules;
mod parts;
pub(crate) mod perftest;
#[cfg(test)]
mod trial;
mod trouble;

#[cfg(test)]
pub(crate) use trouble::Trouble;
pub(crate) use {
    guest::{Guest, Seat, Tap},
    image::Image,
    parts::Parts,
};
