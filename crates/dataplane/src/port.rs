//! Where frames come in and go out.

use std::io;

use crate::sys::packet::{Arrival, PacketSocket, Pieces};

/// Where frames come in and go out: an interface, or a test's memory.
pub trait Port {
    /// The next frame that has arrived. Its bytes stay until [`Port::release`].
    fn take(&mut self) -> Option<Arrival>;
    /// The bytes of a frame that was taken, without the tag that its arrival names.
    fn bytes(&self, arrival: &Arrival) -> &[u8];
    /// Lets go of all frames that were taken.
    fn release(&mut self);
    /// Sends frames and says how many were taken; none when there is no room now.
    fn send(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize>;
}

impl Port for PacketSocket {
    #[inline]
    fn take(&mut self) -> Option<Arrival> {
        Self::take(self)
    }

    #[inline]
    fn bytes(&self, arrival: &Arrival) -> &[u8] {
        Self::bytes(self, arrival)
    }

    #[inline]
    fn release(&mut self) {
        Self::release(self);
    }

    #[inline]
    fn send(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        Self::send(self, frames)
    }
}
