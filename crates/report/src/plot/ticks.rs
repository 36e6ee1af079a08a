//! Tick positions and labels.

use super::Scale;
use crate::human::trimmed;

/// A tick of an axis; only major ticks have a label and a grid line.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) is_major: bool,
    pub(crate) label: String,
}

/// Most decades of an axis. A wider range is an error of the caller.
const DECADES_MAX: f64 = 40.0;

/// Round ends that enclose all values.
pub(crate) fn round_ends(scale: Scale, ends: Option<(f64, f64)>) -> (f64, f64) {
    match (scale, ends) {
        (Scale::Linear, None) => (0.0, 1.0),
        (Scale::Log, None) => (1.0, 10.0),
        (Scale::Tail, None) => (0.0, 0.99),
        (Scale::Linear, Some((low, high))) => {
            // If the values start close to zero, the axis starts at zero.
            let low = if low > 0.0 && low < 0.5 * high { 0.0 } else { low };
            let high = if high > low { high } else { low + low.abs().max(1.0) };
            let step = nice_step((high - low) / 5.0);
            ((low / step).floor() * step, (high / step).ceil() * step)
        }
        (Scale::Log, Some((low, high))) => {
            let low = low.max(high / 10_f64.powf(DECADES_MAX));
            let (low, high) = (one_two_five_below(low * 1.0001), one_two_five_above(high * 0.9999));
            if low < high { (low, high) } else { (low / 2.0, high * 2.0) }
        }
        (Scale::Tail, Some((_, high))) => (0.0, high.clamp(0.5, 1.0 - 1e-12)),
    }
}

/// Ticks between two ends.
pub(crate) fn between(scale: Scale, low: f64, high: f64, wanted: usize) -> Vec<Tick> {
    match scale {
        Scale::Linear => linear(low, high, wanted),
        Scale::Log => logarithmic(low, high, wanted),
        Scale::Tail => tail(low, high),
    }
}

fn linear(low: f64, high: f64, wanted: usize) -> Vec<Tick> {
    let step = nice_step((high - low) / wanted.max(1) as f64);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|i| major(i as f64 * step)).collect()
}

fn logarithmic(low: f64, high: f64, wanted: usize) -> Vec<Tick> {
    let decades = (high / low).log10();
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let every = (decades / wanted.max(1) as f64).ceil().max(1.0) as i32;
    let mut ticks = Vec::new();
    for exponent in first..=last {
        for digit in 1..10 {
            let value = f64::from(digit) * 10_f64.powi(exponent);
            if value < low * 0.999_999 || value > high * 1.000_001 {
                continue;
            }
            // Labels at 2 and 5 only for few decades, minor ticks only if they are not too dense.
            let is_major = match digit {
                1 => exponent.rem_euclid(every) == 0,
                2 | 5 => decades < 2.5,
                _ => false,
            };
            if is_major || decades <= 8.0 || digit == 1 {
                ticks.push(Tick { value, is_major, label: String::new() });
            }
        }
    }
    ticks
}

/// The low end, the middle, and 90 %, 99 %, 99.9 %, …
fn tail(low: f64, high: f64) -> Vec<Tick> {
    let nines = (1..13).map(|nines| 1.0 - 10_f64.powi(-nines));
    let inside = [0.5].into_iter().chain(nines).filter(|&value| value > low + 1e-9 && value <= high);
    [low].into_iter().chain(inside).map(major).collect()
}

fn major(value: f64) -> Tick {
    Tick { value, is_major: true, label: String::new() }
}

/// 1, 2 or 5 times a power of ten, at least `step`.
fn nice_step(step: f64) -> f64 {
    one_two_five_above(step.max(f64::MIN_POSITIVE * 1e10) * 0.999_999)
}

fn one_two_five_above(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|&nice| nice >= value)
        .unwrap_or(10.0 * power)
}

fn one_two_five_below(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [5.0, 2.0, 1.0].into_iter().map(|digit| digit * power).find(|&nice| nice <= value).unwrap_or(power)
}

/// A number without rounding noise: `0.25`, `1000`, `99.999`.
pub(crate) fn plain(value: f64) -> String {
    trimmed(format!("{value:.10}"))
}

/// `10⁻³`, `2·10⁴`; plain numbers from 0.1 to 1000.
pub(crate) fn power_of_ten(value: f64) -> String {
    if (0.099_99..1_000.1).contains(&value) {
        return plain(value);
    }
    let exponent = (value.log10() + 1e-9).floor() as i32;
    let digit = (value / 10_f64.powi(exponent)).round() as i32;
    let raised = |c: char| match c {
        '-' => '⁻',
        digit => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit.to_digit(10).unwrap_or(0) as usize],
    };
    let power: String = exponent.to_string().chars().map(raised).collect();
    if digit == 1 { format!("10{power}") } else { format!("{digit}·10{power}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn majors(ticks: &[Tick]) -> Vec<f64> {
        ticks.iter().filter(|tick| tick.is_major).map(|tick| tick.value).collect()
    }

    fn assert_near(found: &[f64], wanted: &[f64]) {
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs();
        assert!(
            found.len() == wanted.len() && found.iter().zip(wanted).all(near),
            "{found:?} instead of {wanted:?}"
        );
    }

    #[test]
    fn decades_have_ticks_and_few_decades_have_more() {
        assert_near(&majors(&between(Scale::Log, 1e3, 1e8, 8)), &[1e3, 1e4, 1e5, 1e6, 1e7, 1e8]);
        assert_near(&majors(&between(Scale::Log, 2.0, 100.0, 8)), &[2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_near(&majors(&between(Scale::Log, 1e-8, 1.0, 4)), &[1e-8, 1e-6, 1e-4, 1e-2, 1.0]);
        assert_eq!(between(Scale::Log, 1.0, 10.0, 8).len(), 10);
    }

    #[test]
    fn linear_axes_have_round_numbers() {
        assert_near(&majors(&between(Scale::Linear, 0.0, 1.0, 5)), &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(round_ends(Scale::Linear, Some((3.0, 97.0))), (0.0, 100.0));
        assert_eq!(round_ends(Scale::Linear, Some((5.0, 5.0))), (5.0, 10.0));
    }

    #[test]
    fn percentiles_have_ticks_at_nines() {
        assert_near(&majors(&between(Scale::Tail, 0.0, 0.9999, 8)), &[0.0, 0.5, 0.9, 0.99, 0.999, 0.9999]);
        assert_near(&majors(&between(Scale::Tail, 0.95, 0.9999, 8)), &[0.95, 0.99, 0.999, 0.9999]);
        assert_near(&majors(&between(Scale::Tail, 0.99, 0.9999, 8)), &[0.99, 0.999, 0.9999]);
    }

    #[test]
    fn powers_are_written_as_powers() {
        let texts = [1e-8, 2e-5, 0.01, 0.1, 500.0, 1e6].map(power_of_ten);
        assert_eq!(texts, ["10⁻⁸", "2·10⁻⁵", "10⁻²", "0.1", "500", "10⁶"]);
    }

    proptest! {
        #[test]
        fn ends_enclose_all_values_and_ticks_are_few(
            a in -1e12..1e12_f64, b in -1e12..1e12_f64, low in -10.0..10.0_f64, decades in 0.0..20.0_f64,
        ) {
            let (low_end, high_end) = round_ends(Scale::Linear, Some((a.min(b), a.max(b))));
            prop_assert!(low_end <= a.min(b) && high_end >= a.max(b));
            prop_assert!(between(Scale::Linear, low_end, high_end, 6).len() <= 14);
            let (low, high) = (10_f64.powf(low), 10_f64.powf(low + decades));
            let (low_end, high_end) = round_ends(Scale::Log, Some((low, high)));
            prop_assert!(low_end <= low * 1.001 && high_end >= high * 0.999, "{low_end} {low} {high} {high_end}");
            let ticks = between(Scale::Log, low_end, high_end, 8);
            prop_assert!(!majors(&ticks).is_empty() && majors(&ticks).len() <= 12, "{ticks:?}");
        }
    }
}
