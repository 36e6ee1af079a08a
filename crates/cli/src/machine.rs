//! What the machine has.

use std::num::NonZero;
use std::time::{SystemTime, UNIX_EPOCH};

/// Threads that can run at once.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Bytes that a run may take: half of what is free now, within the limits of the process and its container, because a
/// table that grows needs room for its old and its new self. `None` where the system does not tell.
pub(crate) fn memory_bytes_max() -> Option<u64> {
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
pub(crate) fn computed_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// What kind of machine this is: `2 cores (some processor), Linux`.
pub(crate) fn kind() -> String {
    let processor = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| processor(&text));
    let processor = processor.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let cores = match cores() {
        1 => "1 core".to_owned(),
        cores => format!("{cores} cores"),
    };
    format!("{cores} ({processor}), {}", std::env::consts::OS)
}

/// The day in UTC: `2025-01-31`.
pub(crate) fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date(since.as_secs() / 86_400)
}

/// The date so many days after 1970 began, by the Gregorian calendar: years begin in March, so that the day which comes
/// and goes is a year's last.
fn date(days: u64) -> String {
    const ERA_DAYS: u64 = 146_097;
    let from_year_0 = days + 719_468;
    let (era, day) = (from_year_0 / ERA_DAYS, from_year_0 % ERA_DAYS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = (400 * era + year + month / 10, (month + 2) % 12 + 1);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The name of the processor.
fn processor(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    let name = line.split_once(':')?.1.split_whitespace().collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then_some(name)
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
    use super::{address_space, available, date, processor};

    #[test]
    fn days_have_dates() {
        let dates = [0, 59, 365, 11_016, 11_017, 19_782, 19_783, 20_088].map(date);
        let wanted = [
            "1970-01-01",
            "1970-03-01",
            "1971-01-01",
            "2000-02-29",
            "2000-03-01",
            "2024-02-29",
            "2024-03-01",
            "2024-12-31",
        ];
        assert_eq!(dates, wanted);
    }

    #[test]
    fn the_processor_is_named_in_one_line() {
        let text = "processor\t: 0\nmodel name\t: Some  Kind @ 2.0GHz\nflags: x\n";
        assert_eq!(processor(text).as_deref(), Some("Some Kind @ 2.0GHz"));
        assert_eq!(processor("flags: x\n"), None);
    }

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
