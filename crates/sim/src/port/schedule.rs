//! The scheduler of a port: strict classes first, the highest number first, then weighted classes by deficit
//! round robin (Shreedhar and Varghese, SIGCOMM 1995).
//!
//! The current weighted class sends while its deficit covers its next frame. Then the next class with frames
//! becomes current and gets its quantum. A class keeps a deficit that is too small for its next frame, and
//! loses it when its queue is empty. Over any time in which two classes may always send, their sent bytes
//! divided by their weights differ by at most one quantum and one frame of each.

use crate::port::CLASSES;

#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Schedule {
    shares: [Share; CLASSES],
    current: u8,
    strict: u8,
}

/// The share of a class, in bytes.
#[derive(Clone, Copy, Default, Debug)]
struct Share {
    /// 0 for a strict class.
    quantum: u32,
    deficit: u32,
}

/// Quantum of the class with the smallest weight: about one frame. A larger quantum makes all rounds longer;
/// with a smaller one the class needs several rounds per frame.
const QUANTUM_BYTES_MIN: u32 = 2048;

impl Schedule {
    /// Returns a schedule of strict classes.
    pub(crate) const fn all_strict() -> Self {
        Self { shares: [Share { quantum: 0, deficit: 0 }; CLASSES], current: 0, strict: u8::MAX }
    }

    /// Returns a schedule in which these classes share by weight and all others are strict.
    pub(crate) fn weighted(weights: &[(u8, u32)]) -> Self {
        let mut schedule = Self::all_strict();
        let lightest = weights.iter().map(|(_, weight)| *weight).min().unwrap_or(1);
        for (class, weight) in weights {
            schedule.shares[usize::from(*class)].quantum = weight * QUANTUM_BYTES_MIN.div_ceil(lightest);
            schedule.strict &= !(1 << class);
        }
        schedule
    }

    /// Returns the class whose first frame is sent next, of those in `ready` (one bit each). `need` returns
    /// the wire bytes of a class's first frame.
    pub(crate) fn next(&mut self, ready: u8, need: impl Fn(usize) -> u32) -> Option<usize> {
        let strict = ready & self.strict;
        if strict != 0 {
            return Some(strict.ilog2() as usize);
        }
        if ready == 0 {
            return None;
        }
        let mut class = usize::from(self.current);
        while ready & (1 << class) == 0 || self.shares[class].deficit < need(class) {
            class = (class + CLASSES - 1) % CLASSES;
            // A class that a pause interrupted may have enough deficit, and then gets no quantum.
            if ready & (1 << class) != 0 && self.shares[class].deficit < need(class) {
                self.shares[class].deficit += self.shares[class].quantum;
            }
        }
        self.current = class as u8;
        self.shares[class].deficit -= need(class);
        Some(class)
    }

    /// As [`Schedule::next`], for the only class that is ready. `need`: wire bytes of its first frame.
    #[inline]
    pub(crate) fn take_only(&mut self, class: usize, need: u32) {
        if self.strict >> class & 1 != 0 {
            return;
        }
        // A round of the other classes gives it one quantum.
        let Share { quantum, deficit } = &mut self.shares[class];
        *deficit += if *deficit < need { *quantum } else { 0 };
        while *deficit < need {
            *deficit += *quantum;
        }
        *deficit -= need;
        self.current = class as u8;
    }

    /// Returns the strict classes, one bit each.
    pub(crate) const fn strict(&self) -> u8 {
        self.strict
    }

    /// Resets the deficit of a class whose queue is empty.
    pub(crate) fn on_empty(&mut self, class: usize) {
        self.shares[class].deficit = 0;
    }
}

#[cfg(test)]
mod tests {
    use wiremend_units::mix;

    use super::*;

    /// Wire bytes of frames, from the smallest to the largest.
    const NEEDS: [u32; 5] = [84, 1102, 4174, 9236, 538];
    const LARGEST: u64 = 9236;

    #[test]
    fn shares_follow_weights_for_all_frame_sizes() {
        for weights in [
            vec![(0, 1), (3, 3)],
            vec![(1, 5), (2, 2), (6, 1)],
            vec![(0, 70), (7, 30)],
            vec![(4, 1000), (5, 999)],
        ] {
            let mut schedule = Schedule::weighted(&weights);
            let mut sent = [0_u64; CLASSES];
            let mut frames = [0_u64; CLASSES];
            // Each class has its own mix of sizes.
            let need = |frames: &[u64; CLASSES], class: usize| {
                let random = mix(frames[class] << 8 | class as u64);
                NEEDS[(random % (2 + class as u64 % 4)) as usize]
            };
            let ready = weights.iter().fold(0, |ready, (class, _)| ready | 1 << class);
            for _ in 0..200_000 {
                let class = schedule.next(ready, |class| need(&frames, class)).unwrap();
                sent[class] += u64::from(need(&frames, class));
                frames[class] += 1;
                assert_even(&weights, &sent);
            }
        }
    }

    /// The sent bytes divided by the weights differ by at most one quantum and one frame of each.
    fn assert_even(weights: &[(u8, u32)], sent: &[u64; CLASSES]) {
        let lightest = weights.iter().map(|(_, weight)| *weight).min().unwrap();
        let unit = u64::from(QUANTUM_BYTES_MIN.div_ceil(lightest));
        for (a, weight_a) in weights {
            for (b, weight_b) in weights {
                let (wa, wb) = (u64::from(*weight_a), u64::from(*weight_b));
                let (a, b) = (sent[usize::from(*a)] * wb, sent[usize::from(*b)] * wa);
                assert!(a.abs_diff(b) <= unit * wa * wb + LARGEST * (wa + wb), "{weights:?} {sent:?}");
            }
        }
    }

    #[test]
    fn the_only_ready_class_is_served_as_by_the_round() {
        for weights in [vec![(0, 1), (3, 3)], vec![(1, 5), (2, 2), (6, 1)]] {
            let mut round = Schedule::weighted(&weights);
            let mut short = round.clone();
            for step in 0..20_000_u64 {
                let ready = mix(step) as u8;
                let need = |class: usize| NEEDS[(mix(step << 3 | class as u64) % 5) as usize];
                let expected = round.next(ready, need);
                if ready.is_power_of_two() {
                    let only = ready.trailing_zeros() as usize;
                    short.take_only(only, need(only));
                    assert_eq!(expected, Some(only));
                } else {
                    assert_eq!(expected, short.next(ready, need));
                }
                let state =
                    |schedule: &Schedule| (schedule.current, schedule.shares.map(|share| share.deficit));
                assert_eq!(state(&round), state(&short), "step {step}");
            }
        }
    }

    #[test]
    fn strict_classes_come_first_and_leave_the_round_unchanged() {
        let mut schedule = Schedule::weighted(&[(7, 1), (0, 1)]);
        let mut next = |ready: u8| schedule.next(ready, |_| 2048).unwrap();
        assert_eq!(next(0b1100_0011), 6, "class 7 has a weight, so 6 is the highest strict one");
        assert_eq!(next(0b1000_0011), 1);
        let turns = [0b1000_0001_u8; 6].map(&mut next);
        assert_eq!(turns, [7, 0, 7, 0, 7, 0]);
        assert_eq!(next(0b1010_0001), 5);
        assert_eq!(next(0b1000_0001), 7, "the current class has not changed");
    }

    #[test]
    fn an_idle_class_accumulates_no_deficit() {
        let mut schedule = Schedule::weighted(&[(1, 1), (0, 1)]);
        for _ in 0..999 {
            assert_eq!(schedule.next(0b01, |_| 1024), Some(0));
        }
        // Half of its last quantum is left.
        schedule.on_empty(0);
        let sent: Vec<_> = (0..8).map(|_| schedule.next(0b11, |_| 1024).unwrap()).collect();
        assert_eq!(sent, [1, 1, 0, 0, 1, 1, 0, 0]);
        assert_eq!(schedule.next(0, |_| 1024), None);
    }

    #[test]
    fn a_class_that_is_often_paused_accumulates_no_deficit() {
        let mut schedule = Schedule::weighted(&[(1, 1), (0, 1)]);
        let need = |class| if class == 0 { 2048 } else { 1024 };
        // Class 1 is paused after each frame, in the middle of its quantum.
        for _ in 0..1000 {
            assert_eq!(schedule.next(0b01, need), Some(0));
            assert_eq!(schedule.next(0b11, need), Some(1));
        }
        let sent: Vec<_> = (0..99).map(|_| schedule.next(0b11, need).unwrap()).collect();
        assert_eq!(sent.iter().sum::<usize>(), 66, "two small frames for each large one: {sent:?}");
    }
}
