//! What fuzzers found, and what they start from.

#[path = "../../../../fuzz/draw.rs"]
mod draw;
#[path = "../../../../fuzz/replay.rs"]
mod replay;
#[path = "../../../../fuzz/checks/tcp_ends.rs"]
mod tcp_ends;

use replay::replay;

#[test]
fn connections_of_the_corpus_keep_their_promises() {
    replay("tcp_ends", tcp_ends::check);
}
