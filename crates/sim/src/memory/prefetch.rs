//! Prefetch hints for the processor.

/// Prefetches the cache line of `value`. Has no effect on results.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    hint(std::ptr::from_ref(value).cast());
}

/// Prefetches all cache lines of `value`.
#[inline]
pub(crate) fn prefetch_all<T>(value: &T) {
    let start: *const u8 = std::ptr::from_ref(value).cast();
    for line in (0..size_of::<T>()).step_by(64) {
        hint(start.wrapping_add(line));
    }
}

#[inline]
fn hint(address: *const u8) {
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
