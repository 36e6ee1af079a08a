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
    // 999.96 k rounds to 1000 k and is shown as 1 M.
    let fits = |&&(size, _): &&(f64, &str)| value.abs() / size >= 0.9995;
    let (size, prefix) = prefixes.iter().find(fits).or(prefixes.last()).expect("there are prefixes");
    format!("{} {prefix}{unit}", three_digits(value / size))
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
