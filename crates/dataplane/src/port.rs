//! Where frames come in and go out.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use wiremend_impair::{Fate, FrameFacts, Impairments};
use wiremend_units::Time;

use crate::sys::packet::{Arrival, KernelCounts, PacketSocket, Pieces, Tap};
use crate::sys::xdp::XdpSocket;

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

/// A port of the kernel.
pub enum LinuxPort {
    /// A packet socket.
    Packet(PacketSocket),
    /// Sockets past the kernel's stack.
    Xdp(Box<XdpSocket>),
}

impl LinuxPort {
    /// From here on frames that arrive on the interface with this index are seen.
    pub fn begin(&self, index: u32) -> io::Result<()> {
        match self {
            Self::Packet(socket) => socket.bind(index),
            // What it sees is said by the tap alone.
            Self::Xdp(_) => Ok(()),
        }
    }

    /// What is seen from here on.
    pub fn tap(&self, tap: Tap) -> io::Result<()> {
        match self {
            Self::Packet(socket) => socket.tap(tap),
            Self::Xdp(socket) => socket.tap(tap),
        }
    }

    /// What the kernel has counted since the last time.
    pub fn kernel_counts(&self) -> io::Result<KernelCounts> {
        match self {
            Self::Packet(socket) => socket.kernel_counts(),
            Self::Xdp(socket) => socket.kernel_counts(),
        }
    }

    /// Takes an error, so that it is not reported again: the interface went down.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        match self {
            Self::Packet(socket) => socket.take_error(),
            Self::Xdp(_) => Ok(None),
        }
    }

    /// What it is called.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Packet(_) => "packet",
            Self::Xdp(socket) if socket.is_zero_copy() => "xdp, without copying",
            Self::Xdp(_) => "xdp",
        }
    }
}

impl AsFd for LinuxPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Packet(socket) => socket.as_fd(),
            Self::Xdp(socket) => socket.as_fd(),
        }
    }
}

impl Port for LinuxPort {
    #[inline]
    fn take(&mut self) -> Option<Arrival> {
        match self {
            Self::Packet(socket) => socket.take(),
            Self::Xdp(socket) => socket.take(),
        }
    }

    #[inline]
    fn bytes(&self, arrival: &Arrival) -> &[u8] {
        match self {
            Self::Packet(socket) => socket.bytes(arrival),
            Self::Xdp(socket) => socket.bytes(arrival),
        }
    }

    #[inline]
    fn release(&mut self) {
        match self {
            Self::Packet(socket) => socket.release(),
            Self::Xdp(socket) => socket.release(),
        }
    }

    #[inline]
    fn send(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        match self {
            Self::Packet(socket) => socket.send(frames),
            Self::Xdp(socket) => socket.send(frames),
        }
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
