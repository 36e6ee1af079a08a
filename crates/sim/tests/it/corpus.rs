//! The corpus of the fuzzers: findings and seeds.

#[path = "../../../../fuzz/checks/build_scenario.rs"]
mod build_scenario;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn networks_of_the_corpus_are_built_or_rejected() {
    replay("build_scenario", build_scenario::check);
}
