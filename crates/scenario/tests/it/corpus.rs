//! Inputs that fuzzers found, and their seeds.

#[path = "../../../../fuzz/checks/read_scenario.rs"]
mod read_scenario;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn scenarios_of_the_corpus_hold() {
    replay("read_scenario", read_scenario::check);
}
