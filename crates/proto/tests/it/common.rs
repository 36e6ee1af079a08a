//! What random stories of all engines share.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use wiremend_proto::engine::Status;
use wiremend_testkit::{Ending, Luck, Pair, Protocol, Side};

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

/// How many of a million packets meet something: none, some, or up to this many.
fn rates(most_ppm: u32) -> impl Strategy<Value = u32> {
    prop_oneof![2 => Just(0_u32), 1 => 0_u32..20_000, 1 => 0_u32..most_ppm]
}

prop_compose! {
    /// What packets meet on their way.
    pub(crate) fn lucks(most_ppm: u32)(
        loss_ppm in rates(most_ppm), duplicate_ppm in rates(most_ppm), reorder_ppm in rates(most_ppm),
    ) -> Luck {
        Luck { loss_ppm, duplicate_ppm, reorder_ppm }
    }
}

/// What is wrong with the works of one end: each ends, in order, with success unless answers are lacking. Whether one failed.
pub(crate) fn judge_works<P: Protocol>(
    pair: &Pair<P>,
    ending: Ending,
    side: Side,
    posted: usize,
) -> Result<bool, String> {
    if ending != Ending::Idle {
        return Err(format!("ended {ending:?} at {}", pair.now()));
    }
    pair.check()?;
    let completions = pair.completions(side);
    if completions.len() != posted {
        return Err(format!("{} of {posted} works completed", completions.len()));
    }
    let failed = completions.iter().find(|completion| completion.status != Status::Success);
    if failed.is_some_and(|failed| failed.status != Status::RetryExceeded) {
        return Err(format!("nothing but lack of answers can fail here: {failed:?}"));
    }
    Ok(failed.is_some())
}
