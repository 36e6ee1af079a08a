//! Replays the fuzzing corpus.

#[path = "../../../../fuzz/checks/read_fleet.rs"]
mod read_fleet;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn fabrics_of_the_corpus_hold() {
    replay("read_fleet", read_fleet::check);
}
