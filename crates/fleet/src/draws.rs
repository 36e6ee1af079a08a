//! Random draws that belong to what they are for.

use wiremend_units::{mix, stream_seed};

/// What a stream is for.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// When a link begins to corrupt, and how.
    Corruption = 1,
    /// When something fails that links share.
    Shared = 2,
    /// How long a repair takes, by event.
    Repair = 3,
    /// Which pods have protection.
    Deployment = 4,
}

/// A stream of draws: the numbers of `SplitMix64`.
pub(crate) struct Draws {
    state: u64,
}

impl Draws {
    pub(crate) fn new(seed: u64, purpose: Purpose, entity: u64) -> Self {
        Self { state: stream_seed(seed, purpose as u64, entity) }
    }

    /// 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        let drawn = mix(self.state);
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        drawn
    }

    /// From 0 up to, but without, 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The time to an event that comes as often at any time, 1 on average.
    pub(crate) fn exponential(&mut self) -> f64 {
        -libm::log1p(-self.unit())
    }

    /// One of so many, the first of them 0.
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(count)) >> 64) as u64
    }
}
