//! Prefetch hints for the processor.

use std::ops::Range;

const LINE_BYTES: usize = 64;

/// Prefetches the cache lines of some bytes of `value`.
#[inline]
pub(crate) fn prefetch_bytes<T>(value: &T, bytes: Range<usize>) {
    for offset in bytes.step_by(LINE_BYTES) {
        prefetch_address(std::ptr::from_ref(value).wrapping_byte_add(offset));
    }
}

/// Prefetches the cache line of `value`. Has no effect on results.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    prefetch_address(std::ptr::from_ref(value));
}

/// Prefetches all cache lines of `value`.
#[inline]
pub(crate) fn prefetch_all<T>(value: &T) {
    prefetch_bytes(value, 0..size_of::<T>());
}

/// Prefetches the cache line at an address.
#[inline]
pub(crate) fn prefetch_address<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        #[expect(unsafe_code, reason = "a prefetch reads nothing and faults on nothing")]
        // SAFETY: prefetching has no architectural effect, for whatever address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(address.cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
