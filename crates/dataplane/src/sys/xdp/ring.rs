//! A ring buffer shared with the kernel, with one producer and one consumer.

use std::io;
use std::marker::PhantomData;
use std::mem::size_of;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::sys::mapping::Mapping;

/// A ring of `T`. The producer and consumer indices only grow.
pub(super) struct Ring<T> {
    map: Mapping,
    offsets: libc::xdp_ring_offset,
    size: u32,
    /// Own index. The kernel sees it after [`Ring::publish`] or [`Ring::give_back`].
    own: u32,
    other: u32,
    entries: PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    /// Maps the ring of `size` entries, a power of two, at the offset `page`.
    pub(super) fn map(
        fd: BorrowedFd<'_>,
        size: u32,
        page: i64,
        offsets: libc::xdp_ring_offset,
    ) -> io::Result<Self> {
        assert!(size.is_power_of_two());
        let len = offsets.desc as usize + size as usize * size_of::<T>();
        let map = Mapping::shared(fd, len, page)?;
        Ok(Self { map, offsets, size, own: 0, other: 0, entries: PhantomData })
    }

    /// Writes an entry, which [`Ring::publish`] makes visible. Returns false if the ring is full.
    #[inline]
    pub(super) fn put(&mut self, value: T) -> bool {
        if self.own.wrapping_sub(self.other) == self.size {
            self.other = self.consumer().load(Ordering::Acquire);
            if self.own.wrapping_sub(self.other) == self.size {
                return false;
            }
        }
        let entry = self.entry(self.own);
        // SAFETY: the entry lies in the ring, is aligned, and belongs to this side until it is published.
        unsafe { entry.write(value) };
        self.own = self.own.wrapping_add(1);
        true
    }

    /// Makes the written entries visible to the kernel.
    #[inline]
    pub(super) fn publish(&mut self) {
        self.producer().store(self.own, Ordering::Release);
    }

    #[inline]
    pub(super) fn take(&mut self) -> Option<T> {
        if self.own == self.other {
            self.other = self.producer().load(Ordering::Acquire);
            if self.own == self.other {
                return None;
            }
        }
        let entry = self.entry(self.own);
        self.own = self.own.wrapping_add(1);
        // SAFETY: the kernel has published the entry and does not write it until it is given back.
        Some(unsafe { entry.read() })
    }

    /// Returns the entries that were read to the kernel.
    #[inline]
    pub(super) fn give_back(&mut self) {
        self.consumer().store(self.own, Ordering::Release);
    }

    /// Returns whether the kernel needs a system call to continue.
    #[inline]
    pub(super) fn needs_wakeup(&self) -> bool {
        self.word(self.offsets.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    fn entry(&self, count: u32) -> *mut T {
        let index = (count & (self.size - 1)) as usize;
        self.map.at(self.offsets.desc as usize + index * size_of::<T>(), size_of::<T>()).cast()
    }

    fn producer(&self) -> &AtomicU32 {
        self.word(self.offsets.producer)
    }

    fn consumer(&self) -> &AtomicU32 {
        self.word(self.offsets.consumer)
    }

    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: four bytes of the mapping, aligned by the kernel; both sides use it atomically.
        unsafe { AtomicU32::from_ptr(self.map.at(offset as usize, 4).cast()) }
    }
}
