//! What fuzzers found, and what they start from.

#[path = "../../../../fuzz/draw.rs"]
mod draw;
#[path = "../../../../fuzz/checks/fec_end.rs"]
mod fec_end;
#[path = "../../../../fuzz/checks/link_end.rs"]
mod link_end;
#[path = "../../../../fuzz/checks/link_pair.rs"]
mod link_pair;
#[path = "../../../../fuzz/replay.rs"]
mod replay;
#[path = "../../../../fuzz/checks/tcp_ends.rs"]
mod tcp_ends;

use replay::replay;

#[test]
fn an_end_with_error_correction_survives_the_corpus() {
    replay("fec_end", fec_end::check);
}

#[test]
fn an_end_survives_the_corpus() {
    replay("link_end", link_end::check);
}

#[test]
fn pairs_of_the_corpus_keep_their_promises() {
    replay("link_pair", link_pair::check);
}

#[test]
fn connections_of_the_corpus_keep_their_promises() {
    replay("tcp_ends", tcp_ends::check);
}
