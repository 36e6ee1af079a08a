//! A set of packet numbers as a handful of sums: what a counter lacks to tell doubles from arrivals.
//!
//! A count is the sum of the zeroth powers of the numbers that came. The first and second powers, and a keyed hash, are three
//! more sums of constant size, which every arrival adds to in any order. Their difference to the sums of the
//! whole unit is the difference between the two sets: empty if each packet came once. Where it holds at most two
//! packets, missing or too many, the powers name them (as in Eppstein and Goodrich, "Straggler identification in round-trip
//! data streams", and the quACK of Sidekick, NSDI 2024) and the hash confirms it.
//!
//! The hash also decides completeness. A set that differs from the whole one passes with a chance of 2^-64, whatever was
//! doubled and however often. A NIC has the hash sum of the whole unit from its last packet, to which the sender has added it up;
//! here both ends know the hash, so that the receiver adds it up itself.

use wiremend_units::mix;

/// The sums of the packets of one unit that came, counted from 0 without end and added modulo 2^64.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sums {
    pub(super) count: u32,
    first_powers: u64,
    second_powers: u64,
    hashes: u64,
}

/// What the sums say of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// Every packet is there.
    Complete,
    /// These are missing; the second is the same as the first if it is one alone.
    Missing([u64; 2]),
    /// More than two differ.
    Unknown,
}

impl Sums {
    /// A packet came.
    #[inline]
    pub(super) fn add(&mut self, seq: u64) {
        self.count = self.count.saturating_add(1);
        self.first_powers = self.first_powers.wrapping_add(seq);
        self.second_powers = self.second_powers.wrapping_add(seq.wrapping_mul(seq));
        self.hashes = self.hashes.wrapping_add(mix(seq));
    }

    /// Judges what came of the packets `first..first + packets`; `hashes` is their [`hash_sum`].
    pub(super) fn judge(&self, first: u64, packets: u32, hashes: u64) -> Verdict {
        let lacking = i64::from(packets) - i64::from(self.count);
        let hash = hashes.wrapping_sub(self.hashes);
        if lacking == 0 && hash == 0 {
            return Verdict::Complete;
        }
        // Powers of the difference, of numbers counted from `first` so that they are small.
        let (n, f) = (packets as u64, first);
        let whole_ones = f.wrapping_mul(n).wrapping_add(triangle(n));
        let whole_squares = squares(f, n);
        let ones = whole_ones.wrapping_sub(self.first_powers);
        let all_squares = whole_squares.wrapping_sub(self.second_powers);
        let linear = ones.wrapping_sub(f.wrapping_mul(lacking as u64)) as i64;
        let square = all_squares
            .wrapping_sub(f.wrapping_mul(2).wrapping_mul(ones))
            .wrapping_add(f.wrapping_mul(f).wrapping_mul(lacking as u64)) as i64;
        let differing = match lacking {
            1 => Some(([Some(linear), None], [None; 2])),
            -1 => Some(([None; 2], [Some(linear.wrapping_neg()), None])),
            0 => {
                one_each(linear, square).map(|(missing, extra)| ([Some(missing), None], [Some(extra), None]))
            }
            2 => two(linear, square).map(|[a, b]| ([Some(a), Some(b)], [None; 2])),
            -2 => two(linear.wrapping_neg(), square.wrapping_neg())
                .map(|[a, b]| ([None; 2], [Some(a), Some(b)])),
            _ => None,
        };
        let Some((missing, extra)) = differing else { return Verdict::Unknown };
        let inside = |x: &i64| (0..i64::from(packets)).contains(x);
        let sum = |set: [Option<i64>; 2]| {
            set.into_iter().flatten().fold(0, |sum: u64, x| sum.wrapping_add(mix(f.wrapping_add(x as u64))))
        };
        let named = missing.iter().chain(&extra).flatten().all(inside);
        if !named || sum(missing).wrapping_sub(sum(extra)) != hash {
            return Verdict::Unknown;
        }
        match missing.map(|x| x.map(|x| f + x as u64)) {
            [Some(a), Some(b)] => Verdict::Missing([a.min(b), a.max(b)]),
            [Some(a), None] => Verdict::Missing([a, a]),
            _ => Verdict::Complete,
        }
    }
}

/// The hash sum of `first..first + packets`.
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

/// a and b with a − b = `linear` and a² − b² = `square`.
fn one_each(linear: i64, square: i64) -> Option<(i64, i64)> {
    let sum = square.checked_div(linear).filter(|sum| sum.checked_mul(linear) == Some(square))?;
    let twice = sum.checked_add(linear).filter(|twice| twice % 2 == 0)?;
    Some((twice / 2, sum.checked_sub(twice / 2)?))
}

/// a and b with a + b = `linear` and a² + b² = `square`.
fn two(linear: i64, square: i64) -> Option<[i64; 2]> {
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

    fn sums_of(seqs: impl IntoIterator<Item = u64>) -> Sums {
        let mut sums = Sums::default();
        seqs.into_iter().for_each(|seq| sums.add(seq));
        sums
    }

    fn judge(first: u64, packets: u32, without: &[u64], with: &[u64]) -> Verdict {
        let came = (first..first + packets as u64).filter(|seq| !without.contains(seq));
        sums_of(came.chain(with.iter().copied())).judge(first, packets, hash_sum(first, packets))
    }

    #[test]
    fn up_to_two_differences_are_named() {
        for first in [0, 7, 1 << 40] {
            for packets in [1, 2, 5, 40] {
                let all: Vec<u64> = (first..first + u64::from(packets)).collect();
                assert_eq!(judge(first, packets, &[], &[]), Verdict::Complete);
                for &a in &all {
                    assert_eq!(judge(first, packets, &[a], &[]), Verdict::Missing([a, a]));
                    assert_eq!(judge(first, packets, &[], &[a]), Verdict::Complete, "came twice");
                    assert_eq!(judge(first, packets, &[], &[a, a]), Verdict::Complete, "came three times");
                    for &b in all.iter().filter(|&&b| b > a) {
                        assert_eq!(judge(first, packets, &[a, b], &[]), Verdict::Missing([a, b]));
                        assert_eq!(judge(first, packets, &[a], &[b]), Verdict::Missing([a, a]));
                        assert_eq!(judge(first, packets, &[], &[a, b]), Verdict::Complete);
                    }
                }
            }
        }
    }

    /// 1 + 5 + 6 = 2 + 3 + 7, and so for the squares: powers alone would take the wrong three for the right ones.
    #[test]
    fn the_hash_sees_what_two_powers_cannot() {
        assert_eq!(judge(0, 10, &[2, 3, 7], &[1, 5, 6]), Verdict::Unknown);
        assert_eq!(judge(0, 10, &[2, 3, 7], &[]), Verdict::Unknown);
        assert_eq!(judge(0, 10, &[2, 3], &[9]), Verdict::Unknown);
    }

    #[test]
    fn a_long_unit_far_from_the_start_is_judged_exactly() {
        let (first, packets) = ((1 << 50) + 3, 300_000);
        let whole = sums_of(first..first + u64::from(packets));
        assert_eq!(whole.judge(first, packets, hash_sum(first, packets)), Verdict::Complete);
        let lost = [first + 17, first + 299_999];
        let came = (first..first + u64::from(packets)).filter(|seq| !lost.contains(seq));
        assert_eq!(sums_of(came).judge(first, packets, hash_sum(first, packets)), Verdict::Missing(lost));
    }
}
