//! Loops and deadlocks from the command line: detected, drawn, predicted, refused.

use std::fs;

use crate::program::{assert_has, wiremend, wiremend_with};

/// The PFC draft's Fig. 1, with a small buffer.
const LOOP: &str = "title = \"two switches\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = 2\nrate = \"40Gbps\"\n\
    [switch.lossless]\nclasses = [3]\nbuffer = \"600kB\"\nalpha = \"1/4\"\n\
    [[workload]]\nkind = \"cbr\"\nsrc = \"h0\"\ndst = \"h3\"\nrate = \"5Gbps\"\nclass = 3\n\
    [[route]]\nswitch = \"s1\"\nto = \"h3\"\nnext = \"s0\"\nstart = \"100us\"\nstop = \"2ms\"\n[stop]\nafter = \"4ms\"\n";

#[test]
fn a_deadlocked_run_ends_by_itself_and_is_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let ended = wiremend_with(LOOP, &["run", "-", "--out", out.to_str().unwrap()]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let line = ended.stdout.lines().find(|line| line.contains("deadlock closed at")).unwrap();
    assert!(line.contains("s0>s1 → s1>s0 → s0>s1 wait for each other (class 3)"), "{line}");
    assert!(line.contains("the run ends here"), "{line}");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert_has(&page, "the cycle closes at | waits for s1&gt;s0 | deadlock closed at | paused, in the cycle");
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.join("summary.json")).unwrap()).unwrap();
    let variant = &summary["variants"][0];
    assert_eq!(variant["first_deadlock"]["cycle"], serde_json::json!(["s0>s1", "s1>s0"]));
    assert_eq!(
        (&variant["first_deadlock"]["ended_run"], &variant["deadlocks"]["found"]),
        (&true.into(), &1.into())
    );
    assert!(variant["simulated_ns"].as_u64().unwrap() < 4_000_000);
    // With `ends_run = false` the run continues to its end, and the exit status is 0.
    let ended = wiremend_with(LOOP, &["run", "-", "--set", "deadlock.ends_run=false"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("it lasts until the end"), "{}", ended.stdout);
}

#[test]
fn the_built_in_scenario_reports_the_deadlock_and_remedies() {
    let ended = wiremend(&["run", "deadlock", "--json"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let variants = json["variants"].as_array().unwrap();
    let named = |name: &str| variants.iter().find(|variant| variant["name"] == name).unwrap();
    assert_eq!(
        named("no remedy")["first_deadlock"]["cycle"],
        serde_json::json!(["leaf1>spine0", "spine0>leaf1"])
    );
    assert!(named("no remedy")["failed"]["deadlock"].as_u64().unwrap() > 0);
    assert_eq!(named("no remedy, going on")["deadlocks"]["resolved"], 0);
    assert!(named("no remedy, going on")["first_deadlock"]["blocked_hosts"].as_u64().unwrap() >= 8);
    for remedy in ["watchdog of 10 ms", "probes"] {
        let deadlocks = &named(remedy)["deadlocks"];
        assert!(deadlocks["found"].as_u64().unwrap() > 0, "{remedy}");
        assert_eq!(deadlocks["found"], deadlocks["resolved"], "{remedy}");
    }
    assert_eq!(named("loop guard")["deadlocks"]["found"], 0);
}

#[test]
fn a_check_knows_the_entries_of_a_scenario() {
    let ended = wiremend_with(LOOP, &["check", "-", "--rate", "5Gbps", "--json"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(json["components"][0]["cycles"][0]["kind"], "loop");
    assert_eq!(json["routes"], serde_json::json!({ "entries": 1, "start_s": 1e-4, "stop_s": 2e-3 }));
    let text = wiremend_with(LOOP, &["check", "-"]).stdout;
    assert!(text.contains("from 100us to 2ms, with an entry of the scenario"), "{text}");
    assert!(text.contains("Loop       of 2 switches, for h3: s0>s1 → s1>s0"), "{text}");
    // An option has the last word, and without the entry there is nothing.
    wiremend_with(LOOP, &["check", "-", "--override", "s1:h3:h3"]).ok();
    wiremend_with(LOOP, &["check", "-", "--set", "route=[]"]).ok();
}

#[test]
fn entries_that_cannot_be_are_refused_where_they_stand() {
    for (from, to, message) in [
        ("next = \"s0\"", "next = \"h0\"", "stdin:20:8: `h0` is neither a neighbour nor a link of `s1`"),
        ("next = \"s0\"", "next = \"s0-s9\"", "unknown neighbour or link `s0-s9`"),
        ("stop = \"2ms\"", "stop = \"100us\"", "`stop` is not later than `start`"),
        ("class = 3\n[[route]]", "ttl = 0\n[[route]]", "1 to 255"),
    ] {
        for command in ["run", "check"] {
            let line = wiremend_with(&LOOP.replacen(from, to, 1), &[command, "-"]).refused(2);
            assert!(line.contains(message), "{command}: {line}");
        }
    }
}
