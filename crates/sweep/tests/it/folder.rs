//! Workers, and the folder that they share.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use wiremend_runner::{Progress, Runner};
use wiremend_sweep::{Error, FailedBefore, Part, Status, Sweep, collect};

use crate::{LEASE, SMALL, plan, start, table};

fn lines(directory: &Path) -> usize {
    let files = fs::read_dir(directory.join("results")).unwrap();
    files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap().lines().count()).sum()
}

#[test]
fn a_changed_study_runs_only_what_is_new() {
    let directory = tempfile::tempdir().unwrap();
    table(directory.path(), SMALL);
    assert_eq!(lines(directory.path()), 12);
    table(directory.path(), SMALL);
    assert_eq!(lines(directory.path()), 12);
    let longer = SMALL.replace("[0, 1, 2]", "[0, 1, 2, 3]");
    let grown = table(directory.path(), &longer);
    assert_eq!(lines(directory.path()), 16);
    let fresh = tempfile::tempdir().unwrap();
    assert_eq!(grown, table(fresh.path(), &longer), "the table does not depend on the history");
}

#[test]
fn shards_in_any_order_give_the_same_table() {
    let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let expected = table(whole.path(), SMALL);
    for index in [2, 0, 1] {
        let runner = Runner::new();
        let sweep = Sweep::start(parts.path(), plan(SMALL), FailedBefore::Keep, LEASE, &runner).unwrap();
        sweep.worker(runner).part(Part::Shard { index, count: 3 }).run().unwrap();
    }
    assert_eq!(lines(parts.path()), 12);
    let sweep = Sweep::open(parts.path(), &Runner::new()).unwrap();
    assert_eq!(collect(&sweep).unwrap().missing, 0);
    assert_eq!(fs::read(parts.path().join("cells.parquet")).unwrap(), expected);
}

/// A link that does not exist is found only when the network is built.
const FAILING: &str = r#"
name = "failing"
scenario = "tour"
variants = ["go-back-n"]
set = { "workload.0.flows" = 40 }
[[axis]]
name = "links"
path = "impair.0.links"
values = ["all", "h0-nowhere", "hosts"]
"#;

#[test]
fn a_cell_that_fails_does_not_stop_the_others_and_is_run_again() {
    let directory = tempfile::tempdir().unwrap();
    for attempt in 1..=2 {
        let sweep = start(directory.path(), FAILING);
        sweep.worker(Runner::new()).run().unwrap();
        let collected = collect(&sweep).unwrap();
        assert_eq!((collected.cells, collected.missing, collected.failed.len()), (3, 0, 1));
        assert!(collected.failed[0].message.contains("h0-nowhere"), "{:?}", collected.failed);
        assert_eq!(lines(directory.path()), 2 + attempt);
        let status = Status::new(&sweep).unwrap();
        assert_eq!((status.pending, status.failed.len(), status.workers.len()), (0, 1, 0));
    }
    let repaired = FAILING.replace("h0-nowhere", "switches");
    let sweep = start(directory.path(), &repaired);
    sweep.worker(Runner::new()).run().unwrap();
    assert!(collect(&sweep).unwrap().failed.is_empty());
    assert_eq!(lines(directory.path()), 5);
}

#[test]
fn a_folder_of_something_else_is_refused_and_untouched() {
    let refused = |path: &Path, text: &str| match Sweep::start(
        path,
        plan(text),
        FailedBefore::Retry,
        LEASE,
        &Runner::new(),
    ) {
        Err(Error::Input(why)) => why,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was accepted"),
    };
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("thesis.tex"), "x").unwrap();
    assert!(refused(other.path(), SMALL).contains("holds files that are not of a sweep"));
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 1);
    let sweep = tempfile::tempdir().unwrap();
    let before = table(sweep.path(), SMALL);
    let why = refused(sweep.path(), &SMALL.replace("name = \"small\"", "name = \"large\""));
    assert!(why.contains("holds the sweep \"small\" and this study is \"large\""), "{why}");
    assert_eq!(fs::read(sweep.path().join("cells.parquet")).unwrap(), before);
    let none = tempfile::tempdir().unwrap();
    let why = Sweep::open(none.path(), &Runner::new()).err().unwrap().to_string();
    assert!(why.ends_with("is not the folder of a sweep"), "{why}");
}

/// Starts another study on the folder while its worker runs.
struct Meddler<'a> {
    directory: &'a Path,
    has_tried: AtomicBool,
}

impl Progress for Meddler<'_> {
    fn on_progress(&self, _: usize, _: f64) {
        if self.has_tried.swap(true, Ordering::Relaxed) {
            return;
        }
        let changed = SMALL.replace("[0, 1, 2]", "[0, 1, 2, 3]");
        let second = Sweep::start(self.directory, plan(&changed), FailedBefore::Retry, LEASE, &Runner::new());
        let why = second.err().expect("the folder is in use").to_string();
        assert!(
            why.contains("is in use by process ") && why.contains("another version of the study"),
            "{why}"
        );
        // The same study joins.
        start(self.directory, SMALL);
    }
}

#[test]
fn two_sweeps_do_not_share_a_folder_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let sweep = start(directory.path(), SMALL);
    let meddler = Meddler { directory: directory.path(), has_tried: AtomicBool::new(false) };
    sweep.worker(Runner::new().threads(1).progress(&meddler)).run().unwrap();
    assert!(meddler.has_tried.into_inner());
    assert_eq!(collect(&sweep).unwrap().missing, 0);
    assert_eq!(lines(directory.path()), 12);
}

#[test]
fn another_version_plans_anew_and_does_not_mix_results() {
    let directory = tempfile::tempdir().unwrap();
    table(directory.path(), SMALL);
    let newer = Runner::new().version("99.0");
    let why = Sweep::open(directory.path(), &newer).err().unwrap().to_string();
    assert!(why.contains("was planned by wiremend ") && why.contains("this is 99.0"), "{why}");
    let study = wiremend_sweep::Study::parse("study.toml", SMALL).unwrap();
    let newer_plan = wiremend_sweep::Plan::new(study, &newer, false).unwrap();
    let sweep = Sweep::start(directory.path(), newer_plan, FailedBefore::Retry, LEASE, &newer).unwrap();
    assert_eq!(sweep.pending(&sweep.results().unwrap()).len(), 12);
}
