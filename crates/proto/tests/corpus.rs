//! What fuzzers found, and what they start from.

#[path = "../../../fuzz/draw.rs"]
mod draw;
#[path = "../../../fuzz/checks/fec_end.rs"]
mod fec_end;
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[test]
fn an_end_with_error_correction_survives_the_corpus() {
    replay::replay("fec_end", fec_end::check);
}
