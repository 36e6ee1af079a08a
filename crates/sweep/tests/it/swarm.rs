//! Any number of workers that start, stop and die at any time: every cell is in the table once, with the same bytes.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use proptest::prelude::*;
use wiremend_runner::{Progress, Runner};
use wiremend_sweep::{FailedBefore, Part, Sweep, Task, collect};

use crate::{LEASE, SMALL, plan, start, table};

/// How a worker runs and ends.
#[derive(Clone, Copy, Debug)]
struct Life {
    threads: usize,
    /// It is stopped after this number of reports of progress.
    reports: u32,
    /// Whether it runs only a part.
    is_shard: bool,
    death: Death,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Death {
    /// It ends in order.
    None,
    /// It seems to be killed on another machine: its heartbeat stays and does not change. Its last line lacks so many
    /// bytes.
    Killed(usize),
    /// It is a task of a scheduler that starts it again.
    Requeued(usize),
}

/// Sets a flag after some reports.
struct StopAfter {
    left: AtomicU32,
    stop: AtomicBool,
}

impl Progress for StopAfter {
    fn on_progress(&self, _: usize, _: f64) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.stop.store(true, Ordering::Release);
        }
    }
}

fn live(directory: &Path, number: usize, life: Life) {
    let own = StopAfter { left: AtomicU32::new(life.reports), stop: AtomicBool::new(life.reports == 0) };
    let runner = Runner::new().threads(life.threads).progress(&own).stop(&own.stop);
    let sweep = Sweep::start(directory, plan(SMALL), FailedBefore::Keep, LEASE, &Runner::new()).unwrap();
    let part = if life.is_shard { Part::Shard { index: number % 2, count: 2 } } else { Part::Whole };
    let task =
        if let Death::Requeued(_) = life.death { Task("job 1, task 1".to_owned()) } else { Task::default() };
    // Stopped or not: what it has done counts.
    let _ = sweep.worker(runner).lease(LEASE).part(part).task(task).run();
}

/// Makes the workers of a directory that have ended look killed.
fn kill_all(directory: &Path, cut: usize, is_near_record_lost: bool) {
    for entry in fs::read_dir(directory.join("workers")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = fs::read_to_string(&path).unwrap();
            let record: serde_json::Value = serde_json::from_str(&text).unwrap();
            let mut far = record.clone();
            far["space"] = "another machine".into();
            fs::write(&path, far.to_string()).unwrap();
            fs::write(path.with_extension("beat"), "7\n").unwrap();
            if is_near_record_lost {
                fs::remove_file(&path).unwrap();
            }
        }
    }
    for entry in fs::read_dir(directory.join("results")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len().saturating_sub(cut)]).unwrap();
    }
}

fn lives() -> impl Strategy<Value = Vec<Vec<Life>>> {
    let death = prop_oneof![
        Just(Death::None),
        (0_usize..900).prop_map(Death::Killed),
        (0_usize..900).prop_map(Death::Requeued)
    ];
    let life = (1_usize..4, 0_u32..20, any::<bool>(), death)
        .prop_map(|(threads, reports, is_shard, death)| Life { threads, reports, is_shard, death });
    prop::collection::vec(prop::collection::vec(life, 1..4), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whoever_dies_when_every_cell_is_in_the_table_once(rounds in lives()) {
        let (alone, shared) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let expected = table(alone.path(), SMALL);
        for round in rounds {
            // The workers of a round run at the same time.
            std::thread::scope(|scope| {
                for (number, life) in round.iter().enumerate() {
                    let directory = shared.path();
                    scope.spawn(move || live(directory, number, *life));
                }
            });
            match round[0].death {
                Death::None => {}
                Death::Killed(cut) => kill_all(shared.path(), cut, cut % 5 == 0),
                Death::Requeued(cut) => kill_all(shared.path(), cut, false),
            }
        }
        let sweep = start(shared.path(), SMALL);
        sweep.worker(Runner::new()).lease(LEASE).run().unwrap();
        let collected = collect(&sweep).unwrap();
        prop_assert_eq!((collected.cells, collected.missing, collected.failed.len()), (12, 0, 0));
        prop_assert_eq!(fs::read(shared.path().join("cells.parquet")).unwrap(), expected);
    }
}
