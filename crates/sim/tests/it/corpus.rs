//! What fuzzers found, and what they start from.

#[path = "../../../../fuzz/checks/build_scenario.rs"]
mod build_scenario;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn networks_of_the_corpus_are_built_or_refused() {
    replay("build_scenario", build_scenario::check);
}
