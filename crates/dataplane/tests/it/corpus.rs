//! Replays the fuzzing corpus.

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
fn corpus_of_control_requests_passes() {
    replay("read_request", read_request::check);
}

#[test]
fn corpus_of_one_relay_passes() {
    replay("relay_end", relay_end::check);
}

#[test]
fn corpus_of_relay_pairs_passes() {
    replay("relay_pair", relay_pair::check);
}
