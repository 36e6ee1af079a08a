//! `wiremend monitor`: what ports count, from a tree that looks as `/sys` does to a verdict.

use std::fs;
use std::path::Path;

use crate::program::{wiremend, wiremend_with};

#[test]
fn ports_are_written_down_and_explained() {
    let tree = tempfile::tempdir().unwrap();
    port(tree.path(), 1_000_000, 7);
    let record = |name: &str, node: &str| {
        let sysfs = tree.path().to_str().unwrap();
        let text = wiremend(&[
            "monitor", "record", "eth0", "--node", node, "--sysfs", sysfs, "--every", "10ms", "--for", "20ms",
        ])
        .ok();
        assert_eq!(text.lines().count(), 3, "{text}");
        let file = tree.path().join(name);
        fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let (here, there) = (record("here.jsonl", "leaf-1"), record("there.jsonl", "spine-3"));
    let text = wiremend(&["monitor", "explain", &here, &there]).ok();
    assert!(text.starts_with("leaf-1:eth0 - spine-3:eth0: healthy\n"), "{text}");
}

#[test]
fn a_link_that_corrupts_is_named_with_its_numbers() {
    let told = wiremend_with(CORRUPTING, &["monitor", "explain", "-"]);
    assert_eq!(told.code, Some(1), "{}", told.stderr);
    for part in [
        "a:eth0 - b:eth0: corruption",
        "corruption    at b:eth0: 1000 of 1001000 frames arrived broken: 1.0e-3",
        "loss          to b:eth0: 1000 of 1001000 frames",
        "loss          to a:eth0: none of 1000000 frames, so hardly more than 4.6e-6",
    ] {
        assert!(told.stdout.contains(part), "`{part}` in {}", told.stdout);
    }
    let told = wiremend_with(CORRUPTING, &["monitor", "explain", "-", "--link", "b:eth0=a:eth0", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&told.stdout).expect("stdout is JSON");
    assert_eq!(json["links"][0]["cause"], "corruption");
    assert_eq!(json["links"][0]["reasons"][0]["end"], "a");
    assert_eq!(json["links"][0]["loss_to_a"]["errors"], 1000);
}

#[test]
fn what_cannot_be_explained_is_refused_in_a_line() {
    for (input, arguments, why) in [
        (CORRUPTING, &["--link", "a:eth0=c:eth0"][..], "unknown port `c:eth0`; did you mean"),
        (CORRUPTING, &["--link", "a:eth0"], "write NODE:PORT=NODE:PORT"),
        (CORRUPTING, &["--threshold", "1e-20"], "not between 1e-15 and 0.5"),
        ("", &[], "there are 0 ports"),
        (ONCE, &[], "was read once"),
        ("{}", &[], "line 1: missing field `time_s`"),
    ] {
        let told = wiremend_with(input, &[&["monitor", "explain", "-"][..], arguments].concat());
        assert_eq!(told.code, Some(2), "{}", told.stderr);
        assert!(told.stderr.contains(why) && told.stderr.lines().count() == 1, "`{why}` in {}", told.stderr);
        assert_eq!(told.stdout, "");
    }
    let told = wiremend(&["monitor", "record", "no-such-port"]);
    assert_eq!(told.code, Some(2));
    assert!(told.stderr.contains("cannot read the interface `no-such-port`"), "{}", told.stderr);
}

const CORRUPTING: &str = r#"{"time_s":0,"node":"a","port":"eth0","up":true,"counters":{"rx_good":5,"rx_crc":0}}
{"time_s":0,"node":"b","port":"eth0","up":true,"counters":{"rx_good":7,"rx_crc":2}}
{"time_s":9,"node":"a","port":"eth0","up":true,"counters":{"rx_good":1000005,"rx_crc":0}}
{"time_s":9,"node":"b","port":"eth0","up":true,"counters":{"rx_good":1000007,"rx_crc":1002}}
"#;

const ONCE: &str = r#"{"time_s":0,"node":"a","port":"eth0","up":true,"counters":{"rx_good":5,"rx_crc":0}}
{"time_s":0,"node":"b","port":"eth0","up":true,"counters":{"rx_good":7,"rx_crc":2}}
"#;

fn port(root: &Path, good: u64, bad: u64) {
    let base = root.join("class/net/eth0");
    fs::create_dir_all(base.join("statistics")).unwrap();
    for (file, value) in [
        ("carrier", 1),
        ("carrier_changes", 1),
        ("statistics/rx_packets", good),
        ("statistics/rx_crc_errors", bad),
    ] {
        fs::write(base.join(file), format!("{value}\n")).unwrap();
    }
}
