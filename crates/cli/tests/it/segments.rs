//! Captured TCP segments, checked by tshark.

use std::path::Path;
use std::process::Command;

use tempfile::tempdir;

use crate::captures::has_tshark;
use crate::program::wiremend_with;

const SCENARIO: &str = "\
title = \"a stream with losses\"
[topology]
kind = \"pair\"
[transport]
protocol = \"tcp\"
[transport.tcp]
handshake = true
rto_min = \"1ms\"
rto_first = \"1ms\"
[[workload]]
kind = \"flows\"
pattern = \"point-to-point\"
bytes = \"1000001B\"
[[impair]]
kind = \"frames\"
links = \"h1-tor\"
direction = \"backward\"
rate = \"0.02\"
";

/// tshark finds handshake, SACK blocks and checksums correct, and every byte of the stream.
#[test]
fn tshark_follows_a_captured_stream() {
    if !has_tshark() {
        return;
    }
    let directory = tempdir().unwrap();
    let path = directory.path().join("tcp.pcapng");
    let capture = format!("h0-tor={}", path.display());
    wiremend_with(SCENARIO, &["run", "-", "--capture", &capture, "--json"]).ok();
    let lines = dissect(&path);
    let rows: Vec<Vec<_>> = lines.iter().map(|line| line.split('\t').collect()).collect();
    assert_eq!((rows[0][1], rows[1][1]), ("0x0002", "0x0012"), "SYN, and SYN with ACK");
    let mut covered = 0;
    for row in &rows {
        let [protocols, _, checksum, seq, len, _] = row[..] else { panic!("{row:?}") };
        assert!(protocols.starts_with("eth:ethertype:ip:tcp"), "{row:?}");
        assert_eq!(checksum, "1", "good: {row:?}");
        let (seq, len): (u64, u64) = (seq.parse().unwrap(), len.parse().unwrap());
        // Numbers are relative to the SYN's.
        if len > 0 && seq <= covered + 1 {
            covered = covered.max(seq - 1 + len);
        }
    }
    assert_eq!(covered, 1_000_001);
    assert!(rows.iter().any(|row| !row[5].is_empty()), "a loss shows in blocks");
}

fn dissect(path: &Path) -> Vec<String> {
    let names =
        ["frame.protocols", "tcp.flags", "tcp.checksum.status", "tcp.seq", "tcp.len", "tcp.options.sack_le"];
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-n", "-o", "tcp.check_checksum:TRUE", "-T", "fields"]);
    command.args(names.iter().flat_map(|name| ["-e", name]));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}
