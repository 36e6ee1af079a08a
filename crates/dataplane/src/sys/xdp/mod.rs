//! `AF_XDP`: frames that pass the kernel's network stack by, in memory shared with the driver.
//!
//! A small program at the interface decides which frames come here (`program`); each queue of the interface has a socket with four
//! rings (`ring`) and memory for frames (`queue`). It pays where a driver hands frames over without copying; between virtual
//! interfaces, packet sockets do as well.

mod program;
mod queue;
mod ring;

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::option::{checked, owned};
use super::packet::{Arrival, KernelCounts, Pieces, Tap};
use program::Program;
use queue::Queue;

/// All queues of an interface.
pub struct XdpSocket {
    queues: Vec<Queue>,
    program: Program,
    /// Ready when a queue is.
    ready: OwnedFd,
    /// Whose turn it is.
    next: usize,
    ethertype: u16,
    /// Drops that were reported.
    reported: Cell<u64>,
}

/// Where the program runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum XdpMode {
    /// In the driver.
    Native,
    /// In the kernel's stack, for any driver.
    Generic,
}

/// So many queues are looked after.
pub const QUEUES_MAX: usize = 64;
/// The longest frame: what fits into a page beside the room that the kernel keeps.
pub const FRAME_BYTES_MAX: u32 = 3498;

impl XdpSocket {
    /// Opens all `queues` of an interface. It sees nothing before [`XdpSocket::tap`] says what.
    pub fn open(index: u32, queues: usize, ethertype: u16, mode: XdpMode) -> io::Result<Self> {
        if !(1..=QUEUES_MAX).contains(&queues) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let program = Program::attach(index, ethertype, mode)?;
        let queues =
            (0..queues).map(|queue| Queue::open(index, queue as u32)).collect::<io::Result<Vec<_>>>()?;
        let ready = ready_when(&queues)?;
        Ok(Self { queues, program, ready, next: 0, ethertype, reported: Cell::new(0) })
    }

    /// What is seen from here on.
    pub fn tap(&self, tap: Tap) -> io::Result<()> {
        let (link, others) = match tap {
            Tap::All => (true, true),
            Tap::Nothing => (false, false),
            Tap::Only(ethertype) if ethertype == self.ethertype => (true, false),
            Tap::Only(_) => return Err(io::ErrorKind::InvalidInput.into()),
        };
        for (number, queue) in self.queues.iter().enumerate() {
            let fd = queue.as_fd();
            self.program.route(number as u32, link.then_some(fd))?;
            self.program.route((number + QUEUES_MAX) as u32, others.then_some(fd))?;
        }
        Ok(())
    }

    /// Whether the driver hands frames over without copying.
    pub fn is_zero_copy(&self) -> bool {
        self.queues.iter().all(Queue::is_zero_copy)
    }

    /// The next frame that has arrived. Its bytes stay until [`XdpSocket::release`].
    #[inline]
    pub fn take(&mut self) -> Option<Arrival> {
        let count = self.queues.len();
        for _ in 0..count {
            let queue = self.next;
            if let Some(place) = self.queues[queue].take() {
                return Some(Arrival { place: (queue as u32) << PLACE_BITS | place, tag: None, cut: false });
            }
            self.next = (queue + 1) % count;
        }
        None
    }

    /// The bytes of a frame that was taken.
    #[inline]
    pub fn bytes(&self, arrival: &Arrival) -> &[u8] {
        let (queue, place) = (arrival.place >> PLACE_BITS, arrival.place & ((1 << PLACE_BITS) - 1));
        self.queues[queue as usize].bytes(place)
    }

    /// Gives the memory of all frames that were taken back to the kernel.
    #[inline]
    pub fn release(&mut self) {
        for queue in &mut self.queues {
            queue.release();
        }
    }

    /// Sends frames, all by the first queue, so that they keep their order; says how many were taken.
    pub fn send(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        let count = frames.iter().take_while(|pieces| self.queues[0].put(pieces)).count();
        self.queues[0].kick()?;
        Ok(count)
    }

    /// What the kernel has counted since the last time; it does not say how much it has seen.
    pub fn kernel_counts(&self) -> io::Result<KernelCounts> {
        let mut dropped = 0;
        for queue in &self.queues {
            dropped += queue.dropped()?;
        }
        Ok(KernelCounts { seen: 0, dropped: dropped - self.reported.replace(dropped) })
    }
}

/// Of the number of a frame among those taken from a queue.
const PLACE_BITS: u32 = 24;

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}

fn ready_when(queues: &[Queue]) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the descriptor that comes back is nobody else's.
    let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    let epoll = owned(epoll)?;
    for queue in queues {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        // SAFETY: the event lives through the call.
        let done = unsafe {
            libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, queue.as_fd().as_raw_fd(), &raw mut event)
        };
        checked(done)?;
    }
    Ok(epoll)
}

/// All bytes of a frame that comes in pieces, one behind the other in `room`. How many; none: they do not fit.
fn gather(pieces: &[IoSlice<'_>], room: &mut [u8]) -> Option<usize> {
    let mut at = 0;
    for piece in pieces {
        room.get_mut(at..at + piece.len())?.copy_from_slice(piece);
        at += piece.len();
    }
    Some(at)
}
