//! An `AF_XDP` socket on one queue of an interface: frame memory and four rings.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

use super::gather;
use super::ring::Ring;
use crate::sys::mapping::Mapping;
use crate::sys::packet::Pieces;
use crate::sys::sockopt::{self, Pod, checked, owned};

pub(super) struct Queue {
    // Declared in drop order: rings and memory before the socket.
    fill: Ring<u64>,
    done: Ring<u64>,
    arriving: Ring<libc::xdp_desc>,
    leaving: Ring<libc::xdp_desc>,
    memory: Mapping,
    free: Vec<u64>,
    taken: Vec<libc::xdp_desc>,
    /// Whether frames were added since the last system call.
    unsent: bool,
    zero_copy: bool,
    fd: OwnedFd,
}

/// One page per frame, enough for drivers without multi-buffer frames.
const CHUNK_BYTES: u32 = 4096;
const RING_SIZE: u32 = 2048;
/// Enough calls to send a full ring.
const CALLS_MAX: u32 = RING_SIZE / 32;

impl Queue {
    pub(super) fn open(index: u32, queue: u32) -> io::Result<Self> {
        // SAFETY: no pointers; the new descriptor is not shared.
        let fd = owned(unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
        let chunks = u64::from(RING_SIZE) * 2;
        let memory = Mapping::anonymous(chunks as usize * CHUNK_BYTES as usize)?;
        // SAFETY: all fields are integers.
        let mut region: libc::xdp_umem_reg = unsafe { zeroed() };
        region.addr = memory.at(0, 0).addr() as u64;
        region.len = memory.len() as u64;
        region.chunk_size = CHUNK_BYTES;
        set(&fd, libc::XDP_UMEM_REG, &region)?;
        for ring in
            [libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_COMPLETION_RING, libc::XDP_RX_RING, libc::XDP_TX_RING]
        {
            set(&fd, ring, &RING_SIZE)?;
        }
        let offsets: libc::xdp_mmap_offsets = get(&fd, libc::XDP_MMAP_OFFSETS)?;
        let page = fd.as_fd();
        let mut opened = Self {
            fill: Ring::map(page, RING_SIZE, libc::XDP_UMEM_PGOFF_FILL_RING as i64, offsets.fr)?,
            done: Ring::map(page, RING_SIZE, libc::XDP_UMEM_PGOFF_COMPLETION_RING as i64, offsets.cr)?,
            arriving: Ring::map(page, RING_SIZE, libc::XDP_PGOFF_RX_RING, offsets.rx)?,
            leaving: Ring::map(page, RING_SIZE, libc::XDP_PGOFF_TX_RING, offsets.tx)?,
            free: (u64::from(RING_SIZE)..chunks).map(|chunk| chunk * u64::from(CHUNK_BYTES)).collect(),
            taken: Vec::with_capacity(RING_SIZE as usize),
            memory,
            unsent: false,
            zero_copy: false,
            fd,
        };
        for chunk in 0..u64::from(RING_SIZE) {
            opened.fill.put(chunk * u64::from(CHUNK_BYTES));
        }
        opened.fill.publish();
        opened.bind(index, queue)?;
        let options: libc::xdp_options = get(&opened.fd, libc::XDP_OPTIONS)?;
        opened.zero_copy = options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0;
        Ok(opened)
    }

    fn bind(&self, index: u32, queue: u32) -> io::Result<()> {
        // SAFETY: all fields are integers.
        let mut address: libc::sockaddr_xdp = unsafe { zeroed() };
        address.sxdp_family = libc::AF_XDP as u16;
        address.sxdp_flags = libc::XDP_USE_NEED_WAKEUP;
        address.sxdp_ifindex = index;
        address.sxdp_queue_id = queue;
        // SAFETY: the address outlives the call and has the given length.
        let done = unsafe {
            let len = size_of::<libc::sockaddr_xdp>() as libc::socklen_t;
            libc::bind(self.fd.as_raw_fd(), ptr::from_ref(&address).cast(), len)
        };
        checked(done).map(drop)
    }

    /// Size of the memory for frames.
    pub(super) fn memory_bytes(&self) -> usize {
        self.memory.len()
    }

    pub(super) fn is_zero_copy(&self) -> bool {
        self.zero_copy
    }

    /// Takes the next received frame and returns its index among the taken ones.
    #[inline]
    pub(super) fn take(&mut self) -> Option<u32> {
        let frame = self.arriving.take()?;
        self.taken.push(frame);
        Some(self.taken.len() as u32 - 1)
    }

    #[inline]
    pub(super) fn bytes(&self, index: u32) -> &[u8] {
        let frame = &self.taken[index as usize];
        let start = self.memory.at(frame.addr as usize, frame.len as usize);
        // SAFETY: `at` checks the bounds. The kernel does not write the chunk until `release` returns it,
        // which needs a mutable borrow of `self`.
        unsafe { std::slice::from_raw_parts(start, frame.len as usize) }
    }

    #[inline]
    pub(super) fn release(&mut self) {
        if self.taken.is_empty() {
            return;
        }
        self.arriving.give_back();
        for frame in self.taken.drain(..) {
            // A frame has an offset in its chunk.
            self.fill.put(frame.addr & !u64::from(CHUNK_BYTES - 1));
        }
        self.fill.publish();
        if self.fill.needs_wakeup() {
            // SAFETY: no buffer; the call wakes the driver.
            unsafe {
                libc::recvfrom(
                    self.fd.as_raw_fd(),
                    ptr::null_mut(),
                    0,
                    libc::MSG_DONTWAIT,
                    ptr::null_mut(),
                    ptr::null_mut(),
                )
            };
        }
    }

    /// Adds a frame, which [`Queue::kick`] sends. Returns false if there is no room or the frame is too long.
    pub(super) fn put(&mut self, pieces: &Pieces<'_>) -> bool {
        if self.free.is_empty() {
            self.reclaim();
        }
        let Some(addr) = self.free.pop() else { return false };
        let start = self.memory.at(addr as usize, CHUNK_BYTES as usize);
        // SAFETY: the chunk was in `free`, so neither the kernel nor other code uses it.
        let room = unsafe { std::slice::from_raw_parts_mut(start, CHUNK_BYTES as usize) };
        let put = gather(pieces, room)
            .is_some_and(|len| self.leaving.put(libc::xdp_desc { addr, len: len as u32, options: 0 }));
        if put {
            self.unsent = true;
        } else {
            self.free.push(addr);
        }
        put
    }

    pub(super) fn kick(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.unsent) {
            return Ok(());
        }
        self.leaving.publish();
        // In copy mode the kernel sends at most 32 frames per call, and returns EAGAIN if there are more.
        for _ in 0..CALLS_MAX {
            if !self.leaving.needs_wakeup() {
                break;
            }
            match self.call() {
                Ok(()) => break,
                Err(libc::EAGAIN) => {}
                // The interface has no room: the frames leave with the next call.
                Err(libc::EBUSY | libc::ENOBUFS) => {
                    self.unsent = true;
                    break;
                }
                Err(error) => return Err(io::Error::from_raw_os_error(error)),
            }
        }
        self.reclaim();
        Ok(())
    }

    fn call(&self) -> Result<(), libc::c_int> {
        // SAFETY: no buffer.
        let done =
            unsafe { libc::sendto(self.fd.as_raw_fd(), ptr::null(), 0, libc::MSG_DONTWAIT, ptr::null(), 0) };
        if done < 0 { Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)) } else { Ok(()) }
    }

    fn reclaim(&mut self) {
        let before = self.free.len();
        while let Some(addr) = self.done.take() {
            self.free.push(addr);
        }
        if self.free.len() > before {
            self.done.give_back();
        }
    }

    pub(super) fn dropped(&self) -> io::Result<u64> {
        let counts: libc::xdp_statistics = get(&self.fd, libc::XDP_STATISTICS)?;
        Ok(counts.rx_dropped + counts.rx_ring_full)
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn set<T>(fd: &OwnedFd, name: libc::c_int, value: &T) -> io::Result<()> {
    sockopt::set(fd, libc::SOL_XDP, name, value)
}

fn get<T: Pod>(fd: &OwnedFd, name: libc::c_int) -> io::Result<T> {
    sockopt::get(fd, libc::SOL_XDP, name)
}
