//! Prefetch hints for the processor.

/// Prefetches the cache line of `value`. Has no effect on results.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        #[expect(
            unsafe_code,
            reason = "a prefetch reads nothing and faults on nothing, and the address is a reference's"
        )]
        // SAFETY: prefetching has no architectural effect, for whatever address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
