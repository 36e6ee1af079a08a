//! Chance that is the same for the same seed, everywhere.

use wiremend_units::mix;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Dice {
    seed: u64,
    throws: u64,
}

impl Dice {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed: mix(seed), throws: 0 }
    }

    /// 64 random bits.
    pub fn throw(&mut self) -> u64 {
        self.throws += 1;
        mix(self.seed ^ mix(self.throws))
    }

    /// A number from 0 to `end - 1`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.throw() % end.max(1)
    }

    /// True with a chance of `ppm` in a million.
    pub fn chance_ppm(&mut self, ppm: u32) -> bool {
        self.below(1_000_000) < ppm as u64
    }

    /// One of the choices.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}
