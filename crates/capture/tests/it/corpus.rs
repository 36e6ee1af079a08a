//! The corpus of the fuzzer.

#[path = "../../../../fuzz/checks/explain_capture.rs"]
mod explain_capture;
#[path = "../../../../fuzz/mutate.rs"]
mod mutate;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

#[test]
fn captures_of_the_corpus_are_explained() {
    replay::replay("explain_capture", explain_capture::check);
}

#[test]
fn mutated_captures_are_explained() {
    mutate::mutate("explain_capture", 1, explain_capture::check);
}
