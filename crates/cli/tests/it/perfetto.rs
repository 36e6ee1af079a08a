//! Traces for ui.perfetto.dev, read back by protoc.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::process::Command;

use tempfile::tempdir;

use crate::program::wiremend;

/// Decodes a trace by the messages of Perfetto's schema that it may use.
fn decoded(path: &Path) -> String {
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/perfetto");
    let output = Command::new("protoc")
        .args(["--proto_path", schema, "--decode", "Trace", "trace.proto"])
        .stdin(File::open(path).expect("the trace was written"))
        .output()
        .expect("protoc is installed; see `cargo xtask test --install`");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("protoc prints text");
    let field = |line: &str| line.trim().split([':', ' ']).next().unwrap_or_default().to_owned();
    let unknown: Vec<_> = text.lines().filter(|line| field(line).parse::<u32>().is_ok()).collect();
    assert!(unknown.is_empty(), "fields that the schema does not have: {unknown:?}");
    text
}

/// The fields of the packets of a decoded trace, one map for each packet. Annotations, which have names too, are left
/// out.
fn packets(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut packets = Vec::new();
    let mut is_annotation = false;
    for line in text.lines() {
        if is_annotation || line.trim() == "debug_annotations {" {
            is_annotation = line.trim() != "}";
        } else if line == "packet {" {
            packets.push(BTreeMap::new());
        } else if let (Some(packet), Some((name, value))) = (packets.last_mut(), line.trim().split_once(": "))
        {
            packet.entry(name.to_owned()).or_insert_with(|| value.trim_matches('"').to_owned());
        }
    }
    packets
}

/// Every track that events name is described, slices end as often as they begin, and time does not go back.
fn check(packets: &[BTreeMap<String, String>]) {
    let described: BTreeSet<_> = packets.iter().filter_map(|packet| packet.get("uuid")).collect();
    let parents: BTreeSet<_> = packets.iter().filter_map(|packet| packet.get("parent_uuid")).collect();
    let used: BTreeSet<_> = packets.iter().filter_map(|packet| packet.get("track_uuid")).collect();
    assert!(used.is_subset(&described) && parents.is_subset(&described), "{used:?} {described:?}");
    let mut open = BTreeMap::<&String, i32>::new();
    let mut last = 0;
    for packet in packets.iter().filter(|packet| packet.contains_key("type")) {
        let at: u64 = packet.get("timestamp").map_or(0, |at| at.parse().expect("a number"));
        assert!(at >= last, "{at} after {last}");
        last = at;
        let depth = open.entry(&packet["track_uuid"]).or_default();
        match packet["type"].as_str() {
            "TYPE_SLICE_BEGIN" => *depth += 1,
            "TYPE_SLICE_END" => *depth -= 1,
            _ => {}
        }
        assert!((0..=1).contains(depth), "packets on a link follow each other: {packet:?}");
    }
    assert!(open.values().all(|depth| *depth == 0));
}

#[test]
fn the_lost_tail_packet_points_to_the_timer_and_the_retransmission() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("tail.perfetto-trace");
    let run = || wiremend(&["trace", "tail-packet", "--perfetto", path.to_str().unwrap()]).ok();
    run();
    let packets = packets(&decoded(&path));
    check(&packets);
    let named = |name: &str| {
        let found: Vec<_> = packets
            .iter()
            .filter(|packet| packet.contains_key("type") && packet.get("name").is_some_and(|n| n == name))
            .collect();
        assert!(!found.is_empty(), "{name}");
        found
    };
    let is_lost = |packet: &&BTreeMap<_, _>| {
        packet.contains_key("type")
            && packet.get("name").is_some_and(|name: &String| name.contains("corrupted"))
    };
    let lost = packets.iter().find(is_lost);
    let arrow = &lost.expect("the tail packet is lost")["flow_ids"];
    assert_eq!(&named("timer fires at 11: tail packet lost")[0]["flow_ids"], arrow);
    assert_eq!(&named("WRITE last 11 again")[0]["terminating_flow_ids"], arrow);
    for track in ["h0", "h1 → tor", "h0 → tor", "tor → h0", "packets in flight, flow of h0"] {
        // protoc prints the bytes of other characters than ASCII in octal.
        let track = track.replace('→', r"\342\206\222");
        assert!(packets.iter().any(|p| p.contains_key("uuid") && p["name"] == track), "{track}");
    }
    let first = std::fs::read(&path).unwrap();
    run();
    assert_eq!(std::fs::read(&path).unwrap(), first, "the same run gives the same bytes");
}

#[test]
fn a_network_of_128_hosts_is_traced_within_a_bound_that_is_stated() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("large.perfetto-trace");
    let arguments = ["trace", "tour", "--variant", "go-back-n", "--perfetto", path.to_str().unwrap()];
    let small = ["--set", "topology.k=8", "--set", "workload.0.flows=400", "--flow", "slowest"];
    let ended = wiremend(&[&arguments[..], &small].concat());
    let packets = packets(&decoded(&path));
    check(&packets);
    let count = |wanted: &str| packets.iter().filter(|p| p.get("type").is_some_and(|t| t == wanted)).count();
    assert!(count("TYPE_SLICE_BEGIN") > 50_000, "{}", count("TYPE_SLICE_BEGIN"));
    assert!(count("TYPE_COUNTER") > 1_000);
    assert!(packets.iter().any(|p| p.get("name").is_some_and(|name| name.starts_with("queue "))));
    let stated = &ended.stderr;
    assert!(stated.contains("of other connections only the first 100\u{202f}000 frames"), "{stated}");
    ended.ok();
}
