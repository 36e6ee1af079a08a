//! Memory mappings.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

pub(super) struct Mapping {
    base: *mut u8,
    len: usize,
}

// SAFETY: this value owns the memory, like a box.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps zeroed, page-aligned memory.
    pub(super) fn anonymous(len: usize) -> io::Result<Self> {
        Self::map(len, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    }

    /// Maps memory that the kernel shares through a descriptor.
    pub(super) fn shared(fd: BorrowedFd<'_>, len: usize, offset: i64) -> io::Result<Self> {
        Self::map(len, libc::MAP_SHARED | libc::MAP_POPULATE, fd.as_raw_fd(), offset)
    }

    fn map(len: usize, flags: i32, fd: i32, offset: i64) -> io::Result<Self> {
        // SAFETY: creates a new mapping; the kernel checks the rest.
        let base = unsafe {
            libc::mmap(ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, fd, offset)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: base.cast(), len })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Pointer to `bytes` bytes at `offset`.
    #[inline]
    pub(super) fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(
            offset.checked_add(bytes).is_some_and(|end| end <= self.len),
            "offset outside of the mapping"
        );
        // SAFETY: the assertion checks the bounds.
        unsafe { self.base.add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is owned and no longer borrowed.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}
