//! Successful runs: their files, their reproducibility, and pipes, terminals and signals.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::tempdir;

use crate::program::{assert_has, command, ended, files, wiremend, wiremend_with};

/// The tour with few flows, to run many times.
const SMALL: [&str; 4] = ["run", "tour", "--set", "workload.0.flows=300"];

fn small(more: &[&str]) -> Vec<String> {
    SMALL.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

fn digests(summary: &Value) -> Vec<String> {
    let variants = summary["variants"].as_array().unwrap();
    variants.iter().map(|variant| variant["digest"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_number_of_threads_and_the_kind_of_ports_change_nothing() {
    let digests_with = |more: &[&str]| {
        let each: Vec<_> = ["clean", "go-back-n", "go-back-0"]
            .iter()
            .flat_map(|name| {
                digests(&wiremend(&small(&[&["--json", "--variant", name], more].concat())).json())
            })
            .collect();
        each
    };
    let one = digests_with(&["--threads", "1"]);
    assert_eq!(one.len(), 3);
    assert_ne!(one[0], one[1]);
    for more in [
        &["--threads", "2"][..],
        &["--threads", "3"],
        &["--threads", "1", "--set", "engine.ports=scheduled"],
        &["--threads", "2", "--set", "engine.ports=scheduled"],
    ] {
        assert_eq!(digests_with(more), one, "{more:?}");
    }
    assert_ne!(digests_with(&["--seed", "2"]), one);
}

/// Protected links do not protect PFC frames: the notes of a run explain drops.
#[test]
fn lossless_switches_that_drop_say_why() {
    let ended = wiremend(&["run", "pauses"]);
    let text = ended.ok().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("lossless switches dropped") && text.contains("PFC frames were corrupted"),
        "{text}"
    );
    let small = ["run", "pauses", "--variant", "clean", "--set", "switch.lossless.headroom=3kB"];
    let text = wiremend(&small).ok().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("more bytes arrived after the pause than the headroom holds"), "{text}");
    let clean = wiremend(&["run", "pauses", "--variant", "protected, PFC sent twice"]);
    assert!(!clean.ok().contains("switches dropped"));
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let directory = tempdir().unwrap();
    let run = |name: &str, threads: &str| {
        let out = directory.path().join(name);
        wiremend(&small(&["--seeds", "2", "--csv", "--threads", threads, "--out", out.to_str().unwrap()]))
            .ok();
        out
    };
    let (first, second, third) = (run("a", "1"), run("b", "1"), run("c", "3"));
    assert_eq!(
        files(&first),
        ["flows.csv", "flows.parquet", "links.csv", "links.parquet", "report.html", "summary.json"]
    );
    for name in files(&first) {
        let bytes = |directory: &Path| fs::read(directory.join(&name)).unwrap();
        assert_eq!(bytes(&first), bytes(&second), "{name}, twice");
        // The files say on how many threads they were made, and nothing else differs.
        let one_thread = String::from_utf8_lossy(&bytes(&first)).into_owned();
        let three = String::from_utf8_lossy(&bytes(&third)).into_owned();
        let three = [
            ("\"threads\":3", "\"threads\":1"),
            ("\"threads\": 3", "\"threads\": 1"),
            ("3 threads", "1 thread"),
        ]
        .iter()
        .fold(three, |text, (found, wanted)| text.replace(found, wanted));
        assert!(one_thread == three, "{name}, on more threads");
    }
}

#[test]
fn a_run_is_repeated_from_its_directory() {
    let directory = tempdir().unwrap();
    let out = directory.path().join("results");
    let out = out.to_str().unwrap();
    wiremend(&small(&[
        "--seeds",
        "2",
        "--seed",
        "5",
        "--variant",
        "clean",
        "--variant",
        "go-back-n",
        "--out",
        out,
    ]))
    .ok();
    let text = wiremend(&["rerun", out, "--threads", "1"]).ok();
    assert!(text.contains("go-back-n") && text.ends_with("All 2 digests are equal.\n"), "{text}");
    let path = Path::new(out).join("summary.json");
    let summary = fs::read_to_string(&path).unwrap();
    let digest = digests(&serde_json::from_str(&summary).unwrap())[1].clone();
    fs::write(&path, summary.replace(&digest, "0123")).unwrap();
    let again = wiremend(&["rerun", out]);
    assert_eq!(again.code, Some(1), "{}", again.stdout);
    assert!(again.stdout.ends_with("1 of 2 digests differ.\n"), "{}", again.stdout);
}

#[test]
fn the_summary_holds_what_is_promised() {
    let summary = wiremend(&small(&["--json", "--seeds", "2"])).json();
    assert_eq!(summary["schema"], 2);
    assert_eq!((summary["scenario"].as_str(), summary["seed"].as_u64()), (Some("tour"), Some(1)));
    assert_eq!(summary["seeds"], 2);
    assert!(summary["version"].as_str().unwrap().starts_with(env!("CARGO_PKG_VERSION")));
    let variants = summary["variants"].as_array().unwrap();
    let names: Vec<_> = variants.iter().map(|variant| variant["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["clean", "go-back-n", "go-back-0", "go-back-n, mended", "links protected"]);
    for variant in variants {
        // 300 flows at random and 16 copies, with each of two seeds.
        assert_eq!(variant["flows"], 632);
        assert_eq!(variant["finished"], 632);
        for quantile in ["p50", "p99", "max", "mean"] {
            assert!(variant["fct_ns"][quantile].as_f64().unwrap() > 0.0, "{quantile}");
        }
        assert!(variant["fct_ns"]["p999"].is_null(), "632 flows do not carry it");
        assert_eq!(variant["seeds"].as_array().unwrap().len(), 2);
        let over = &variant["over_seeds"]["fct_p50_ns"];
        let [low, mean, high] = ["low", "mean", "high"].map(|side| over[side].as_f64().unwrap());
        assert!(low <= mean && mean <= high, "{over}");
        assert!(variant["goodput"]["bps"].as_f64().unwrap() > 0.0);
        for field in ["packets_sent", "packet_hops", "events", "whole_run_goodput_bps"] {
            assert!(variant[field].as_u64().unwrap() > 0, "{field}");
        }
        assert!(variant["timeouts"].is_object() && variant["digest"].is_string());
    }
}

#[test]
fn rows_come_in_the_order_of_variants_and_seeds() {
    let directory = tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    wiremend(&small(&["--seeds", "2", "--csv", "--out", out, "--threads", "3", "--variant", "clean"])).ok();
    let text = fs::read_to_string(directory.path().join("flows.csv")).unwrap();
    let mut lines = text.lines();
    assert!(lines.next().unwrap().starts_with("variant,seed,workload,flow,src,dst,class,connection,bytes,"));
    let seeds: Vec<_> = lines.map(|line| line.split(',').nth(1).unwrap().to_owned()).collect();
    assert_eq!(seeds.len(), 632);
    assert!(seeds.is_sorted());
}

#[test]
fn a_series_is_written_where_it_is_asked_for() {
    let directory = tempdir().unwrap();
    let text = wiremend(&["show", "nak"]).ok()
        + "[series]\nevery = \"1us\"\nlinks = \"h0-tor\"\n[stop]\nafter = \"20us\"\n";
    wiremend_with(&text, &["run", "-", "--csv", "--out", directory.path().to_str().unwrap()]).ok();
    assert!(directory.path().join("series.parquet").is_file());
    let series = fs::read_to_string(directory.path().join("series.csv")).unwrap();
    assert!(series.starts_with("variant,seed,time_ps,lane,metric,value\n"), "{series}");
    assert!(series.contains("base,1,1000000,h0>tor,tx_bytes,"), "{series}");
}

#[test]
fn the_page_tells_what_the_terminal_does() {
    let directory = tempdir().unwrap();
    let text = wiremend(&small(&["--out", directory.path().to_str().unwrap()])).ok();
    let page = fs::read_to_string(directory.path().join("report.html")).unwrap();
    assert!(
        page.contains("corruption and its remedies") && page.contains("wiremend run tour --set"),
        "{page}"
    );
    let plain = |text: &str| text.replace("&quot;", "\"").split_whitespace().collect::<Vec<_>>().join(" ");
    let (text, page) = (plain(&text), plain(&page));
    let conclusion = text.split("• ").nth(1).unwrap().trim();
    assert!(page.contains(conclusion), "{conclusion}");
}

#[test]
fn printed_scenarios_can_be_run() {
    let shown = wiremend(&["show", "twice"]).ok();
    assert_eq!(
        digests(&wiremend_with(&shown, &["run", "-", "--json"]).json()),
        digests(&wiremend(&["run", "twice", "--json"]).json())
    );
    let listed = wiremend(&["list", "--json"]).json();
    for name in ["tour", "bench/perm-k8", "livelock"] {
        assert!(listed["scenarios"].as_array().unwrap().iter().any(|line| line["name"] == name), "{name}");
    }
    let text = wiremend(&["list"]).ok();
    assert!(text.contains("websearch") && text.contains("go-back-0"), "{text}");
}

#[test]
fn lines_fit_the_width_that_is_asked_for() {
    for width in [80, 120] {
        let output = command().args(small(&[])).env("COLUMNS", width.to_string()).output().unwrap();
        let text = ended(output).ok();
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        assert!(!text.contains('\u{1b}'), "no colours into a file");
    }
}

#[test]
fn every_command_has_examples_in_its_help() {
    let help = wiremend(&["--help"]).ok();
    assert_has(
        &help,
        "Simulate:\n  run  | Explain:\n  model  | Operate:\n | Examples:\n  wiremend  | Exit status:",
    );
    for name in
        ["run", "trace", "repro", "list", "show", "model", "tune", "check", "capture", "completions", "man"]
    {
        let help = wiremend(&[name, "--help"]).ok();
        assert!(help.contains("Examples:\n  wiremend "), "{help}");
    }
    let version = wiremend(&["--version"]).ok();
    assert!(version.starts_with(concat!("wiremend ", env!("CARGO_PKG_VERSION"))), "{version}");
}

#[test]
fn shells_and_manuals_are_served() {
    assert!(wiremend(&["completions", "bash"]).ok().contains("_wiremend"));
    assert!(wiremend(&["completions", "zsh"]).ok().contains("#compdef wiremend"));
    let directory = tempdir().unwrap();
    assert_eq!(wiremend(&["man", directory.path().to_str().unwrap()]).ok(), "");
    let pages = files(directory.path());
    assert!(
        ["wiremend.1", "wiremend-run.1", "wiremend-trace.1", "wiremend-capture-decode.1"]
            .iter()
            .all(|page| pages.contains(&(*page).to_owned())),
        "{pages:?}"
    );
    let page = fs::read_to_string(directory.path().join("wiremend-run.1")).unwrap();
    assert!(page.contains(".TH wiremend-run 1"), "{page}");
}

#[test]
fn a_closed_pipe_is_no_panic() {
    for arguments in [
        &["show", "tour"][..],
        &["list"],
        &["run", "nak"],
        &["run", "nak", "--json"],
        &["--help"],
        &["trace", "nak"],
    ] {
        let mut child =
            command().args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let end = ended(child.wait_with_output().unwrap());
        assert_eq!((end.code, end.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_stdout_is_reported() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let end = ended(command().args(["run", "nak"]).stdout(full).output().unwrap());
    assert_eq!(end.code, Some(3));
    assert!(end.stderr.starts_with("wiremend: cannot write to stdout: "), "{}", end.stderr);
}

/// Ctrl-C during a run removes incomplete files and the directory.
#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_nothing_behind() {
    let directory = tempdir().unwrap();
    let out = directory.path().join("out");
    let capture = format!("h0-edge0-0={}", directory.path().join("link.pcapng").display());
    let arguments = ["run", "google-rpc-million", "--capture", &capture, "--out", out.to_str().unwrap()];
    let mut child = command().args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // From the moment that it writes, it watches for signals.
    while !out.is_dir() || files(&out).is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "the program ended before it wrote a file");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(300));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let end = ended(child.wait_with_output().unwrap());
    assert_eq!(end.code, Some(130), "{}", end.stderr);
    assert_eq!(end.stdout, "");
    assert!(end.stderr.starts_with("wiremend: interrupted"), "{}", end.stderr);
    assert!(files(directory.path()).is_empty(), "{:?}", files(directory.path()));
}

/// A terminal gets colours unless `NO_COLOR` is set, and the program without arguments runs the tour.
#[cfg(target_os = "linux")]
#[test]
fn terminals_get_colours_and_the_tour() {
    let on_a_terminal = |line: &str, no_color: Option<&str>| {
        let mut script = Command::new("script");
        script
            .args(["-qec", line, "/dev/null"])
            .env("TERM", "xterm")
            .env_remove("COLUMNS")
            .env_remove("NO_COLOR");
        if let Some(value) = no_color {
            script.env("NO_COLOR", value);
        }
        let output = script.stdin(Stdio::null()).output().ok().filter(|output| output.status.success());
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let program = env!("CARGO_BIN_EXE_wiremend");
    let Some(plain) = on_a_terminal(&format!("{program} run nak"), Some("1")) else {
        return eprintln!("skipped: there is no script(1)");
    };
    assert!(!plain.contains("\u{1b}["), "{plain}");
    let coloured = on_a_terminal(&format!("{program} run nak"), None).unwrap();
    assert!(coloured.contains("\u{1b}[1m"), "{coloured}");

    let tour = on_a_terminal(program, Some("1")).unwrap();
    assert_has(
        &tour,
        "Sixteen hosts | go-back-0 | links protected | to the slowest | Next: | wiremend trace tour",
    );
    assert_eq!(tour.matches("• ").count(), 3, "three sentences: {tour}");
    let piped = wiremend::<&str>(&[]).ok();
    assert!(piped.contains("Next:") && piped.contains("to the slowest"), "the tour too: {piped}");
}

/// Conclusions must be true: in one run no flow starts, in the other no loss is detected.
#[test]
fn nothing_is_claimed_that_did_not_happen() {
    let late = wiremend(&["run", "nak", "--set", "workload.0.start=100s"]).ok();
    assert!(late.contains("No packet was sent before the run ended."), "{late}");
    let open_loop = "title = \"t\"\n[topology]\nkind = \"pair\"\n[[workload]]\nkind = \"cbr\"\nrate = \"1Gbps\"\nstop = \"1ms\"\n\
                     [[impair]]\nkind = \"frames\"\nlinks = \"all\"\nrate = 0.5\n";
    let lost = wiremend_with(open_loop, &["run", "-"]).ok();
    assert!(lost.contains("No retransmission timer fired.") && !lost.contains("NAK"), "{lost}");
}
