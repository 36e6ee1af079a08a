//! The corpus of the fuzzer.

#[path = "../../../../fuzz/checks/explain_capture.rs"]
mod explain_capture;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

#[test]
fn captures_of_the_corpus_are_explained() {
    replay::replay("explain_capture", explain_capture::check);
}
