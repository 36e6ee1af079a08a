//! A program that uses the library, and nothing else of the command line.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use wiremend_measure::FlowRow;
use wiremend_report::Origin;
use wiremend_runner::{Error, Input, Kind, Progress, Request, Runner};

#[test]
fn rows_have_one_order_on_any_number_of_threads() {
    let input = small(&[]);
    let rows = |threads| {
        let mut rows = Vec::new();
        let mut take = |origin: Origin<'_>, row: &FlowRow| {
            rows.push((origin.variant.to_owned(), origin.seed, *row));
            Ok(())
        };
        let request = Request::new(&input).seed(7).seeds(3);
        let batch = Runner::new().threads(threads).run_with(&request, &mut take).unwrap();
        (rows, batch.summary.variants.iter().map(|variant| variant.digest.clone()).collect::<Vec<_>>())
    };
    let alone = rows(1);
    let seeds: Vec<u64> = alone.0.iter().map(|(_, seed, _)| *seed).collect();
    assert!(seeds.is_sorted() && seeds.first() == Some(&7) && seeds.last() == Some(&9));
    assert_eq!(rows(2), alone);
    assert_eq!(rows(5), alone);
}

#[test]
fn an_override_changes_what_is_run_and_the_command_says_so() {
    let base = small(&[]);
    let changed = small(&["workload.0.count=3"]);
    let flows = |input: &Input| Runner::new().run(&Request::new(input)).unwrap().summary.variants[0].flows;
    assert_ne!(flows(&base), flows(&changed));
    let request = Request::new(&changed).seed(2).seeds(4);
    assert_eq!(request.command(), "wiremend run small --set workload.0.count=3 --seed 2 --seeds 4");
}

#[test]
fn a_folder_has_all_its_files_or_is_not_there() {
    let input = small(&[]);
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("whole");
    Runner::new().run(&Request::new(&input).folder(&whole).csv()).unwrap();
    assert_eq!(names(&whole), ["flows.csv", "flows.parquet", "report.html", "summary.json"]);

    let stop = AtomicBool::new(true);
    let none = directory.path().join("none");
    let ended = Runner::new().stop(&stop).run(&Request::new(&input).folder(&none));
    assert!(matches!(ended, Err(Error::Interrupted)));
    assert!(!none.exists());
}

/// Whoever takes rows may have enough of them.
#[test]
fn an_error_of_who_takes_rows_ends_all_runs() {
    let input = small(&[]);
    let full = || io::Error::other("no more room");
    let mut take = |_: Origin<'_>, _: &FlowRow| Err(full());
    let ended = Runner::new().threads(2).run_with(&Request::new(&input).seeds(50), &mut take);
    assert!(matches!(ended, Err(Error::File(error)) if error.to_string() == "no more room"));
}

#[test]
fn progress_begins_with_all_runs_and_ends_with_each_done() {
    #[derive(Default)]
    struct Seen {
        shares: Mutex<Vec<f64>>,
        ended: AtomicBool,
    }
    impl Progress for Seen {
        fn on_start(&self, weights: &[f64]) {
            *self.shares.lock().unwrap() = vec![0.0; weights.len()];
        }
        fn on_progress(&self, run: usize, share: f64) {
            self.shares.lock().unwrap()[run] = share;
        }
        fn on_end(&self) {
            self.ended.store(true, Ordering::Relaxed);
        }
    }
    let (input, seen) = (small(&[]), Seen::default());
    Runner::new().progress(&seen).run(&Request::new(&input).seeds(3)).unwrap();
    assert_eq!(seen.shares.into_inner().unwrap(), [1.0; 3]);
    assert!(seen.ended.into_inner());
}

#[test]
fn errors_say_what_is_wrong_where_and_who_can_mend_it() {
    let unknown = Input::load("tuor", &[]).err().unwrap();
    assert_eq!(unknown.kind(), Kind::Input);
    assert!(unknown.to_string().starts_with("no scenario `tuor`; did you mean `tour`?"), "{unknown}");
    let input = small(&[]);
    let variant = Request::new(&input).variants(&["none".to_owned()]).err().unwrap();
    assert!(variant.to_string().starts_with("small: unknown variant `none`"), "{variant}");
    let link = Runner::new().run(&Request::new(&input).capture("a-c", "x.pcapng")).err().unwrap();
    assert!(matches!(&link, Error::UnknownLink(_)) && link.to_string().contains("there are "), "{link}");
}

fn small(changes: &[&str]) -> Input {
    let text = r#"
        title = "flows over a link that corrupts"
        [topology]
        kind = "pair"
        [[workload]]
        kind = "flows"
        pattern = "point-to-point"
        bytes = "100kB"
        count = 20
        [[impair]]
        kind = "frames"
        links = "hosts"
        rate = "1e-2"
    "#;
    let changes: Vec<_> = changes.iter().map(|change| change.parse().unwrap()).collect();
    Input::from_text("small", text, &changes).unwrap()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
