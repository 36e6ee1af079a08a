//! Calendar times in seconds since 1970.

const DAY_S: i64 = 86_400;

/// Parses `2026-11-15T12:00:00Z` with any offset, or seconds since 1970. Fractions of seconds are ignored.
pub fn parse_timestamp(text: &str) -> Option<i64> {
    let text = text.trim();
    if !text.is_empty() && text.len() <= 12 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    let date = text.get(..10)?;
    let clock = text.get(11..19)?;
    let is_apart = matches!(text.as_bytes()[10], b'T' | b't' | b' ');
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    let mut rest = text.get(19..)?;
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    let offset_s = match rest {
        "Z" | "z" => 0,
        _ => {
            let sign = if rest.starts_with('+') { 1 } else { -1 };
            let [hours, minutes] = numbers(rest.strip_prefix(['+', '-'])?, ':', [2, 2])?;
            (minutes < 60 && hours < 24).then_some(sign * (hours * 3600 + minutes * 60))?
        }
    };
    let is_clock = hour < 24 && minute < 60 && second <= 60;
    let is_date = (1..=12).contains(&month) && day >= 1 && day <= days_of(year, month);
    let days = days_since_1970(year, month, day);
    (is_apart && is_clock && is_date).then_some(days * DAY_S + hour * 3600 + minute * 60 + second - offset_s)
}

/// Formats a time as `2026-11-15T12:00:00Z`.
pub fn format_timestamp(seconds: i64) -> String {
    let (days, of_day) = (seconds.div_euclid(DAY_S), seconds.rem_euclid(DAY_S));
    let mut year = 1970 + days / 366;
    while days_since_1970(year + 1, 1, 1) <= days {
        year += 1;
    }
    while days_since_1970(year, 1, 1) > days {
        year -= 1;
    }
    let mut left = days - days_since_1970(year, 1, 1);
    let mut month = 1;
    while left >= days_of(year, month) {
        left -= days_of(year, month);
        month += 1;
    }
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", left + 1)
}

fn numbers<const N: usize>(text: &str, between: char, digits: [usize; N]) -> Option<[i64; N]> {
    let mut values = [0; N];
    let mut parts = text.split(between);
    for (value, digits) in values.iter_mut().zip(digits) {
        let part = parts.next()?;
        let is_plain = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        *value = is_plain.then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(values)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let before = year - 1;
    let years = before * 365 + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
    let months: i64 = (1..month).map(|month| days_of(year, month)).sum();
    years + months + day - 1 - 719_162
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_parsed_and_formatted() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T23:59:59Z", 951_868_799),
            ("2026-11-15T12:00:00Z", 1_794_744_000),
            ("2024-12-31T00:00:01Z", 1_735_603_201),
        ] {
            assert_eq!(parse_timestamp(text), Some(seconds), "{text}");
            assert_eq!(format_timestamp(seconds), text);
        }
        assert_eq!(parse_timestamp("2026-11-15 13:30:00.25+01:30"), Some(1_794_744_000));
        assert_eq!(parse_timestamp("1794744000"), Some(1_794_744_000));
        for wrong in [
            "",
            "now",
            "2026-13-01T00:00:00Z",
            "2025-02-29T00:00:00Z",
            "2026-11-15T12:00:00",
            "2026-11-15",
            "-5",
            "2026-1é-15T12:00:00Z",
        ] {
            assert_eq!(parse_timestamp(wrong), None, "{wrong}");
        }
    }
}
