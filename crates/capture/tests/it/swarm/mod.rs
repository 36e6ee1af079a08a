//! Captures of the simulator with random scenarios, whose causes are known.
//!
//! `WIREMEND_SWARM=0..1500` runs other seeds, `WIREMEND_SWARM_ERRORS=1` lists all errors, and
//! `WIREMEND_SWARM_CAPTURES=FOLDER` writes the captures. `cargo xtask bench causes` writes the page of the reference.

mod judge;
mod matrix;
mod run;

use judge::{SETTINGS, judge};
use matrix::Matrix;
use run::Run;

/// No proof is wrong, and of a hundred events at least 99 have the right cause, alone or among the named ones.
#[test]
fn causes_are_those_of_the_simulator() {
    let seeds = seeds(0..60);
    let mut matrix = Matrix::default();
    for seed in seeds.clone() {
        let run = Run::new(seed);
        if let Some(folder) = setting("WIREMEND_SWARM_CAPTURES") {
            run.write(std::path::Path::new(&folder), seed);
        }
        for setting in SETTINGS.iter().filter(|setting| setting.suits(&run)) {
            let judged = judge(&run, &setting.explain(&run));
            matrix.add(setting, &run, &judged, seed);
        }
    }
    let page = matrix.page(seeds.end - seeds.start);
    println!("{page}");
    if let Some(path) = setting("WIREMEND_SWARM_PAGE") {
        std::fs::write(path, page).expect("the page can be written");
    }
    for line in matrix.wrong_proofs.iter().chain(&matrix.errors) {
        println!("{line}");
    }
    assert!(matrix.wrong_proofs.is_empty(), "{} proofs are wrong", matrix.wrong_proofs.len());
    let (fitting, all) = matrix.fitting();
    assert!(all > 1000 && fitting * 100 >= all * 99, "{fitting} of {all}");
}

/// Whether all errors are listed, not wrong proofs only.
fn lists_errors() -> bool {
    setting("WIREMEND_SWARM_ERRORS").is_some()
}

/// Returns the seeds of a swarm: the usual ones, or those of `WIREMEND_SWARM=from..to`.
fn seeds(usual: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let Some(wanted) = setting("WIREMEND_SWARM") else { return usual };
    let (from, to) = wanted.split_once("..").expect("WIREMEND_SWARM=from..to");
    from.parse().expect("a number")..to.parse().expect("a number")
}

#[expect(clippy::disallowed_methods, reason = "a person or a chore chooses the seeds by it")]
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
