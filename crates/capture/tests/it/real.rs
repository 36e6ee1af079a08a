//! x
use std::fs::File;
use wiremend_capture::{Analysis, TapPosition};

#[test]
fn show() {
    for name in std::env::var("CAPS").unwrap().split_whitespace() {
        let mut analysis = Analysis::new(TapPosition::Unknown);
        for part in name.split(',') {
            analysis.read(part, File::open(part).unwrap(), || true).unwrap();
        }
        let explanation = analysis.finish();
        println!("=== {name}\n{explanation}{}{}", explanation.table(true), explanation.filter());
    }
}
