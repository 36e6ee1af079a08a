//! Replays the corpus of the fuzzers.

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
fn an_fec_end_survives_the_corpus() {
    replay("fec_end", fec_end::check);
}

#[test]
fn a_link_end_survives_the_corpus() {
    replay("link_end", link_end::check);
}

#[test]
fn link_pairs_of_the_corpus_deliver_in_order() {
    replay("link_pair", link_pair::check);
}

#[test]
fn tcp_connections_of_the_corpus_deliver_their_streams() {
    replay("tcp_ends", tcp_ends::check);
}
