//! Where frames come in and go out.

use std::io;

use wiremend_impair::{Fate, FrameFacts, Impairments};
use wiremend_units::Time;

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

/// A port some of whose frames arrive with a wrong frame check, and are not seen.
pub struct Impaired<P> {
    port: P,
    impairments: Impairments,
}

impl<P: Port> Impaired<P> {
    /// What arrives at `port` is impaired.
    pub fn new(port: P, impairments: Impairments) -> Self {
        Self { port, impairments }
    }

    /// The port itself.
    pub fn port(&self) -> &P {
        &self.port
    }
}

impl<P: Port> Port for Impaired<P> {
    fn take(&mut self) -> Option<Arrival> {
        loop {
            let arrival = self.port.take()?;
            let facts = FrameFacts::bare(self.port.bytes(&arrival).len() as u32);
            if self.impairments.is_empty() || self.impairments.fate(Time::ZERO, &facts) == Fate::Pass {
                return Some(arrival);
            }
        }
    }

    fn bytes(&self, arrival: &Arrival) -> &[u8] {
        self.port.bytes(arrival)
    }

    fn release(&mut self) {
        self.port.release();
    }

    fn send(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        self.port.send(frames)
    }
}
