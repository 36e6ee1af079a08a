//! What fuzzers found, and what they start from.

#[path = "../../../../fuzz/draw.rs"]
mod draw;
#[path = "../../../../fuzz/checks/read_request.rs"]
mod read_request;
#[path = "../../../../fuzz/relay.rs"]
mod relay;
#[path = "../../../../fuzz/checks/relay_end.rs"]
mod relay_end;
#[path = "../../../../fuzz/checks/relay_pair.rs"]
mod relay_pair;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn requests_of_the_corpus_hold() {
    replay("read_request", read_request::check);
}

#[test]
fn a_relay_survives_the_corpus() {
    replay("relay_end", relay_end::check);
}

#[test]
fn relays_of_the_corpus_keep_their_promises() {
    replay("relay_pair", relay_pair::check);
}
