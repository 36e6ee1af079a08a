//! Properties of the machine: cores, processor, free memory, CPU time of a thread.

use std::num::NonZero;

/// Number of threads that can run at once.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Memory limit of a run: half of the free memory, within the limits of the process and its container,
/// because a growing table needs memory for its old and new copy. `None` if the system does not report it.
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

/// Cores, processor and operating system: `2 cores (some processor), linux`.
pub fn description() -> String {
    let processor = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| processor(&text));
    let processor = processor.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let cores = match cores() {
        1 => "1 core".to_owned(),
        cores => format!("{cores} cores"),
    };
    format!("{cores} ({processor}), {}", std::env::consts::OS)
}

/// CPU time of this thread in seconds: the cost of a run, independent of other programs.
pub fn cpu_time_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Name of the processor.
fn processor(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    let name = line.split_once(':')?.1.split_whitespace().collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then_some(name)
}

/// `MemAvailable` in bytes.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The limit of `ulimit -v` in bytes.
fn address_space(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{address_space, available, processor};

    #[test]
    fn free_memory_is_read_from_memavailable() {
        let text = "MemTotal:       24620736 kB\nMemFree:  1 kB\nMemAvailable:   23 kB\n";
        assert_eq!(available(text), Some(23 * 1024));
        assert_eq!(available("MemFree: 5 kB\n"), None);
    }

    #[test]
    fn the_processor_is_named_in_one_line() {
        let text = "processor\t: 0\nmodel name\t: Some  Kind @ 2.0GHz\nflags: x\n";
        assert_eq!(processor(text).as_deref(), Some("Some Kind @ 2.0GHz"));
        assert_eq!(processor("flags: x\n"), None);
    }

    #[test]
    fn the_address_space_limit_is_read_if_there_is_one() {
        let line = |limit: &str| {
            format!("Limit  Soft Limit\nMax address space         {limit}    unlimited    bytes\n")
        };
        assert_eq!(address_space(&line("2048000")), Some(2_048_000));
        assert_eq!(address_space(&line("unlimited")), None);
    }
}
