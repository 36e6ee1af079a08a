//! Replays the fuzzers' corpus, so that what was found once stays found on every machine.

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/checks/parse_fec.rs"]
mod parse_fec;
#[path = "../../../fuzz/checks/parse_frame.rs"]
mod parse_frame;
#[path = "../../../fuzz/checks/parse_link.rs"]
mod parse_link;
#[path = "../../../fuzz/checks/read_capture.rs"]
mod read_capture;

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

/// Every file of a target's corpus; an empty corpus checks nothing and is a failure.
fn replay(target: &str, check: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", directory.display());
    for path in paths {
        println!("{}", path.display());
        check(&fs::read(&path).unwrap());
    }
}
