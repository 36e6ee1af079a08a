//! Large pages for large arrays. Frames in flight are scattered over tens of megabytes, and translating the
//! address of a small page costs more than the access itself, especially in a virtual machine.

/// Smaller arrays would leave a large page mostly empty.
const LARGE_PAGE_BYTES_MIN: usize = 4 << 20;

/// How much larger a large array becomes. A system that maps memory at its first use charges nothing for the rest,
/// and every move touches twice the memory.
const GROWTH: usize = if cfg!(target_os = "linux") { 64 } else { 2 };

/// Makes room for `more` values, at least doubling, on large pages if the system has them.
///
/// The values move to memory that was advised before its first use. Growing in place would keep the small
/// pages, and moving mapped pages splits large ones unless both addresses have the same alignment.
#[cold]
pub(crate) fn reserve<T>(values: &mut Vec<T>, more: usize) {
    let more = more.max(values.capacity());
    let capacity = values.len() + more;
    if capacity * size_of::<T>() < LARGE_PAGE_BYTES_MIN {
        values.reserve(more);
        return;
    }
    let mut larger = Vec::new();
    if larger.try_reserve_exact(capacity.saturating_mul(GROWTH)).is_err() {
        larger.reserve_exact(capacity);
    }
    advise(&mut larger);
    larger.append(values);
    *values = larger;
}

#[cfg(target_os = "linux")]
fn advise<T>(values: &mut Vec<T>) {
    use rustix::mm::{Advice, madvise};
    const LARGE_PAGE_BYTES: usize = 2 << 20;
    let start = values.as_mut_ptr().cast::<u8>();
    let end = start.addr() + values.capacity() * size_of::<T>();
    let skip = start.addr().next_multiple_of(LARGE_PAGE_BYTES) - start.addr();
    let len = (end & !(LARGE_PAGE_BYTES - 1)).saturating_sub(start.addr() + skip);
    #[expect(unsafe_code, reason = "an advice about the size of pages changes no byte")]
    // SAFETY: the range lies inside the allocation of `values`, and this advice does not change its contents.
    // A kernel without large pages rejects it, which has no effect.
    let _refused = unsafe { madvise(start.add(skip).cast(), len, Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_: &mut Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserve_keeps_the_contents() {
        let mut values = Vec::new();
        for value in 0..2_000_000_u64 {
            if values.len() == values.capacity() {
                reserve(&mut values, 1);
            }
            values.push(value);
        }
        assert!(values.iter().copied().eq(0..2_000_000));
    }
}
