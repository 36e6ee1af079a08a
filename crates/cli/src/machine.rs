//! What the machine has.

use std::num::NonZero;

/// Threads that can run at once.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Bytes that a run may take: most of what is free now. `None` where the system does not tell.
pub(crate) fn memory_bytes_max() -> Option<u64> {
    let free = available(&std::fs::read_to_string("/proc/meminfo").ok()?)?;
    Some(free / 5 * 4)
}

/// The bytes that Linux calls available.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::available;

    #[test]
    fn free_memory_is_read_from_the_line_that_tells_it() {
        let text = "MemTotal:       24620736 kB\nMemFree:  1 kB\nMemAvailable:   23 kB\n";
        assert_eq!(available(text), Some(23 * 1024));
        assert_eq!(available("MemFree: 5 kB\n"), None);
    }
}
