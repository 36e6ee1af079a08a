//! The corpus of the fuzzers.

#[path = "../../../../fuzz/checks/read_faults.rs"]
mod read_faults;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn faults_of_the_corpus_hold() {
    replay("read_faults", read_faults::check);
}
