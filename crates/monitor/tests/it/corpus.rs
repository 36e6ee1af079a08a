//! What fuzzers found, and what they start from.

#[path = "../../../../fuzz/checks/read_answer.rs"]
mod read_answer;
#[path = "../../../../fuzz/checks/read_records.rs"]
mod read_records;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn answers_of_the_corpus_hold() {
    replay("read_answer", read_answer::check);
}

#[test]
fn records_of_the_corpus_hold() {
    replay("read_records", read_records::check);
}
