//! Large pages for large arrays: what is under way lies scattered over tens of megabytes, and looking up where a
//! small page stands in memory costs more than the access itself, the more so in a virtual machine.

/// Below this a large page would be mostly empty.
const WORTHWHILE_BYTES: usize = 4 << 20;

/// Makes room for `more` values, at least doubling, on large pages where the system has them.
///
/// The values move to memory that was advised before anything touched it: growing in place keeps the small pages
/// there are, and moving mapped pages splits large ones unless both addresses happen to lie alike.
#[cold]
pub(crate) fn reserve<T>(values: &mut Vec<T>, more: usize) {
    let capacity = values.len() + more.max(values.capacity());
    if capacity * size_of::<T>() < WORTHWHILE_BYTES {
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
    // SAFETY: the range lies inside the allocation of `values`, and this advice has no effect on its contents.
    // A kernel without large pages refuses it, and nothing is lost.
    let _refused = unsafe { madvise(start.add(skip).cast(), len, Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_: &mut Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_survive() {
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
