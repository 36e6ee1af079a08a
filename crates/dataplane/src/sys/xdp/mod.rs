//! `AF_XDP` sockets, which bypass the kernel's network stack.
//!
//! An XDP program on the interface selects the frames (`program`). Each queue of the interface has a socket
//! with four rings (`ring`) and frame memory (`queue`). XDP pays where the driver supports zero copy; on
//! virtual interfaces packet sockets are as fast.

mod program;
mod queue;
mod ring;

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::packet::{CaptureFilter, KernelCounts, Pieces, RxFrame};
use super::sockopt::{checked, owned};
use program::Program;
use queue::Queue;

/// `AF_XDP` sockets on all queues of an interface.
pub struct XdpSocket {
    queues: Vec<Queue>,
    program: Program,
    /// An epoll descriptor, readable when a queue is.
    ready: OwnedFd,
    next: usize,
    ethertype: u16,
    reported: Cell<u64>,
}

/// Where the XDP program runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum XdpMode {
    /// In the driver.
    Native,
    /// In the kernel's network stack, for any driver.
    Generic,
}

/// Maximum number of queues.
pub const QUEUES_MAX: usize = 64;
/// Longest frame: a page minus the headroom that the kernel reserves.
pub const FRAME_BYTES_MAX: u32 = 3498;

impl XdpSocket {
    /// Opens all `queues` of an interface. It receives nothing before [`XdpSocket::set_filter`].
    pub fn open(index: u32, queues: usize, ethertype: u16, mode: XdpMode) -> io::Result<Self> {
        if !(1..=QUEUES_MAX).contains(&queues) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let program = Program::attach(index, ethertype, mode)?;
        let queues =
            (0..queues).map(|queue| Queue::open(index, queue as u32)).collect::<io::Result<Vec<_>>>()?;
        let ready = epoll_on(&queues)?;
        Ok(Self { queues, program, ready, next: 0, ethertype, reported: Cell::new(0) })
    }

    /// Selects the frames to receive.
    pub fn set_filter(&self, filter: CaptureFilter) -> io::Result<()> {
        let (link, others) = match filter {
            CaptureFilter::All => (true, true),
            CaptureFilter::Nothing => (false, false),
            CaptureFilter::Only(ethertype) | CaptureFilter::LinkFrames(ethertype)
                if ethertype == self.ethertype =>
            {
                (true, false)
            }
            CaptureFilter::Only(_) | CaptureFilter::LinkFrames(_) | CaptureFilter::UdpPort(_) => {
                return Err(io::ErrorKind::InvalidInput.into());
            }
        };
        for (number, queue) in self.queues.iter().enumerate() {
            let fd = queue.as_fd();
            self.program.route(number as u32, link.then_some(fd))?;
            self.program.route((number + QUEUES_MAX) as u32, others.then_some(fd))?;
        }
        Ok(())
    }

    /// Size of the memory for frames of all queues.
    pub fn ring_bytes(&self) -> usize {
        self.queues.iter().map(Queue::memory_bytes).sum()
    }

    /// Returns whether the driver uses zero copy.
    pub fn is_zero_copy(&self) -> bool {
        self.queues.iter().all(Queue::is_zero_copy)
    }

    /// Takes the next received frame. Its bytes stay valid until [`XdpSocket::release`].
    #[inline]
    pub fn take(&mut self) -> Option<RxFrame> {
        let count = self.queues.len();
        for _ in 0..count {
            let queue = self.next;
            if let Some(index) = self.queues[queue].take() {
                return Some(RxFrame::new((queue as u32) << FRAME_INDEX_BITS | index, None, false));
            }
            self.next = (queue + 1) % count;
        }
        None
    }

    /// The bytes of a frame.
    #[inline]
    pub fn bytes(&self, rx_frame: &RxFrame) -> &[u8] {
        let (queue, index) =
            (rx_frame.index >> FRAME_INDEX_BITS, rx_frame.index & ((1 << FRAME_INDEX_BITS) - 1));
        self.queues[queue as usize].bytes(index)
    }

    /// Returns the memory of all taken frames to the kernel.
    #[inline]
    pub fn release(&mut self) {
        for queue in &mut self.queues {
            queue.release();
        }
    }

    /// Sends frames on the first queue, which keeps their order. Returns the number of accepted frames.
    pub fn send(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        let count = frames.iter().take_while(|pieces| self.queues[0].put(pieces)).count();
        self.queues[0].kick()?;
        Ok(count)
    }

    /// Counters since the last call. XDP does not count received frames.
    pub fn kernel_counts(&self) -> io::Result<KernelCounts> {
        let mut dropped = 0;
        for queue in &self.queues {
            dropped += queue.dropped()?;
        }
        Ok(KernelCounts { seen: 0, dropped: dropped - self.reported.replace(dropped) })
    }
}

/// Bits of a receive index that number the frame within its queue; the bits above number the queue.
const FRAME_INDEX_BITS: u32 = 24;

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}

fn epoll_on(queues: &[Queue]) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the new descriptor is not shared.
    let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    let epoll = owned(epoll)?;
    for queue in queues {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        // SAFETY: the event outlives the call.
        let done = unsafe {
            libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, queue.as_fd().as_raw_fd(), &raw mut event)
        };
        checked(done)?;
    }
    Ok(epoll)
}

/// Copies the pieces of a frame into `room` and returns the length. `None` if they do not fit.
fn gather(pieces: &[IoSlice<'_>], room: &mut [u8]) -> Option<usize> {
    let mut at = 0;
    for piece in pieces {
        room.get_mut(at..at + piece.len())?.copy_from_slice(piece);
        at += piece.len();
    }
    Some(at)
}
