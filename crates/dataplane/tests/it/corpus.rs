//! What fuzzers found, and what they start from.

#[path = "../../../../fuzz/checks/read_request.rs"]
mod read_request;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn requests_of_the_corpus_hold() {
    replay("read_request", read_request::check);
}
