//! Replays the fuzzing corpus.

#[path = "../../../../fuzz/checks/read_answer.rs"]
mod read_answer;
#[path = "../../../../fuzz/checks/read_records.rs"]
mod read_records;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn replies_of_the_corpus_pass() {
    replay("read_answer", read_answer::check);
}

#[test]
fn recordings_of_the_corpus_pass() {
    replay("read_records", read_records::check);
}
