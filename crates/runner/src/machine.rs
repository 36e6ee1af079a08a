//! What the machine has: cores, free memory, the time that a thread has computed.

use std::num::NonZero;

/// Threads that can run at once.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Bytes that a run may take: half of what is free now, within the limits of the process and its container, because a
/// table that grows needs room for its old and its new self. `None` where the system does not tell.
pub fn memory_bytes_max() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let free = read("/proc/meminfo").and_then(|text| available(&text));
    let own = read("/proc/self/limits").and_then(|text| address_space(&text));
    let container = read("/sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse().ok());
    let used = read("/sys/fs/cgroup/memory.current").and_then(|text| text.trim().parse().ok());
    let container = container.map(|max: u64| max.saturating_sub(used.unwrap_or(0)));
    let least = [free, own, container].into_iter().flatten().min()?;
    Some(least / 2)
}

/// Seconds that this thread has computed: what a run costs, whatever else the machine does meanwhile.
pub fn computed_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The bytes that Linux calls available.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The bytes that `ulimit -v` allows.
fn address_space(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{address_space, available};

    #[test]
    fn free_memory_is_read_from_the_line_that_tells_it() {
        let text = "MemTotal:       24620736 kB\nMemFree:  1 kB\nMemAvailable:   23 kB\n";
        assert_eq!(available(text), Some(23 * 1024));
        assert_eq!(available("MemFree: 5 kB\n"), None);
    }

    #[test]
    fn a_limit_of_the_process_is_read_if_there_is_one() {
        let line = |limit: &str| {
            format!("Limit  Soft Limit\nMax address space         {limit}    unlimited    bytes\n")
        };
        assert_eq!(address_space(&line("2048000")), Some(2_048_000));
        assert_eq!(address_space(&line("unlimited")), None);
    }
}
