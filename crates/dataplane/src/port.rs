//! Ports: devices that receive and send frames.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use wiremend_impair::{Fate, FrameFacts, Impairments};
use wiremend_units::Time;

use crate::sys::packet::{
    CaptureFilter, KernelCounts, PacketSocket, PendingFrames, Pieces, RxFrame, Selection,
};
use crate::sys::xdp::XdpSocket;

/// A device that receives and sends frames: a network interface, or memory in a test.
pub trait Port {
    /// Takes the next received frame. Its bytes stay valid until [`Port::release`].
    fn take(&mut self) -> Option<RxFrame>;
    /// The bytes of a frame that was taken, without the tag in [`RxFrame::tag`].
    fn bytes(&self, rx_frame: &RxFrame) -> &[u8];
    /// Releases all frames that were taken.
    fn release(&mut self);
    /// Sends frames and returns how many the port accepted; 0 if it has no room.
    fn send(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize>;
}

impl Port for PacketSocket {
    #[inline]
    fn take(&mut self) -> Option<RxFrame> {
        Self::take(self)
    }

    #[inline]
    fn bytes(&self, rx_frame: &RxFrame) -> &[u8] {
        Self::bytes(self, rx_frame)
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

/// A network interface, opened through one of the kernel's socket types.
pub enum LinuxPort {
    /// A packet socket.
    Packet(PacketSocket),
    /// `AF_XDP` sockets, which bypass the kernel's network stack.
    Xdp(Box<XdpSocket>),
}

impl LinuxPort {
    /// Starts receiving on the interface with this index.
    pub fn begin(&self, index: u32) -> io::Result<()> {
        match self {
            Self::Packet(socket) => socket.bind(index),
            // The capture filter alone controls an XDP socket.
            Self::Xdp(_) => Ok(()),
        }
    }

    /// Selects the frames that the port receives.
    pub fn set_filter(&self, filter: CaptureFilter) -> io::Result<()> {
        match self {
            Self::Packet(socket) => socket.set_filter(filter),
            Self::Xdp(socket) => socket.set_filter(filter),
        }
    }

    /// Memory shared with the kernel.
    pub fn ring_bytes(&self) -> usize {
        match self {
            Self::Packet(socket) => socket.ring_bytes(),
            Self::Xdp(socket) => socket.ring_bytes(),
        }
    }

    /// Counts the received frames that were not taken, if the port can tell.
    pub fn pending(&self, ethertype: u16) -> Option<PendingFrames> {
        match self {
            Self::Packet(socket) => Some(socket.pending(ethertype)),
            Self::Xdp(_) => None,
        }
    }

    /// Selects among the received frames that were not taken.
    pub fn select(&self, selection: Selection) {
        if let Self::Packet(socket) = self {
            socket.select(selection);
        }
    }

    /// Reads and resets the kernel's counters of this port.
    pub fn kernel_counts(&self) -> io::Result<KernelCounts> {
        match self {
            Self::Packet(socket) => socket.kernel_counts(),
            Self::Xdp(socket) => socket.kernel_counts(),
        }
    }

    /// Reads and clears the pending error of the socket, such as `ENETDOWN`.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        match self {
            Self::Packet(socket) => socket.take_error(),
            Self::Xdp(_) => Ok(None),
        }
    }

    /// Name of the port type in the status.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Packet(_) => "packet",
            Self::Xdp(socket) if socket.is_zero_copy() => "xdp, zero copy",
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
    fn take(&mut self) -> Option<RxFrame> {
        match self {
            Self::Packet(socket) => socket.take(),
            Self::Xdp(socket) => socket.take(),
        }
    }

    #[inline]
    fn bytes(&self, rx_frame: &RxFrame) -> &[u8] {
        match self {
            Self::Packet(socket) => socket.bytes(rx_frame),
            Self::Xdp(socket) => socket.bytes(rx_frame),
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

/// A port that drops some received frames, as a MAC drops frames with a wrong FCS.
pub struct ImpairedPort<P> {
    port: P,
    impairments: Impairments,
}

impl<P: Port> ImpairedPort<P> {
    /// Applies `impairments` to the frames that `port` receives.
    pub fn new(port: P, impairments: Impairments) -> Self {
        Self { port, impairments }
    }

    /// Returns the inner port.
    pub fn port(&self) -> &P {
        &self.port
    }
}

impl<P: Port> Port for ImpairedPort<P> {
    fn take(&mut self) -> Option<RxFrame> {
        loop {
            let rx_frame = self.port.take()?;
            let facts = FrameFacts::bare(self.port.bytes(&rx_frame).len() as u32);
            if self.impairments.is_empty() || self.impairments.fate(Time::ZERO, &facts) == Fate::Pass {
                return Some(rx_frame);
            }
        }
    }

    fn bytes(&self, rx_frame: &RxFrame) -> &[u8] {
        self.port.bytes(rx_frame)
    }

    fn release(&mut self) {
        self.port.release();
    }

    fn send(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        self.port.send(frames)
    }
}
