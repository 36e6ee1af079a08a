//! Deterministic random numbers: the same for the same seed on every platform.

use wiremend_units::mix;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
    draws: u64,
}

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed: mix(seed), draws: 0 }
    }

    /// Returns 64 random bits.
    pub fn draw(&mut self) -> u64 {
        self.draws += 1;
        mix(self.seed ^ mix(self.draws))
    }

    /// Returns a number from 0 to `end - 1`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.draw() % end.max(1)
    }

    /// Returns true with a probability of `ppm` in a million.
    pub fn chance_ppm(&mut self, ppm: u32) -> bool {
        self.below(1_000_000) < ppm as u64
    }

    /// Returns one of the choices.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}
