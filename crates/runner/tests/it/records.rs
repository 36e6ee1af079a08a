//! Output directories: what they say about their run, its repetition, and directories that are in use.

use std::fs;
use std::path::Path;

use wiremend_runner::{Error, ErrorKind, Input, RecordedRun, Request, Runner};
use wiremend_scenario::{Override, builtin};

use crate::{names, small};

fn sets(sets: &[&str]) -> Vec<Override> {
    sets.iter().map(|set| set.parse().unwrap()).collect()
}

fn write(input: &Input, folder: &Path) {
    Runner::new().run(&Request::new(input).seeds(2).out_dir(folder)).unwrap();
}

fn repeat(folder: &Path) -> Result<Vec<wiremend_runner::Repeated>, Error> {
    RecordedRun::read(folder)?.repeat(&Runner::new().threads(2))
}

/// The first 60 us of every scenario, so that all of them together take seconds; longer where a timer of the
/// scenario would never expire.
#[test]
fn every_built_in_scenario_is_repeated_from_its_files() {
    let directory = tempfile::tempdir().unwrap();
    for name in builtin::names() {
        let short = |changes: &[&str]| Input::load(name, &sets(changes));
        let input = short(&["stop.after=60us"])
            .or_else(|_| short(&["stop.after=6ms", "transport.tcp.rto_min=5ms"]))
            .unwrap();
        let folder = directory.path().join(name.replace('/', "-"));
        Runner::new().run(&Request::new(&input).out_dir(&folder)).unwrap();
        let repeated = repeat(&folder).unwrap();
        assert_eq!(repeated.len(), input.file.variants.len(), "{name}");
        assert!(repeated.iter().all(wiremend_runner::Repeated::is_equal), "{name}: {repeated:?}");
    }
}

#[test]
fn overrides_seeds_and_named_files_are_part_of_the_record() {
    let directory = tempfile::tempdir().unwrap();
    let (scenario, list) = (directory.path().join("mine.toml"), directory.path().join("flows.csv"));
    let text =
        "title = \"x\"\n[topology]\nkind = \"pair\"\n[[workload]]\nkind = \"list\"\nfile = \"flows.csv\"\n";
    fs::write(&scenario, text).unwrap();
    fs::write(&list, "src,dst,bytes,start_ns\n0,1,5000,0\n1,0,9000,50\n").unwrap();
    let input = Input::load(scenario.to_str().unwrap(), &sets(&["transport.mtu=512"])).unwrap();
    let folder = directory.path().join("results");
    write(&input, &folder);
    assert_eq!(names(&folder), ["flows.parquet", "inputs", "links.parquet", "report.html", "summary.json"]);
    // Neither the scenario nor the list is needed any more.
    fs::remove_file(&scenario).unwrap();
    fs::remove_file(&list).unwrap();
    let moved = directory.path().join("moved");
    fs::rename(&folder, &moved).unwrap();
    let repeated = repeat(&moved).unwrap();
    assert!(repeated[0].is_equal(), "{repeated:?}");

    let copy = moved.join("inputs/0-flows.csv");
    fs::write(&copy, "src,dst,bytes,start_ns\n0,1,5001,0\n").unwrap();
    let changed = repeat(&moved).unwrap_err();
    assert_eq!(changed.kind(), ErrorKind::Input);
    assert!(changed.to_string().ends_with("`inputs/0-flows.csv` was changed after the run"), "{changed}");
}

/// A digest or a scenario that somebody edited is found.
#[test]
fn a_record_that_was_changed_is_not_equal() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("results");
    write(&small(&[]), &folder);
    let path = folder.join("summary.json");
    let text = fs::read_to_string(&path).unwrap();
    let digest = RecordedRun::read(&folder).unwrap().record().digest("base").unwrap().to_owned();
    fs::write(&path, text.replace(&digest, &"0".repeat(32))).unwrap();
    let repeated = repeat(&folder).unwrap();
    assert!(!repeated[0].is_equal() && repeated[0].digest == digest, "{repeated:?}");

    fs::write(&path, text.replace("retry = 7", "retry = 6")).unwrap();
    let error = repeat(&folder).unwrap_err().to_string();
    assert!(error.ends_with("summary.json: the scenario of \"base\" was changed after the run"), "{error}");
    for (other, why) in [
        ("{}", "summary.json: not a summary of a run: missing field `schema`"),
        ("{\"schema\": 0}", "summary.json: its layout is 0"),
        ("all is well", "summary.json: not a summary of a run: expected value"),
    ] {
        fs::write(&path, other).unwrap();
        let error = RecordedRun::read(&folder).err().unwrap();
        assert!(error.to_string().contains(why) && error.kind() == ErrorKind::Input, "{error}");
    }
    fs::remove_file(&path).unwrap();
    let error = RecordedRun::read(&folder).err().unwrap().to_string();
    assert!(error.contains("summary.json: cannot be read"), "{error}");
}

#[test]
fn files_of_two_runs_never_mix() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("results");
    let series = "[series]\nevery = \"1us\"";
    let with_series =
        Input::from_text("more", &format!("{}\n{series}", small(&[]).file.text()), &[]).unwrap();
    Runner::new().run(&Request::new(&with_series).out_dir(&folder).csv()).unwrap();
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    let all = [
        "flows.csv",
        "flows.parquet",
        "links.csv",
        "links.parquet",
        "notes.txt",
        "report.html",
        "series.csv",
        "series.parquet",
        "summary.json",
    ];
    assert_eq!(names(&folder), all);
    write(&small(&[]), &folder);
    assert_eq!(
        names(&folder),
        ["flows.parquet", "links.parquet", "notes.txt", "report.html", "summary.json"]
    );
    assert!(repeat(&folder).unwrap()[0].is_equal());

    // A file of this name that belongs to nothing: refused before the run, and left alone.
    fs::remove_file(folder.join("summary.json")).unwrap();
    let refused = Runner::new().run(&Request::new(&small(&[])).out_dir(&folder)).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::Input);
    assert!(refused.to_string().contains("holds a `report.html` that is not of a run"), "{refused}");
    assert_eq!(names(&folder), ["flows.parquet", "links.parquet", "notes.txt", "report.html"]);
}

/// An interrupted run leaves the results that were there.
#[test]
fn a_run_that_fails_leaves_the_results_of_the_last() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("results");
    write(&small(&[]), &folder);
    let before = fs::read(folder.join("summary.json")).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(true);
    let ended = Runner::new().stop(&stop).run(&Request::new(&small(&[])).out_dir(&folder));
    assert!(matches!(ended, Err(Error::Interrupted)));
    assert_eq!(fs::read(folder.join("summary.json")).unwrap(), before);
    assert!(repeat(&folder).unwrap()[0].is_equal());
}
