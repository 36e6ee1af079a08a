//! Which class of a port goes next: strict classes, the highest first, then those with a weight, by deficit round
//! robin (Shreedhar and Varghese, SIGCOMM 1995).
//!
//! Of the weighted classes one has its turn. It sends while what is left to it covers its next frame; then the turn
//! goes on to the next class with frames, which is given its quantum. What a class could not use for want of a
//! smaller frame it keeps; what it could not use for want of frames it loses. Over any time in which two classes
//! always may send, what they sent, each over its weight, differs by no more than a turn and a frame of each.

use crate::port::CLASSES;

#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// Bytes that a turn brings; 0 for a strict class.
    quanta: [u32; CLASSES],
    /// Bytes that are left to each class.
    left: [u32; CLASSES],
    /// Whose turn it is.
    turn: usize,
    strict: u8,
}

/// What a turn brings to the class with the smallest weight: about a frame. More would make all turns longer, less
/// would let it go round several times before a frame fits.
const QUANTUM_BYTES_MIN: u32 = 2048;

impl Schedule {
    /// Strict classes only.
    pub(crate) const fn all_strict() -> Self {
        Self { quanta: [0; CLASSES], left: [0; CLASSES], turn: 0, strict: u8::MAX }
    }

    /// These classes share by weight, all others are strict.
    pub(crate) fn weighted(weights: &[(u8, u32)]) -> Self {
        let mut schedule = Self::all_strict();
        let lightest = weights.iter().map(|(_, weight)| *weight).min().unwrap_or(1);
        for (class, weight) in weights {
            schedule.quanta[usize::from(*class)] = weight * QUANTUM_BYTES_MIN.div_ceil(lightest);
            schedule.strict &= !(1 << class);
        }
        schedule
    }

    /// The class whose first frame goes next, of those in `ready` (a bit each). `need` is the number of bytes that a
    /// class's first frame takes of the wire.
    pub(crate) fn next(&mut self, ready: u8, need: impl Fn(usize) -> u32) -> Option<usize> {
        let strict = ready & self.strict;
        if strict != 0 {
            return Some(strict.ilog2() as usize);
        }
        if ready == 0 {
            return None;
        }
        let mut class = self.turn;
        while ready & (1 << class) == 0 || self.left[class] < need(class) {
            class = (class + CLASSES - 1) % CLASSES;
            // A class that lost its turn to a pause still has enough, and is given no more.
            if ready & (1 << class) != 0 && self.left[class] < need(class) {
                self.left[class] += self.quanta[class];
            }
        }
        self.turn = class;
        self.left[class] -= need(class);
        Some(class)
    }

    /// The classes that take no turns, a bit each.
    pub(crate) const fn strict(&self) -> u8 {
        self.strict
    }

    /// A class has sent its last frame.
    pub(crate) fn on_empty(&mut self, class: usize) {
        self.left[class] = 0;
    }
}

#[cfg(test)]
mod tests {
    use wiremend_units::mix;

    use super::*;

    /// Frames from the smallest to the largest, with preamble and gap.
    const NEEDS: [u32; 5] = [84, 1102, 4174, 9236, 538];
    const LARGEST: u64 = 9236;

    #[test]
    fn shares_follow_weights_whatever_the_sizes() {
        for weights in [
            vec![(0, 1), (3, 3)],
            vec![(1, 5), (2, 2), (6, 1)],
            vec![(0, 70), (7, 30)],
            vec![(4, 1000), (5, 999)],
        ] {
            let mut schedule = Schedule::weighted(&weights);
            let mut sent = [0_u64; CLASSES];
            let mut frames = [0_u64; CLASSES];
            // Each class has a mixture of its own.
            let need = |frames: &[u64; CLASSES], class: usize| {
                let dice = mix(frames[class] << 8 | class as u64);
                NEEDS[(dice % (2 + class as u64 % 4)) as usize]
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

    /// What was sent, each over its weight, differs by a turn and a frame of each at most.
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
    fn strict_classes_come_first_and_take_no_turn() {
        let mut schedule = Schedule::weighted(&[(7, 1), (0, 1)]);
        let mut next = |ready: u8| schedule.next(ready, |_| 2048).unwrap();
        assert_eq!(next(0b1100_0011), 6, "class 7 has a weight, so 6 is the highest strict one");
        assert_eq!(next(0b1000_0011), 1);
        let turns = [0b1000_0001_u8; 6].map(&mut next);
        assert_eq!(turns, [7, 0, 7, 0, 7, 0]);
        assert_eq!(next(0b1010_0001), 5);
        assert_eq!(next(0b1000_0001), 7, "the turn is where it was");
    }

    #[test]
    fn an_idle_class_saves_nothing_up() {
        let mut schedule = Schedule::weighted(&[(1, 1), (0, 1)]);
        for _ in 0..999 {
            assert_eq!(schedule.next(0b01, |_| 1024), Some(0));
        }
        // Half of its last turn is left.
        schedule.on_empty(0);
        let sent: Vec<_> = (0..8).map(|_| schedule.next(0b11, |_| 1024).unwrap()).collect();
        assert_eq!(sent, [1, 1, 0, 0, 1, 1, 0, 0]);
        assert_eq!(schedule.next(0, |_| 1024), None);
    }

    #[test]
    fn a_class_that_is_often_held_saves_nothing_up() {
        let mut schedule = Schedule::weighted(&[(1, 1), (0, 1)]);
        let need = |class| if class == 0 { 2048 } else { 1024 };
        // Class 1 is held after each frame, in the middle of its turn.
        for _ in 0..1000 {
            assert_eq!(schedule.next(0b01, need), Some(0));
            assert_eq!(schedule.next(0b11, need), Some(1));
        }
        let sent: Vec<_> = (0..99).map(|_| schedule.next(0b11, need).unwrap()).collect();
        assert_eq!(sent.iter().sum::<usize>(), 66, "two small frames to a large one: {sent:?}");
    }
}
