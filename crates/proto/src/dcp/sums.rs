//! A set of packet numbers as four sums, which detect duplicates that a counter cannot.
//!
//! A count is the sum of the zeroth powers of the arrived numbers. The first and second powers and a keyed
//! hash are three more sums of constant size, and arrivals can be added in any order. The difference to the
//! sums of the complete unit describes the difference between the two sets: it is zero if each packet arrived
//! once. If the sets differ in at most two packets, missing or duplicate, the powers identify them (as in
//! Eppstein and Goodrich, "Straggler identification in round-trip data streams", and the quACK of Sidekick,
//! NSDI 2024), and the hash confirms it.
//!
//! The hash also decides completeness. An incomplete set passes with a probability of 2^-64, whatever was
//! duplicated. In a NIC the last packet of a unit carries the unit's hash sum, computed by the sender; here
//! the receiver computes it, because both ends have the hash function.

use wiremend_units::mix;

/// Sums of the arrived packets of one unit. Packet numbers do not wrap; sums are modulo 2^64.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct PowerSums {
    pub(super) count: u32,
    first_powers: u64,
    second_powers: u64,
    hashes: u64,
}

/// Result of the evaluation of a unit's sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SumsVerdict {
    /// Every packet has arrived.
    Complete,
    /// These packets are missing; both numbers are equal if it is one packet.
    Missing([u64; 2]),
    /// The sets differ in more than two packets.
    Unknown,
}

impl PowerSums {
    /// Adds an arrived packet.
    #[inline]
    pub(super) fn add(&mut self, seq: u64) {
        self.count = self.count.saturating_add(1);
        self.first_powers = self.first_powers.wrapping_add(seq);
        self.second_powers = self.second_powers.wrapping_add(seq.wrapping_mul(seq));
        self.hashes = self.hashes.wrapping_add(mix(seq));
    }

    /// Evaluates the arrivals of the packets `first..first + packets`; `hashes` is their [`hash_sum`].
    pub(super) fn evaluate(&self, first: u64, packets: u32, hashes: u64) -> SumsVerdict {
        let missing_count = i64::from(packets) - i64::from(self.count);
        let hash = hashes.wrapping_sub(self.hashes);
        if missing_count == 0 && hash == 0 {
            return SumsVerdict::Complete;
        }
        // Power sums of the difference, relative to `first` so that the numbers are small.
        let (n, f) = (packets as u64, first);
        let unit_sum = f.wrapping_mul(n).wrapping_add(triangle(n));
        let unit_squares = squares(f, n);
        let sum_difference = unit_sum.wrapping_sub(self.first_powers);
        let square_difference = unit_squares.wrapping_sub(self.second_powers);
        let linear = sum_difference.wrapping_sub(f.wrapping_mul(missing_count as u64)) as i64;
        let square = square_difference
            .wrapping_sub(f.wrapping_mul(2).wrapping_mul(sum_difference))
            .wrapping_add(f.wrapping_mul(f).wrapping_mul(missing_count as u64)) as i64;
        let differing = match missing_count {
            1 => Some(([Some(linear), None], [None; 2])),
            -1 => Some(([None; 2], [Some(linear.wrapping_neg()), None])),
            0 => solve_difference(linear, square)
                .map(|(missing, extra)| ([Some(missing), None], [Some(extra), None])),
            2 => solve_sum(linear, square).map(|[a, b]| ([Some(a), Some(b)], [None; 2])),
            -2 => solve_sum(linear.wrapping_neg(), square.wrapping_neg())
                .map(|[a, b]| ([None; 2], [Some(a), Some(b)])),
            _ => None,
        };
        let Some((missing, extra)) = differing else { return SumsVerdict::Unknown };
        let inside = |x: &i64| (0..i64::from(packets)).contains(x);
        let sum = |set: [Option<i64>; 2]| {
            set.into_iter().flatten().fold(0, |sum: u64, x| sum.wrapping_add(mix(f.wrapping_add(x as u64))))
        };
        let named = missing.iter().chain(&extra).flatten().all(inside);
        if !named || sum(missing).wrapping_sub(sum(extra)) != hash {
            return SumsVerdict::Unknown;
        }
        match missing.map(|x| x.map(|x| f + x as u64)) {
            [Some(a), Some(b)] => SumsVerdict::Missing([a.min(b), a.max(b)]),
            [Some(a), None] => SumsVerdict::Missing([a, a]),
            _ => SumsVerdict::Complete,
        }
    }
}

/// Hash sum of `first..first + packets`.
pub(super) fn hash_sum(first: u64, packets: u32) -> u64 {
    (first..first + packets as u64).fold(0, |sum: u64, seq| sum.wrapping_add(mix(seq)))
}

/// 0 + 1 + … + (n − 1).
const fn triangle(n: u64) -> u64 {
    n * n.saturating_sub(1) / 2
}

/// f² + (f + 1)² + … over n numbers, modulo 2^64.
const fn squares(f: u64, n: u64) -> u64 {
    let n_less = n.saturating_sub(1) as u128;
    // 0² + … + (n − 1)²; exact, since a unit has fewer than 2^32 packets.
    let own = (n_less * n as u128 * (2 * n as u128).saturating_sub(1) / 6) as u64;
    let cross = f.wrapping_mul(2).wrapping_mul(triangle(n));
    own.wrapping_add(cross).wrapping_add(f.wrapping_mul(f).wrapping_mul(n))
}

/// Solves a − b = `linear` and a² − b² = `square`.
fn solve_difference(linear: i64, square: i64) -> Option<(i64, i64)> {
    let sum = square.checked_div(linear).filter(|sum| sum.checked_mul(linear) == Some(square))?;
    let twice = sum.checked_add(linear).filter(|twice| twice % 2 == 0)?;
    Some((twice / 2, sum.checked_sub(twice / 2)?))
}

/// Solves a + b = `linear` and a² + b² = `square`.
fn solve_sum(linear: i64, square: i64) -> Option<[i64; 2]> {
    // (a − b)² = 2(a² + b²) − (a + b)².
    let spread = i128::from(square) * 2 - i128::from(linear) * i128::from(linear);
    let spread = u64::try_from(spread).ok()?;
    let root = spread.isqrt();
    let right = root * root == spread && (linear + root as i64) % 2 == 0;
    right.then(|| [(linear - root as i64) / 2, i64::midpoint(linear, root as i64)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums_of(seqs: impl IntoIterator<Item = u64>) -> PowerSums {
        let mut sums = PowerSums::default();
        seqs.into_iter().for_each(|seq| sums.add(seq));
        sums
    }

    fn evaluate(first: u64, packets: u32, without: &[u64], with: &[u64]) -> SumsVerdict {
        let came = (first..first + packets as u64).filter(|seq| !without.contains(seq));
        sums_of(came.chain(with.iter().copied())).evaluate(first, packets, hash_sum(first, packets))
    }

    #[test]
    fn up_to_two_differences_are_identified() {
        for first in [0, 7, 1 << 40] {
            for packets in [1, 2, 5, 40] {
                let all: Vec<u64> = (first..first + u64::from(packets)).collect();
                assert_eq!(evaluate(first, packets, &[], &[]), SumsVerdict::Complete);
                for &a in &all {
                    assert_eq!(evaluate(first, packets, &[a], &[]), SumsVerdict::Missing([a, a]));
                    assert_eq!(evaluate(first, packets, &[], &[a]), SumsVerdict::Complete, "came twice");
                    assert_eq!(
                        evaluate(first, packets, &[], &[a, a]),
                        SumsVerdict::Complete,
                        "came three times"
                    );
                    for &b in all.iter().filter(|&&b| b > a) {
                        assert_eq!(evaluate(first, packets, &[a, b], &[]), SumsVerdict::Missing([a, b]));
                        assert_eq!(evaluate(first, packets, &[a], &[b]), SumsVerdict::Missing([a, a]));
                        assert_eq!(evaluate(first, packets, &[], &[a, b]), SumsVerdict::Complete);
                    }
                }
            }
        }
    }

    /// 1 + 5 + 6 = 2 + 3 + 7, and likewise for the squares: with powers alone these sets would be equal.
    #[test]
    fn the_hash_detects_differences_that_two_powers_cannot() {
        assert_eq!(evaluate(0, 10, &[2, 3, 7], &[1, 5, 6]), SumsVerdict::Unknown);
        assert_eq!(evaluate(0, 10, &[2, 3, 7], &[]), SumsVerdict::Unknown);
        assert_eq!(evaluate(0, 10, &[2, 3], &[9]), SumsVerdict::Unknown);
    }

    #[test]
    fn a_long_unit_with_high_numbers_is_evaluated_exactly() {
        let (first, packets) = ((1 << 50) + 3, 300_000);
        let whole = sums_of(first..first + u64::from(packets));
        assert_eq!(whole.evaluate(first, packets, hash_sum(first, packets)), SumsVerdict::Complete);
        let lost = [first + 17, first + 299_999];
        let came = (first..first + u64::from(packets)).filter(|seq| !lost.contains(seq));
        assert_eq!(
            sums_of(came).evaluate(first, packets, hash_sum(first, packets)),
            SumsVerdict::Missing(lost)
        );
    }
}
