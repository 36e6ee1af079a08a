//! What random stories of all engines share.

use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;

/// What proptest does when `PROPTEST_CASES` does not ask for another number.
const CASES_UNASKED: u32 = 256;

/// The same stories each time, so that a red test stays red; others, and more, with `PROPTEST_CASES` set.
pub(crate) fn stories(cases: u32, seed: u64) -> ProptestConfig {
    let asked = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if asked.cases == CASES_UNASKED {
        ProptestConfig { cases, rng_seed: RngSeed::Fixed(seed), ..asked }
    } else {
        asked
    }
}
