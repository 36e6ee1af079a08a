//! Numbers for readers: three significant digits and a suitable unit.

/// A time given in nanoseconds: `850 ns`, `12.3 µs`, `67.1 ms`.
pub fn time_ns(ns: f64) -> String {
    scaled(ns * 1e-9, "s", &[(1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p")])
}

/// A number of bytes: `512 B`, `1.5 MB`.
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, "B", LARGE)
}

/// A rate in bit/s: `98.7 Gb/s`.
pub fn rate_bps(bps: f64) -> String {
    scaled(bps, "b/s", LARGE)
}

/// A ratio: `1.53×`, `12 400×`.
pub fn factor(ratio: f64) -> String {
    format!("{}×", three_digits(ratio))
}

/// A fraction in percent, without the sign: `0.6`, `99.99`, `0.000012`. Two significant digits of the
/// fraction or of its distance to 100 %.
pub fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    let short_of_whole = percent.min(100.0 - percent);
    if short_of_whole <= 0.0 || !percent.is_finite() {
        return trimmed(format!("{percent:.0}"));
    }
    let decimals = (1.0 - short_of_whole.log10().floor()).clamp(0.0, 12.0) as usize;
    trimmed(format!("{percent:.decimals$}"))
}

/// A time with one side of its interval, both in nanoseconds: `1.12 ± 0.31 ms`.
pub fn time_ns_interval(ns: f64, side: f64) -> String {
    scaled_interval(
        ns * 1e-9,
        side * 1e-9,
        "s",
        &[(1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p")],
    )
}

/// A number of bytes with one side of its interval: `1.5 ± 0.2 MB`.
pub fn bytes_interval(bytes: f64, side: f64) -> String {
    scaled_interval(bytes, side, "B", LARGE)
}

/// A rate in bit/s with one side of its interval: `98.7 ± 1.2 Gb/s`.
pub fn rate_bps_interval(bps: f64, side: f64) -> String {
    scaled_interval(bps, side, "b/s", LARGE)
}

/// A ratio with one side of its interval: `64 ± 12×`.
pub fn factor_interval(ratio: f64, side: f64) -> String {
    format!("{}×", with_side(ratio, side))
}

/// A mean count with one side of its interval: `8.2 ± 3.1`.
pub fn count_interval(mean: f64, side: f64) -> String {
    with_side(mean, side)
}

/// A fraction in percent with one side of its interval: `1.16 ± 0.47 %`.
pub fn percent_interval(fraction: f64, side: f64) -> String {
    format!("{} %", with_side(fraction * 100.0, side * 100.0))
}

/// A value and one side of its interval in one unit, which suits the larger of them.
fn scaled_interval(value: f64, side: f64, unit: &str, prefixes: &[(f64, &str)]) -> String {
    let (size, prefix) = prefix(value.abs().max(side), prefixes);
    format!("{} {prefix}{unit}", with_side(value / size, side / size))
}

/// A value and one side of its interval: the side has two significant digits, and the value as many decimals.
fn with_side(value: f64, side: f64) -> String {
    if side == 0.0 || !side.is_finite() {
        return format!("{} ± {side}", three_digits(value));
    }
    let decimals = (1.0 - side.log10().floor()).clamp(0.0, 12.0) as usize;
    let shown = |number: f64| {
        if decimals == 0 { signed_count(number) } else { format!("{number:.decimals$}") }
    };
    format!("{} ± {}", shown(value), shown(side))
}

fn signed_count(number: f64) -> String {
    let sign = if number.round() < 0.0 { "−" } else { "" };
    format!("{sign}{}", count(number.abs().round() as u64))
}

/// An exact count with thin spaces between groups of three digits: `1 234 567`. Four digits have no space.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 * 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

const LARGE: &[(f64, &str)] = &[(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];

/// `value` in the largest unit that gives at least 1. `prefixes` are sorted from large to small.
fn scaled(value: f64, unit: &str, prefixes: &[(f64, &str)]) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value} {unit}");
    }
    let (size, prefix) = prefix(value.abs(), prefixes);
    format!("{} {prefix}{unit}", three_digits(value / size))
}

/// The largest prefix that gives at least 1.
fn prefix<'a>(magnitude: f64, prefixes: &[(f64, &'a str)]) -> (f64, &'a str) {
    // 999.96 k rounds to 1000 k and is shown as 1 M.
    let fits = |&&(size, _): &&(f64, &str)| magnitude / size >= 0.9995;
    *prefixes.iter().find(fits).or(prefixes.last()).expect("there are prefixes")
}

/// Three significant digits without trailing zeros; from 1000 on, a rounded count.
fn three_digits(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 999.5 {
        return count(value.round() as u64);
    }
    let decimals = match magnitude {
        m if m >= 99.95 => 0,
        m if m >= 9.995 => 1,
        _ => 2,
    };
    trimmed(format!("{value:.decimals$}"))
}

/// Removes trailing zeros of a decimal fraction.
pub(crate) fn trimmed(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_suitable_unit() {
        let texts = [0.0, 0.25, 850.0, 999.6, 12_345.0, 67_108_864.0, 3.2e9].map(time_ns);
        assert_eq!(texts, ["0 s", "250 ps", "850 ns", "1 µs", "12.3 µs", "67.1 ms", "3.2 s"]);
    }

    #[test]
    fn sizes_and_rates_have_three_digits() {
        assert_eq!([0.0, 512.0, 1_500_000.0].map(bytes), ["0 B", "512 B", "1.5 MB"]);
        assert_eq!(rate_bps(98.7e9), "98.7 Gb/s");
        assert_eq!(rate_bps(999.96e9), "1 Tb/s");
        assert_eq!([1.0, 1.534, 12_400.4].map(factor), ["1×", "1.53×", "12\u{202f}400×"]);
    }

    #[test]
    fn intervals_have_one_unit_and_two_digits() {
        assert_eq!(time_ns_interval(1_123_400.0, 312_000.0), "1.12 ± 0.31 ms");
        assert_eq!(time_ns_interval(999.0, 123_456.0), "1 ± 123 µs");
        assert_eq!(time_ns_interval(27_400.0, 0.0), "27.4 ± 0 µs");
        assert_eq!(rate_bps_interval(314e9, 1.26e9), "314.0 ± 1.3 Gb/s");
        assert_eq!(bytes_interval(0.0, 0.0), "0 ± 0 B");
        assert_eq!(percent_interval(0.0116, 0.0047), "1.16 ± 0.47 %");
        assert_eq!(
            [count_interval(8.2, 3.12), count_interval(12_345.6, 1_234.0)],
            ["8.2 ± 3.1", "12\u{202f}346 ± 1234"]
        );
        assert_eq!(factor_interval(64.4, 12.3), "64 ± 12×");
    }

    #[test]
    fn percentages_near_0_and_100_keep_two_digits() {
        let texts = [0.0, 0.006, 1.234e-7, 0.5, 0.12345, 0.99987, 1.0].map(percent);
        assert_eq!(texts, ["0", "0.6", "0.000012", "50", "12", "99.987", "100"]);
    }

    #[test]
    fn counts_are_exact() {
        assert_eq!(
            [0, 9_999, 10_000, 1_234_567].map(count),
            ["0", "9999", "10\u{202f}000", "1\u{202f}234\u{202f}567"]
        );
    }
}
