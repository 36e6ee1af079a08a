//! Strategies and checks that the random tests of all engines share.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use wiremend_proto::engine::Status;
use wiremend_testkit::{Pair, Protocol, RandomFaults, RunEnd, Side};

/// Number of cases that proptest runs by default, without `PROPTEST_CASES`.
const DEFAULT_CASES: u32 = 256;

/// Returns a configuration with a fixed seed, so that a failing test keeps failing; `PROPTEST_CASES` selects
/// other cases.
pub(crate) fn proptest_config(cases: u32, seed: u64) -> ProptestConfig {
    let default = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if default.cases == DEFAULT_CASES {
        ProptestConfig { cases, rng_seed: RngSeed::Fixed(seed), ..default }
    } else {
        default
    }
}

/// Rates of an impairment in parts per million: zero, low, or up to `most_ppm`.
fn rates(most_ppm: u32) -> impl Strategy<Value = u32> {
    prop_oneof![2 => Just(0_u32), 1 => 0_u32..20_000, 1 => 0_u32..most_ppm]
}

prop_compose! {
    /// Random loss, duplication and reordering.
    pub(crate) fn random_faults(most_ppm: u32)(
        loss_ppm in rates(most_ppm), duplicate_ppm in rates(most_ppm), reorder_ppm in rates(most_ppm),
    ) -> RandomFaults {
        RandomFaults { loss_ppm, duplicate_ppm, reorder_ppm }
    }
}

/// Checks the completions of one end: every work request ends in order, with success or exceeded retries.
/// Returns whether one failed.
pub(crate) fn check_completions<P: Protocol>(
    pair: &Pair<P>,
    run_end: RunEnd,
    side: Side,
    posted: usize,
) -> Result<bool, String> {
    if run_end != RunEnd::Idle {
        return Err(format!("ended {run_end:?} at {}", pair.now()));
    }
    pair.check()?;
    let completions = pair.completions(side);
    if completions.len() != posted {
        return Err(format!("{} of {posted} work requests completed", completions.len()));
    }
    let failed = completions.iter().find(|completion| completion.status != Status::Success);
    if failed.is_some_and(|failed| failed.status != Status::RetryExceeded) {
        return Err(format!("only exceeded retries can fail here: {failed:?}"));
    }
    Ok(failed.is_some())
}
