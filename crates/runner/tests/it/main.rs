//! Tests of the public interface.

mod numbers;
mod records;
mod tables;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use wiremend_measure::FlowRow;
use wiremend_report::RunId;
use wiremend_runner::{Error, ErrorKind, Input, Progress, Request, Runner};

#[test]
fn rows_have_one_order_on_any_number_of_threads() {
    let input = small(&[]);
    let rows = |threads| {
        let mut rows = Vec::new();
        let mut take = |run_id: RunId<'_>, row: &FlowRow| {
            rows.push((run_id.variant.to_owned(), run_id.seed, *row));
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
fn an_override_changes_the_run_and_appears_in_the_command() {
    let base = small(&[]);
    let changed = small(&["workload.0.count=3"]);
    let flows = |input: &Input| Runner::new().run(&Request::new(input)).unwrap().summary.variants[0].flows;
    assert_ne!(flows(&base), flows(&changed));
    let request = Request::new(&changed).seed(2).seeds(4);
    assert_eq!(request.command(), "wiremend run small --set workload.0.count=3 --seed 2 --seeds 4");
}

#[test]
fn the_summary_says_that_an_override_hides_what_a_variant_is_named_after() {
    let sets = ["transport.recovery=go-back-n".parse().unwrap(), "workload.0.load=0.1".parse().unwrap()];
    let input = Input::load("tour", &sets).unwrap();
    let request = Request::new(&input).variants(&["clean".to_owned(), "go-back-0".to_owned()]).unwrap();
    let summary = Runner::new().run(&request).unwrap().summary;
    let notes: Vec<_> = summary.variants.iter().map(|variant| &variant.notes).collect();
    assert!(notes[0].is_empty(), "{notes:?}");
    assert_eq!(*notes[1], ["--set transport.recovery=go-back-n replaces the variant's own value"]);
}

#[test]
fn an_output_directory_has_all_files_or_is_absent() {
    let input = small(&[]);
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("whole");
    Runner::new().run(&Request::new(&input).out_dir(&whole).csv()).unwrap();
    assert_eq!(
        names(&whole),
        ["flows.csv", "flows.parquet", "links.csv", "links.parquet", "report.html", "summary.json"]
    );

    let stop = AtomicBool::new(true);
    let none = directory.path().join("none");
    let ended = Runner::new().stop(&stop).run(&Request::new(&input).out_dir(&none));
    assert!(matches!(ended, Err(Error::Interrupted)));
    assert!(!none.exists());
}

/// An error of the row sink ends all runs.
#[test]
fn an_error_of_the_row_sink_ends_all_runs() {
    let input = small(&[]);
    let full = || io::Error::other("no more room");
    let mut take = |_: RunId<'_>, _: &FlowRow| Err(full());
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
fn errors_name_the_fault_its_position_and_its_kind() {
    let unknown = Input::load("tuor", &[]).err().unwrap();
    assert_eq!(unknown.kind(), ErrorKind::Input);
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
