//! Replays the fuzzing corpus.

#[path = "../../../../fuzz/checks/read_flows.rs"]
mod read_flows;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn flows_and_sizes_of_the_corpus_pass() {
    replay("read_flows", read_flows::check);
}
