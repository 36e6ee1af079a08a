//! Confidence intervals.
//!
//! [`wilson`] is for a proportion in a table: short, and close to its level on average. [`clopper_pearson`]
//! is for a proportion whose level must be guaranteed. [`poisson`] is for a count of rare events whose number
//! of trials is unknown or irrelevant. [`mean`] is for one value per seed, [`mean_of_skewed`] if rare events
//! decide the values.
//!
//! `level` is the probability that the interval covers the true value: 0.95.

use libm::sqrt;

use crate::special::{beta_quantile, chi_square_quantile, normal_quantile, student_quantile};

/// An interval from `low` to `high`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` is inside, ends included.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// Wilson's score interval (1927) for the probability behind `successes` of `trials`. Without trials: 0 to 1.
pub fn wilson(successes: u64, trials: u64, level: f64) -> Interval {
    check(successes, trials, level);
    if trials == 0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let z = normal_quantile(0.5 + level / 2.0);
    let (n, p) = (trials as f64, successes as f64 / trials as f64);
    let centre = p + z * z / (2.0 * n);
    let half = z * sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n));
    let whole = 1.0 + z * z / n;
    Interval {
        low: if successes == 0 { 0.0 } else { (centre - half) / whole },
        high: if successes == trials { 1.0 } else { (centre + half) / whole },
    }
}

/// Clopper and Pearson's exact interval (1934) for the probability behind `successes` of `trials`. It covers
/// the true value with at least the probability `level`, so it is longer.
pub fn clopper_pearson(successes: u64, trials: u64, level: f64) -> Interval {
    check(successes, trials, level);
    let (k, n, tail) = (successes as f64, trials as f64, (1.0 - level) / 2.0);
    Interval {
        low: if successes == 0 { 0.0 } else { beta_quantile(tail, k, n - k + 1.0) },
        high: if successes == trials { 1.0 } else { beta_quantile(1.0 - tail, k + 1.0, n - k) },
    }
}

/// Garwood's exact interval (1936) for the mean of a Poisson variable with `count` events.
pub fn poisson(count: u64, level: f64) -> Interval {
    check(0, 0, level);
    let (k, tail) = (count as f64, (1.0 - level) / 2.0);
    Interval {
        low: if count == 0 { 0.0 } else { chi_square_quantile(tail, 2.0 * k) / 2.0 },
        high: chi_square_quantile(1.0 - tail, 2.0 * k + 2.0) / 2.0,
    }
}

/// Mean of independent samples and Student's interval around it. `None` for fewer than two samples.
pub fn mean(samples: &[f64], level: f64) -> Option<(f64, Interval)> {
    check(0, 0, level);
    if samples.len() < 2 {
        return None;
    }
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    let variance = samples.iter().map(|sample| (sample - mean) * (sample - mean)).sum::<f64>() / (n - 1.0);
    let half = student_quantile(0.5 + level / 2.0, n - 1.0) * sqrt(variance / n);
    Some((mean, Interval { low: mean - half, high: mean + half }))
}

/// Mean of independent samples, which may be skewed, and Hall's interval around it: Student's, with the skewness
/// removed by a cubic transformation (Hall, J. R. Statist. Soc. B 54, 1992). A few seeds in which timers fired have a
/// long upper tail, which Student's interval misses. Below five samples, which do not show their skewness, it is
/// Student's. `None` for fewer than two samples.
pub fn mean_of_skewed(samples: &[f64], level: f64) -> Option<(f64, Interval)> {
    const FEW: usize = 5;
    let (mean, student) = mean(samples, level)?;
    let n = samples.len() as f64;
    let power = |exponent: i32| samples.iter().map(|sample| (sample - mean).powi(exponent)).sum::<f64>();
    let deviation = sqrt(power(2) / (n - 1.0));
    if samples.len() < FEW || deviation == 0.0 {
        return Some((mean, student));
    }
    let cubes = power(3) / (deviation * deviation * deviation);
    let skewness = n / ((n - 1.0) * (n - 2.0)) * cubes;
    let scaled = skewness / sqrt(n);
    if scaled.abs() < 1e-6 {
        return Some((mean, student));
    }
    let inverse = |t: f64| (libm::cbrt(1.0 + scaled * (t - scaled / 6.0)) - 1.0) * 3.0 / scaled;
    let t = student_quantile(0.5 + level / 2.0, n - 1.0);
    let error = deviation / sqrt(n);
    Some((mean, Interval { low: mean - inverse(t) * error, high: mean - inverse(-t) * error }))
}

fn check(successes: u64, trials: u64, level: f64) {
    assert!(successes <= trials, "there are no more successes than trials");
    assert!(level > 0.0 && level < 1.0, "a level lies between 0 and 1");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn assert_close(found: Interval, low: f64, high: f64) {
        assert!(
            (found.low - low).abs() < 6e-5 && (found.high - high).abs() < 6e-5,
            "{found:?}, not {low}…{high}"
        );
    }

    /// Published values: Newcombe 1998, table I, for 81 of 263 and 15 of 148.
    #[test]
    fn proportions_match_published_intervals() {
        assert_close(wilson(81, 263, 0.95), 0.2553, 0.3662);
        assert_close(wilson(15, 148, 0.95), 0.0624, 0.1605);
        assert_close(clopper_pearson(81, 263, 0.95), 0.2527, 0.3676);
        assert_close(clopper_pearson(15, 148, 0.95), 0.0578, 0.1617);
        assert_close(clopper_pearson(0, 20, 0.95), 0.0, 0.1684);
        assert_close(wilson(0, 20, 0.95), 0.0, 0.1611);
        assert_close(wilson(29, 29, 0.95), 0.8830, 1.0);
    }

    /// Garwood's values: Pearson & Hartley, table 40.
    #[test]
    fn counts_match_published_intervals() {
        assert_close(poisson(0, 0.95), 0.0, 3.688_88);
        assert_close(poisson(1, 0.95), 0.025_32, 5.571_64);
        assert_close(poisson(10, 0.95), 4.795_39, 18.390_36);
        assert_close(poisson(5, 0.99), 1.077_93, 14.149_76);
    }

    #[test]
    fn the_mean_of_few_seeds_has_a_wide_interval() {
        let (mean, interval) = mean(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        assert!((mean - 3.0).abs() < 1e-12);
        assert!((interval.high - 3.0 - 2.776_445 * 2.5_f64.sqrt() / 5_f64.sqrt()).abs() < 1e-5);
        assert_eq!(super::mean(&[1.0], 0.95), None);
    }

    /// Symmetric samples have Student's interval; a long upper tail moves both ends up.
    #[test]
    fn skewed_samples_have_a_longer_upper_side() {
        let even: Vec<f64> = (0..9).map(f64::from).collect();
        let (mean_of_even, interval) = mean_of_skewed(&even, 0.95).unwrap();
        assert_eq!((mean_of_even, interval), mean(&even, 0.95).unwrap());
        let tailed = [1.0, 1.1, 0.9, 1.0, 1.2, 0.8, 1.0, 1.1, 0.9, 9.0];
        let ((centre, skewed), (_, student)) =
            (mean_of_skewed(&tailed, 0.95).unwrap(), mean(&tailed, 0.95).unwrap());
        assert!(skewed.low > student.low && skewed.high > student.high, "{skewed:?} {student:?}");
        assert!(skewed.high - centre > 2.0 * (centre - skewed.low), "{skewed:?}");
        assert_eq!(mean_of_skewed(&tailed[6..], 0.95), mean(&tailed[6..], 0.95));
        assert_eq!(mean_of_skewed(&[2.0; 8], 0.95).unwrap().1, Interval { low: 2.0, high: 2.0 });
        assert_eq!(mean_of_skewed(&[1.0], 0.95), None);
    }

    /// Coverage of an exponential variable, whose skewness is 2, by ten samples: nearer to 95 % than Student's.
    #[test]
    fn the_interval_of_skewed_samples_keeps_its_level_better() {
        let draw = |number: u64| {
            let uniform = (wiremend_units::mix(number) >> 11) as f64 / (1_u64 << 53) as f64;
            -libm::log1p(-uniform)
        };
        let (mut student, mut hall) = (0, 0);
        for trial in 0..4_000_u64 {
            let samples: Vec<f64> = (0..10).map(|i| draw(trial * 10 + i + 1)).collect();
            student += i32::from(mean(&samples, 0.95).unwrap().1.contains(1.0));
            hall += i32::from(mean_of_skewed(&samples, 0.95).unwrap().1.contains(1.0));
        }
        assert!(student < 3_680 && (3_680..=3_920).contains(&hall), "{student} and {hall} of 4000");
    }

    /// Exact coverage, summed over all outcomes: at least the level.
    #[test]
    fn clopper_pearson_keeps_its_level() {
        let trials = 30_u64;
        let intervals: Vec<_> = (0..=trials).map(|k| clopper_pearson(k, trials, 0.9)).collect();
        for truth in [0.01, 0.2, 0.5, 0.77] {
            let mut chance = (1.0_f64 - truth).powi(trials as i32);
            let mut covered = 0.0;
            for k in 0..=trials {
                covered += if intervals[k as usize].contains(truth) { chance } else { 0.0 };
                chance *= (trials - k) as f64 / (k + 1) as f64 * truth / (1.0 - truth);
            }
            assert!(covered >= 0.9, "{covered} at {truth}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn intervals_contain_the_observed_value(trials in 1_u64..1_000_000_000_000, part in 0.0..=1.0, level in 0.5..0.999) {
            let successes = (trials as f64 * part) as u64;
            let seen = successes as f64 / trials as f64;
            let score = wilson(successes, trials, level);
            prop_assert!(score.contains(seen) && score.low >= 0.0 && score.high <= 1.0, "{score:?}");
            let count = poisson(successes, level);
            prop_assert!(count.contains(successes as f64), "{count:?}");
        }

        #[test]
        fn exact_intervals_contain_the_observed_value(trials in 1_u64..1_000_000_000, part in 0.0..=1e-3) {
            let successes = (trials as f64 * part) as u64;
            let exact = clopper_pearson(successes, trials, 0.95);
            prop_assert!(exact.contains(successes as f64 / trials as f64), "{exact:?}");
        }
    }
}
