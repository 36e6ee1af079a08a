//! `wiremend sweep` on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::tempdir;

use crate::monitor::await_that;
use crate::program::{assert_has, command, ended, files, wiremend, wiremend_in};

/// The example study with flows for tests: 300 cells of about ten milliseconds.
pub(crate) fn study(directory: &Path, flows: u32) -> PathBuf {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/studies/loss-by-scheme.toml");
    let text = fs::read_to_string(example).unwrap();
    assert!(text.contains("flows = 1000\n"));
    let path = directory.join("study.toml");
    fs::write(&path, text.replace("flows = 1000\n", &format!("flows = {flows}\n"))).unwrap();
    path
}

/// Runs a study here and returns the bytes of its table.
pub(crate) fn table(study: &Path, out: &Path) -> Vec<u8> {
    wiremend(&["sweep".as_ref(), study.as_os_str(), "--out".as_ref(), out.as_os_str()]).ok();
    fs::read(out.join("cells.parquet")).unwrap()
}

pub(crate) fn status(out: &Path) -> Value {
    wiremend(&["sweep", "status", out.to_str().unwrap(), "--json"]).json()
}

const SMALL: &str = "name = \"small\"\nscenario = \"tail-packet\"\nseeds = 2\n\
    [[axis]]\nname = \"dummies\"\npath = \"mend.dummies\"\nvalues = [0, 2]\n[output]\ncsv = true\n";

#[test]
fn a_sweep_writes_a_table_and_a_page_and_continues() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("study.toml"), SMALL).unwrap();
    let sweep = || wiremend_in(directory.path(), &["sweep", "study.toml", "--out", "out"]);
    let listed = wiremend_in(directory.path(), &["sweep", "study.toml", "--dry-run"]).ok();
    assert_eq!(listed.lines().count(), 5, "{listed}");
    assert_has(&listed, "new  |   dummies 2, seed 2 | 4 cells, 4 of them to run: about ");
    let first = sweep();
    assert!(first.stderr.starts_with("wiremend: 4 cells, 4 of them to run: about "), "{}", first.stderr);
    assert_eq!(first.ok(), "4 cells: 4 done\nout/cells.parquet\nout/sweep.html\nout/cells.csv\n");
    let csv = fs::read_to_string(directory.path().join("out/cells.csv")).unwrap();
    let [heading, row, ..] = csv.lines().collect::<Vec<_>>()[..] else { panic!("{csv}") };
    assert!(
        heading.starts_with("cell,point,dummies,variant,seed,flows,finished,finished_fraction,fct_p50_ns,"),
        "{heading}"
    );
    assert_eq!(row.split(',').nth(2), Some("0"));
    let page = fs::read_to_string(directory.path().join("out/sweep.html")).unwrap();
    assert_has(&page, "<svg | Means over 2 seeds with 95 % intervals | wiremend sweep study.toml --out out");
    let again = sweep();
    assert_eq!(again.stderr, "wiremend: 4 cells, all of them have run\n");
    again.ok();
    let listed = wiremend_in(directory.path(), &["sweep", "study.toml", "--dry-run", "--out", "out"]).ok();
    assert_eq!(listed.matches("  done  ").count(), 4, "{listed}");
    assert_eq!(
        wiremend_in(directory.path(), &["sweep", "status", "out"]).ok(),
        "4 cells: 0 pending, 0 failed\n"
    );
}

#[test]
fn what_cannot_be_swept_is_refused_in_one_line() {
    let directory = tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    let run = |line: &str| wiremend_in(directory.path(), &line.split(' ').collect::<Vec<_>>());
    write("study.toml", SMALL);
    write("unknown.toml", &SMALL.replace("mend.dummies", "mend.dumies"));
    write("empty.toml", &SMALL.replace("[0, 2]", "[]"));
    write("many.toml", &SMALL.replace("seeds = 2", "seeds = 500000"));
    write("other.toml", &SMALL.replace("name = \"small\"", "name = \"other\""));
    fs::create_dir(directory.path().join("full")).unwrap();
    write("full/mine.txt", "x");
    run("sweep study.toml --out done").ok();
    let before = fs::read(directory.path().join("done/cells.parquet")).unwrap();
    for (line, code, expected) in [
        (
            "sweep unknown.toml --out out",
            2,
            "unknown.toml:7:11: mend.dumies = 0: unknown field `dumies`; did you mean `dummies`?",
        ),
        ("sweep empty.toml --out out", 2, "empty.toml:7:10: an axis needs at least one value"),
        ("sweep many.toml --out out", 2, "1000000 cells; more than 100000 must be confirmed with --yes"),
        ("sweep none.toml --out out", 2, "none.toml: cannot be read"),
        ("sweep other.toml --out done", 2, "`done` holds the sweep \"small\" and this study is \"other\""),
        ("sweep study.toml --out full", 2, "`full` holds files that are not of a sweep"),
        ("sweep study.toml --out study.toml", 2, "`study.toml` holds files that are not of a sweep"),
        ("sweep study.toml", 2, "missing arguments: --out <DIR>"),
        ("sweep study.toml --out out --shard 4/3", 2, "write I/N with I from 1 to N"),
        ("sweep study.toml --out out --on slrum", 2, "unknown value `slrum`; did you mean `slurm`?"),
        ("sweep status full", 2, "`full` is not the folder of a sweep"),
        ("sweep collect none", 2, "`none` does not exist"),
        ("sweep work done --job 7 --task 0", 3, "jobs/000007.json"),
        ("sweep study.toml --out /proc/sweep", 3, "cannot create the directory `/proc/sweep/plans`"),
    ] {
        run(line).refused_for(code, expected);
    }
    assert_eq!(fs::read(directory.path().join("done/cells.parquet")).unwrap(), before);
    assert!(!directory.path().join("out").exists());
}

#[test]
fn without_a_scheduler_nothing_is_lost() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("study.toml"), SMALL).unwrap();
    for (scheduler, expected) in [
        ("slurm", "`sbatch` was not found; submit on a machine with Slurm"),
        ("hyperqueue", "`python3` was not found; install HyperQueue (`hq`), or name a Python interpreter"),
    ] {
        let mut program = command();
        program.current_dir(directory.path()).env("PATH", "").args([
            "sweep",
            "study.toml",
            "--out",
            "out",
            "--on",
            scheduler,
        ]);
        ended(program.output().unwrap()).refused_for(3, expected);
    }
    assert_eq!(
        wiremend_in(directory.path(), &["sweep", "study.toml", "--out", "out"]).ok().lines().next(),
        Some("4 cells: 4 done")
    );
}

#[test]
fn a_cell_that_fails_is_listed_and_the_rest_runs() {
    let directory = tempdir().unwrap();
    let text = "name = \"x\"\nscenario = \"tour\"\nvariants = [\"go-back-n\"]\nset = { \"workload.0.flows\" = 40 }\n\
                [[axis]]\nname = \"links\"\npath = \"impair.0.links\"\nvalues = [\"all\", \"h0-nowhere\"]\n";
    fs::write(directory.path().join("study.toml"), text).unwrap();
    let ran = wiremend_in(directory.path(), &["sweep", "study.toml", "--out", "out"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_has(
        &ran.stdout,
        "failed: links h0-nowhere, seed  | unknown link `h0-nowhere` | 2 cells: 1 done, 1 failed\n",
    );
    let state = wiremend_in(directory.path(), &["sweep", "status", "out"]);
    assert_eq!(state.code, Some(1));
    assert_has(&state.stdout, "2 cells: 0 pending, 1 failed | failed: links h0-nowhere");
}

/// Cells that take long enough to be interrupted: each some tenths of a second.
fn long_study(directory: &Path) -> PathBuf {
    let text = fs::read_to_string(study(directory, 4000)).unwrap();
    let path = directory.join("long.toml");
    fs::write(&path, text.replace("seeds = 5", "seeds = 1")).unwrap();
    path
}

fn has_results(out: &Path) -> bool {
    let Ok(entries) = fs::read_dir(out.join("results")) else { return false };
    entries.flatten().any(|entry| entry.metadata().is_ok_and(|found| found.len() > 0))
}

#[cfg(unix)]
#[test]
fn a_sweep_that_is_stopped_or_killed_continues() {
    let directory = tempdir().unwrap();
    let study = long_study(directory.path());
    let expected = table(&study, &directory.path().join("alone"));
    let out = directory.path().join("out");
    for (signal, code) in [("-INT", Some(130)), ("-KILL", None)] {
        let mut program = command();
        program.arg("sweep").arg(&study).arg("--out").arg(&out).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = program.spawn().unwrap();
        await_that(|| has_results(&out));
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let stopped = ended(child.wait_with_output().unwrap());
        assert_eq!(stopped.code, code, "{}", stopped.stderr);
        if code.is_some() {
            assert_has(
                &stopped.stderr,
                "interrupted; results so far are in ` | the same command continues from them",
            );
        }
    }
    assert_eq!(files(&out), ["claims", "plans", "results", "workers"], "nothing is collected of a part");
    let left = status(&out)["pending"].as_u64().unwrap();
    assert!((1..60).contains(&left), "{left} cells are left");
    assert!(table(&study, &out) == expected, "the table does not depend on interruptions");
}

/// A folder on a file system that fills up: what has run counts, and what is half written does not.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_fills_up_loses_nothing() {
    let directory = tempdir().unwrap();
    let study = study(directory.path(), 20);
    let script = "mount -t tmpfs -o size=160k none \"$1\" && { \"$2\" sweep \"$3\" --out \"$1/out\"; code=$?; \
                  cp -rP \"$1/out\" \"$4\"; exit $code; }";
    let (mounted, out) = (directory.path().join("mounted"), directory.path().join("out"));
    fs::create_dir(&mounted).unwrap();
    let mut program = Command::new("unshare");
    program.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]).arg(&mounted);
    let output = program.arg(env!("CARGO_BIN_EXE_wiremend")).arg(&study).arg(&out).output();
    let Ok(output) = output else { return eprintln!("skipped: there is no unshare") };
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("unshare:") || stderr.contains("mount:") {
        return eprintln!("skipped: {stderr}");
    }
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    let last = stderr.lines().last().unwrap_or_default();
    assert_has(last, "wiremend: cannot write ` | No space left on device");
    let left = status(&out)["pending"].as_u64().unwrap();
    assert!((1..300).contains(&left), "{left} cells are left");
    let expected = table(&study, &directory.path().join("alone"));
    assert!(table(&study, &out) == expected, "cells that were half written run again");
}
