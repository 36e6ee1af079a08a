//! Time and place of a measurement.

use std::time::{SystemTime, UNIX_EPOCH};

use wiremend_report::ledger::Origin;
use wiremend_runner::machine::cores;

/// The origin of results measured today on this machine by `command`.
pub fn origin(command: String, version: &str) -> Origin {
    Origin { command, version: version.to_owned(), date: today(), machine: kind() }
}

/// Cores, processor and operating system: `2 cores (some processor), linux`.
fn kind() -> String {
    let processor = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| processor(&text));
    let processor = processor.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let cores = match cores() {
        1 => "1 core".to_owned(),
        cores => format!("{cores} cores"),
    };
    format!("{cores} ({processor}), {}", std::env::consts::OS)
}

/// Today in UTC: `2025-01-31`.
fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date(since.as_secs() / 86_400)
}

/// Gregorian date of a number of days since 1970-01-01. Years start in March here, so that a leap day is the
/// last day of a year.
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

/// Name of the processor.
fn processor(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    let name = line.split_once(':')?.1.split_whitespace().collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
