//! Large pages for large arrays. Frames in flight are scattered over tens of megabytes, and translating the
//! address of a small page costs more than the access itself, especially in a virtual machine.

/// Smaller arrays would leave a large page mostly empty.
const LARGE_PAGE_BYTES_MIN: usize = 4 << 20;

/// Makes room for `more` values, at least doubling, on large pages if the system has them.
///
/// The values move to memory that was advised before its first use. Growing in place would keep the small
/// pages, and moving mapped pages splits large ones unless both addresses have the same alignment.
#[cold]
pub(crate) fn reserve<T>(values: &mut Vec<T>, more: usize) {
    let capacity = values.len() + more.max(values.capacity());
    if capacity * size_of::<T>() < LARGE_PAGE_BYTES_MIN {
        values.reserve(more.max(values.capacity()));
        return;
    }
    let mut larger = Vec::with_capacity(capacity);
    advise(&mut larger);
    larger.append(values);
    *values = larger;
}

#[cfg(target_os = "linux")]
fn advise<T>(values: &mut Vec<T>) {
    use rustix::mm::{Advice, madvise};
    let page = rustix::param::page_size();
    let start = values.as_mut_ptr().cast::<u8>();
    let end = start.addr() + values.capacity() * size_of::<T>();
    let skip = start.addr().next_multiple_of(page) - start.addr();
    let len = (end & !(page - 1)).saturating_sub(start.addr() + skip);
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
