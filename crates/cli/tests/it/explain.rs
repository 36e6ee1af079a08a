//! `wiremend capture explain`: output, exit codes, and captures that are damaged or hold nothing to explain.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::tempdir;

use crate::program::{Ended, assert_has, command, ended, wiremend, wiremend_with};

/// A capture of soft-RoCE.
fn real(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../capture/tests/data/{name}.pcap.gz"));
    path.to_str().unwrap().to_owned()
}

fn explain(arguments: &[&str]) -> Ended {
    wiremend(&[&["capture", "explain"], arguments].concat())
}

/// Asserts the exit code and returns stdout.
fn ends(ended: Ended, code: i32) -> String {
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(code), ""), "{}", ended.stdout);
    ended.stdout
}

fn json(arguments: &[&str], code: i32) -> Value {
    serde_json::from_str(&ends(explain(&[arguments, &["--json"]].concat()), code)).unwrap()
}

#[test]
fn a_capture_without_stalls_ends_with_0_and_one_with_stalls_with_1() {
    assert_has(
        &ends(explain(&[&real("clean-requester")]), 0),
        "no stalls: no requester waited for its timer",
    );
    let text = ends(explain(&[&real("tail-packet-responder")]), 1);
    assert_has(
        &text,
        "1 stalls (1 timeouts) | timeout  PSN  | tail packet, strong, lost upstream of the tap | \
         stalls that would remain, by the model at this ratio: 0.0 | with a dummy, ",
    );
    // A recovery by a NAK is no stall, and is listed if asked for.
    let path = real("recovery-responder");
    assert!(!ends(explain(&[&path]), 0).contains("NAK recovery  PSN"));
    assert_has(&ends(explain(&[&path, "--all"]), 0), "NAK recovery  PSN");
}

#[test]
fn json_has_the_cause_and_what_would_have_helped() {
    let explained = json(&[&real("tail-ack-responder")], 1);
    assert_eq!((&explained["version"], &explained["frames"]["rc"]), (&Value::from(1), &Value::from(33)));
    let event = &explained["events"][0];
    let remedies = explained["summary"]["remedies"].as_array().unwrap();
    let dummy = remedies.iter().find(|remedy| remedy["mechanism"] == "dummy").unwrap();
    assert!(dummy["remaining"]["tail_ack"].as_f64().unwrap() < 0.5, "{dummy}");
    assert_eq!(event["remedy"], "dummy", "{event}");
    assert_eq!((&event["cause"], &event["certainty"]), (&"tail_ack".into(), &"strong".into()), "{event}");
    assert_eq!((&event["side"], &event["kind"]), (&"downstream".into(), &"timeout".into()), "{event}");
    assert_eq!(json(&[&real("clean-requester")], 0)["events"], Value::Array(Vec::new()));
}

#[test]
fn the_filter_is_one_line_with_the_frames_of_the_cause() {
    let path = real("twice-requester");
    assert_eq!(ends(explain(&[&path, "--filter"]), 1), "frame.number in {24, 25, 26, 29, 32}\n");
}

/// gzip or not, from a file or from stdin: the same answer but for the name.
#[test]
fn stdin_and_files_give_the_same_answer() {
    let path = real("nak-responder");
    let mut from_stdin = command();
    from_stdin.args(["capture", "explain", "-", "--json"]).stdin(fs::File::open(&path).unwrap());
    let text = ends(ended(from_stdin.output().unwrap()), 1);
    let as_file = ends(explain(&[&path, "--json"]), 1);
    assert_eq!(text, as_file.replace(&path, "stdin"));
    let directory = tempdir().unwrap();
    let plain = directory.path().join("plain.pcap");
    let mut bytes = Vec::new();
    let mut packed = wiremend_capture::decompressed(fs::File::open(&path).unwrap()).unwrap();
    std::io::Read::read_to_end(&mut packed, &mut bytes).unwrap();
    fs::write(&plain, bytes).unwrap();
    let plain = plain.to_str().unwrap();
    assert_eq!(ends(explain(&[plain, "--json"]), 1).replace(plain, &path), as_file);
}

#[test]
fn two_files_are_two_taps() {
    let (near, far) = (real("one-packet-requester"), real("one-packet-responder"));
    let one = json(&[&near], 1);
    assert_eq!(one["events"][0]["certainty"], "ambiguous", "{one}");
    assert_eq!(one["events"][0]["alternatives"], Value::from(vec!["tail_ack"]), "{one}");
    let both = json(&[&near, &far], 1);
    let event = &both["events"][0];
    assert_eq!((&event["cause"], &event["side"]), (&"tail_packet".into(), &"between".into()), "{event}");
    assert_eq!((event["certainty"].as_str(), &both["events"][1]), (Some("strong"), &Value::Null), "{both}");
    // The far tap alone has seen nothing twice.
    ends(explain(&[&far]), 0);
}

#[test]
fn the_ladder_and_the_page_show_the_queue_pair() {
    let path = real("tail-packet-responder");
    let qp = json(&[&path], 1)["events"][0]["destination_qp"].as_u64().unwrap();
    let drawn = ends(explain(&[&path, "--ladder", &format!("{qp:#x}")]), 1);
    assert_has(&drawn, "requester | tap | responder | WRITE first");
    let directory = tempdir().unwrap();
    let page = directory.path().join("stalls.html");
    ends(explain(&[&path, "--html", page.to_str().unwrap()]), 1);
    assert_has(&fs::read_to_string(page).unwrap(), "<svg | tail packet | Stalls");
    explain(&[&path, "--ladder", "0xfffffe"]).refused_for(2, "--ladder: no packets of queue pair 0xfffffe");
    explain(&[&path, "--ladder", "x"]).refused_for(2, "a queue pair is a number below 2^24");
    explain(&[&path, "--json", "--filter"]).refused_for(2, "--json | --filter");
}

#[test]
fn files_without_anything_to_explain_are_refused() {
    let directory = tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let refused = |path: &Path, why: &str| {
        explain(&[path.to_str().unwrap()]).refused_for(2, &format!("{} | {why}", path.display()));
    };
    refused(&file("text", b"not a capture at all"), "at byte 0 | expected pcap or pcapng");
    refused(&file("empty", b""), "at byte 0: the file is empty");
    refused(&directory.path().join("missing"), "cannot be read");
    let header = [0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
    refused(&file("no-frames", &header), "0 frames, no RoCEv2 packets | capture at the switch");
    // A RoCEv1 frame: EtherType 0x8915.
    let mut frame = vec![0; 60];
    frame[12..14].copy_from_slice(&[0x89, 0x15]);
    let record = [0, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 60, 0, 0, 0];
    let first = [&header[..], &record, &frame].concat();
    refused(&file("roce-v1", &first), "1 frames, RoCEv1 frames only; RoCEv2 is explained");
}

/// The frames of a capture of soft-RoCE, each changed or left out, as a file.
fn changed(directory: &Path, capture: &str, link_type: u8, change: impl Fn(&mut Vec<u8>) -> bool) -> String {
    let mut bytes = Vec::new();
    let mut packed = wiremend_capture::decompressed(fs::File::open(real(capture)).unwrap()).unwrap();
    std::io::Read::read_to_end(&mut packed, &mut bytes).unwrap();
    let (mut file, mut rest) = (bytes[..24].to_vec(), &bytes[24..]);
    file[20] = link_type;
    while let Some((head, behind)) = rest.split_at_checked(16) {
        let len = u32::from_le_bytes(head[8..12].try_into().unwrap()) as usize;
        let mut frame = behind[..len].to_vec();
        rest = &behind[len..];
        if change(&mut frame) {
            file.extend_from_slice(&head[..8]);
            file.extend_from_slice(&(frame.len() as u32).to_le_bytes());
            file.extend_from_slice(&head[12..]);
            file.extend_from_slice(&frame);
        }
    }
    let path = directory.join("changed.pcap");
    fs::write(&path, file).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Byte 42 of a frame is the opcode: 17 is an acknowledgement.
fn is_answer(frame: &[u8]) -> bool {
    frame[42] == 17
}

#[test]
fn what_a_capture_lacks_is_named() {
    let directory = tempdir().unwrap();
    let file = |link_type: u8, change: fn(&mut Vec<u8>) -> bool| {
        changed(directory.path(), "tail-ack-responder", link_type, change)
    };
    // Half a conversation: requests tell of the stall, answers of nothing.
    let requests = ends(explain(&[&file(1, |frame| !is_answer(frame))]), 1);
    assert_has(&requests, "1 stalls (1 timeouts) | also: 1 flows without answers: capture both directions");
    let answers = explain(&[&file(1, |frame| is_answer(frame))]);
    assert_eq!(answers.code, Some(2));
    assert_has(&answers.stdout, "no requests: whether requesters waited is not known");
    assert_has(&answers.stderr, "answers only, no requests; capture both directions");
    // Bytes that the capture did not keep, a link type that is not decoded, an encrypted payload.
    let cut = |len: usize| {
        move |frame: &mut Vec<u8>| {
            frame.truncate(len);
            true
        }
    };
    // Without its RETH, a WRITE is still a request; the length of a READ is not known.
    let headers = changed(directory.path(), "tail-ack-responder", 1, cut(60));
    let (whole, short) = (json(&[&real("tail-ack-responder")], 1), json(&[&headers], 1));
    assert_eq!((&short["frames"]["cut"], &short["frames"]["rc"]), (&0.into(), &whole["frames"]["rc"]));
    assert_eq!(short["events"][0]["cause"], whole["events"][0]["cause"]);
    let headers = changed(directory.path(), "read-last-responder", 1, cut(60));
    assert_has(&explain(&[&headers]).stdout, "frames cut within their headers: capture 128 bytes of each");
    let headers = changed(directory.path(), "tail-ack-responder", 1, cut(40));
    explain(&[&headers]).refused_for(2, "33 frames, cut within their headers | tcpdump -s 128");
    explain(&[&file(105, |_| true)]).refused_for(2, "33 frames, of a link type that is not decoded");
    let encrypted = file(1, |frame| {
        // Protocol 50 instead of 17: the checksum field of RFC 1624 falls by as much.
        frame[23] = 50;
        let sum = u16::from_be_bytes([frame[24], frame[25]]);
        let sum = if sum < 33 { sum.wrapping_sub(34) } else { sum - 33 };
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        true
    });
    explain(&[&encrypted]).refused_for(2, "33 frames, encrypted packets only; capture inside the tunnel");
}

/// Taps whose clocks are days apart are compared all the same, and a clock that steps back is told.
#[test]
fn clocks_that_differ_or_step_back_are_told() {
    let directory = tempdir().unwrap();
    let path = changed(directory.path(), "one-ack-responder", 1, |_| true);
    let mut bytes = fs::read(&path).unwrap();
    let mut at = 24;
    let days = |bytes: &mut Vec<u8>, at: usize, days: u32| {
        let seconds = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) + days * 86_400;
        bytes[at..at + 4].copy_from_slice(&seconds.to_le_bytes());
    };
    let mut records = Vec::new();
    while at < bytes.len() {
        records.push(at);
        at += 16 + u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
    }
    for at in &records {
        days(&mut bytes, *at, 3);
    }
    fs::write(&path, &bytes).unwrap();
    let both = json(&[&real("one-ack-requester"), &path], 1);
    let [event] = &both["events"].as_array().unwrap()[..] else { panic!("{both}") };
    assert_eq!((&event["cause"], &event["side"]), (&"tail_ack".into(), &"between".into()), "{event}");
    days(&mut bytes, records[0], 1);
    fs::write(&path, &bytes).unwrap();
    assert_has(&explain(&[&path]).stdout, "also: | 1 steps back of a clock");
}

/// What was read before the damage is explained; the exit code and a line on stderr tell of it.
#[test]
fn a_truncated_file_is_explained_up_to_the_damage() {
    let directory = tempdir().unwrap();
    let mut bytes = Vec::new();
    let mut packed =
        wiremend_capture::decompressed(fs::File::open(real("tail-ack-responder")).unwrap()).unwrap();
    std::io::Read::read_to_end(&mut packed, &mut bytes).unwrap();
    let path = directory.path().join("cut.pcap");
    for (cut, stalls) in [(1, true), (bytes.len() / 2, false)] {
        fs::write(&path, &bytes[..bytes.len() - cut]).unwrap();
        let ended = explain(&[path.to_str().unwrap()]);
        assert_eq!((ended.code, ended.stderr.lines().count()), (Some(2), 1), "{}", ended.stderr);
        assert_has(&ended.stderr, "the file is truncated in | after | expected pcap or pcapng");
        assert_eq!(
            ended.stdout.contains("tail ACK (lost or late behind the tap), strong"),
            stalls,
            "{}",
            ended.stdout
        );
        assert_eq!(ended.stdout.contains("no stalls"), !stalls, "{}", ended.stdout);
    }
}

/// Losses of data, ACKs and NAKs, on one link of two.
const LOSSES: &str = "\
title = \"losses with known causes\"
[topology]
kind = \"chain\"
switches = 2
hosts_per_end = 1
[transport]
operation = \"write\"
timeout = 8
qp = \"per-pair\"
[[workload]]
kind = \"flows\"
pattern = \"point-to-point\"
src = \"h0\"
dst = \"h1\"
bytes = \"5KiB\"
count = 4
every = \"2ms\"
rounds = 120
[[impair]]
kind = \"frames\"
links = \"s0-s1\"
rate = \"0.05\"
";

/// `run --truth` names the causes in comments, with the same bytes for any number of threads, and `explain --truth`
/// compares with them. Without the option the explanation is the same, so it does not depend on the comments.
#[test]
fn causes_are_compared_with_those_that_the_simulator_recorded() {
    let directory = tempdir().unwrap();
    let capture = |name: &str, options: &[&str]| {
        let path = directory.path().join(name).to_str().unwrap().to_owned();
        let wanted = format!("s1-h1={path}");
        wiremend_with(LOSSES, &[&["run", "-", "--quiet", "--capture", &wanted], options].concat()).ok();
        path
    };
    let path = capture("causes.pcapng", &["--truth", "--threads", "1"]);
    let other = capture("threads.pcapng", &["--truth", "--threads", "2"]);
    assert_eq!(fs::read(&path).unwrap(), fs::read(&other).unwrap());
    let compared = json(&[&path, "--truth"], 1);
    let counts = &compared["summary"]["truth"];
    let count = |name: &str| counts[name].as_u64().unwrap();
    assert!(count("timers") >= 10 && count("right") + count("contained") >= 8, "{counts}");
    assert_eq!((count("wrong"), count("without_timer")), (0, 0), "{compared}");
    let without = json(&[&path], 1);
    assert_eq!(without["summary"]["truth"], Value::Null);
    let strip = |mut explained: Value| {
        explained["summary"]["truth"] = Value::Null;
        explained["events"].as_array_mut().unwrap().iter_mut().for_each(|event| event["truth"] = Value::Null);
        explained
    };
    assert_eq!(strip(compared), without);
    assert_has(&ends(explain(&[&path, "--truth"]), 1), "comments of the simulator: | recorded: tail");
    // Without the option of `run`, the frames are the same and no comment names a cause.
    let plain = capture("plain.pcapng", &[]);
    let explained = json(&[&plain, "--truth"], 1);
    assert_eq!(explained["summary"]["truth"]["timers"], 0);
    assert_eq!(explained["summary"]["stalls"], without["summary"]["stalls"]);
    wiremend_with(LOSSES, &["run", "-", "--truth"]).refused_for(2, "--capture");
}
