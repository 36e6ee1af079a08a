//! A ring between the kernel and this program: one side puts in, the other takes out.

use std::io;
use std::marker::PhantomData;
use std::mem::size_of;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::sys::mapping::Mapping;

/// A ring of `T`. Both sides count up, and neither counts back.
pub(super) struct Ring<T> {
    map: Mapping,
    offsets: libc::xdp_ring_offset,
    size: u32,
    /// How far this side has come; the other side is told at once for many.
    own: u32,
    /// How far the other side had come when it was last looked at.
    other: u32,
    entries: PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    /// The ring of so many entries, a power of two, that the kernel keeps at `page`.
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

    /// Puts one in, to be seen after [`Ring::publish`]. False: there is no room.
    #[inline]
    pub(super) fn put(&mut self, entry: T) -> bool {
        if self.own.wrapping_sub(self.other) == self.size {
            self.other = self.consumer().load(Ordering::Acquire);
            if self.own.wrapping_sub(self.other) == self.size {
                return false;
            }
        }
        let place = self.place(self.own);
        // SAFETY: the place lies in the ring, is aligned as the kernel's entries are, and is this side's until it is published.
        unsafe { place.write(entry) };
        self.own = self.own.wrapping_add(1);
        true
    }

    /// What was put in is seen by the other side from here on.
    #[inline]
    pub(super) fn publish(&mut self) {
        self.producer().store(self.own, Ordering::Release);
    }

    /// Takes one out.
    #[inline]
    pub(super) fn take(&mut self) -> Option<T> {
        if self.own == self.other {
            self.other = self.producer().load(Ordering::Acquire);
            if self.own == self.other {
                return None;
            }
        }
        let place = self.place(self.own);
        self.own = self.own.wrapping_add(1);
        // SAFETY: the other side has published it, and leaves it alone until it is given back.
        Some(unsafe { place.read() })
    }

    /// The places of what was taken out are free for the other side from here on.
    #[inline]
    pub(super) fn give_back(&mut self) {
        self.consumer().store(self.own, Ordering::Release);
    }

    /// Whether the kernel sleeps and must be called.
    #[inline]
    pub(super) fn needs_wakeup(&self) -> bool {
        self.word(self.offsets.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    fn place(&self, count: u32) -> *mut T {
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
