//! The corpus of the fuzzers.

#[path = "../../../../fuzz/mutate.rs"]
mod mutate;
#[path = "../../../../fuzz/checks/parse_fec.rs"]
mod parse_fec;
#[path = "../../../../fuzz/checks/parse_frame.rs"]
mod parse_frame;
#[path = "../../../../fuzz/checks/parse_link.rs"]
mod parse_link;
#[path = "../../../../fuzz/checks/read_capture.rs"]
mod read_capture;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn frames_of_the_corpus_hold() {
    replay("parse_frame", parse_frame::check);
}

#[test]
fn link_headers_of_the_corpus_hold() {
    replay("parse_link", parse_link::check);
}

#[test]
fn fec_headers_of_the_corpus_hold() {
    replay("parse_fec", parse_fec::check);
}

#[test]
fn captures_of_the_corpus_hold() {
    replay("read_capture", read_capture::check);
}

#[test]
fn mutated_captures_hold() {
    mutate::mutate("read_capture", 0, read_capture::check);
}
