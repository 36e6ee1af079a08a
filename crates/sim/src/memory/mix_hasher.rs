//! A hash for maps whose keys are single integers.

use std::hash::Hasher;

use wiremend_units::mix;

/// A fixed hash; no adversary chooses the keys.
#[derive(Default)]
pub(crate) struct MixHasher(u64);

impl Hasher for MixHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("keys are single integers");
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = mix(word);
    }
}
