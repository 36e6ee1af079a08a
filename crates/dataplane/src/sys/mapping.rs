//! Memory that is mapped, and goes away with its value.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// A range of memory.
pub(super) struct Mapping {
    base: *mut u8,
    len: usize,
}

// SAFETY: the memory belongs to this value alone, like that of a box.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Fresh memory of zeros, on page boundaries.
    pub(super) fn anonymous(len: usize) -> io::Result<Self> {
        Self::map(len, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    }

    /// Memory that the kernel shares through a descriptor.
    pub(super) fn shared(fd: BorrowedFd<'_>, len: usize, offset: i64) -> io::Result<Self> {
        Self::map(len, libc::MAP_SHARED | libc::MAP_POPULATE, fd.as_raw_fd(), offset)
    }

    fn map(len: usize, flags: i32, fd: i32, offset: i64) -> io::Result<Self> {
        // SAFETY: a new mapping, where nothing else lies; the kernel checks the rest.
        let base = unsafe {
            libc::mmap(ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, fd, offset)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: base.cast(), len })
    }

    /// Its length in bytes.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// A place in it for `bytes` bytes.
    #[inline]
    pub(super) fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= self.len), "outside of a mapping");
        // SAFETY: within the mapping, by the assertion.
        unsafe { self.base.add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping that was made here, which nobody can borrow any more.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}
