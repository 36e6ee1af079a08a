//! Random streams by purpose and entity, independent of the order of evaluation.

use wiremend_units::{mix, stream_seed};

/// Purpose of a stream.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// Failures of single links.
    CorruptionEvent = 1,
    /// Failures of shared components.
    Shared = 2,
    /// Repair times, by event.
    RepairModel = 3,
    /// Pods with protection.
    Deployment = 4,
}

/// A stream of `SplitMix64` numbers.
pub(crate) struct RandomStream {
    state: u64,
}

impl RandomStream {
    pub(crate) fn new(seed: u64, purpose: Purpose, entity: u64) -> Self {
        Self { state: stream_seed(seed, purpose as u64, entity) }
    }

    /// Draws 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        let drawn = mix(self.state);
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        drawn
    }

    /// Draws a number from 0 to 1, 1 excluded.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws an exponentially distributed number with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -libm::log1p(-self.unit())
    }

    /// Draws an integer from 0 to `count` − 1.
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(count)) >> 64) as u64
    }
}
