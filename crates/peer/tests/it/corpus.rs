//! Replays the corpus of the fuzzers.

#[path = "../../../../fuzz/draw.rs"]
mod draw;
#[path = "../../../../fuzz/checks/peer_end.rs"]
mod peer_end;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn an_endpoint_survives_the_corpus() {
    replay("peer_end", peer_end::check);
}
