//! Time and place of a measurement.

use std::time::{SystemTime, UNIX_EPOCH};

use wiremend_report::ledger::Origin;
use wiremend_runner::machine;

use crate::ledger::Effort;

/// The origin of results measured today on this machine by `command`.
pub fn origin(command: String, effort: Effort, version: &str) -> Origin {
    let effort = effort.name().to_owned();
    Origin { effort, command, version: version.to_owned(), date: today(), machine: machine::description() }
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
}
