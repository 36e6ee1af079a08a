//! `wiremend capture decode`: frames of our own runs and of other programs, and damaged files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tempfile::{TempDir, tempdir};
use wiremend_units::{Psn, QpNum};
use wiremend_wire::pcap::{Packet, Writer};
use wiremend_wire::{
    AethRepr, BthRepr, Ecn, EthernetRepr, Extension, IpRepr, Ipv4Repr, MacAddr, NakCode, Opcode, Pause,
    PauseFrame, Quanta, RoceFrame, Syndrome, TrafficClass, Trailer, Vlans,
};

use crate::program::{Ended, command, ended, wiremend};

#[test]
fn every_frame_of_a_captured_run_is_decoded() {
    let directory = tempdir().unwrap();
    let path = captured(&directory);
    let ended = decode(&path, &[]);
    let count = ended.stderr.clone();
    let text = ended.ok();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() > 10, "{text}");
    for line in &lines {
        assert!(line.contains("  QP 0x") && line.contains("  ICRC good"), "{line}");
        let forward = line.contains(" ns  h0>tor  10.0.0.1 → 10.0.0.2  ");
        assert!(forward || line.contains(" ns  tor>h0  10.0.0.2 → 10.0.0.1  "), "{line}");
    }
    assert!(lines[0].trim_start().starts_with("1             0 ns  "), "{}", lines[0]);
    let among = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    // The data packet and the NAK for it.
    assert_eq!(among("\"corrupted on this link; shown as sent\""), 2, "{text}");
    assert!(among("  AETH NAK (PSN sequence error) MSN 0  ") > 0, "{text}");
    assert!(among("  AETH ACK MSN 1  ") > 0 && among("  AckReq  ") > 0 && among("WRITE first") > 0, "{text}");
    assert!(among("  RETH ") > 0, "{text}");
    let expected =
        format!(": {n} frames: {n} RoCEv2, 0 other, 0 malformed; 0 with a bad ICRC\n", n = lines.len());
    assert!(count.starts_with("wiremend: ") && count.ends_with(&expected), "{count}");
}

#[test]
fn json_has_an_object_a_line_that_agrees_with_the_text() {
    let directory = tempdir().unwrap();
    let path = captured(&directory);
    let text = decode(&path, &[]).ok();
    let json = decode(&path, &["--json"]).ok();
    assert_eq!(json.lines().count(), text.lines().count());
    for (object, line) in json.lines().zip(text.lines()) {
        let object: Value = serde_json::from_str(object).unwrap();
        assert_eq!((&object["kind"], &object["icrc"]), (&"rocev2".into(), &"good".into()), "{object}");
        assert!(line.contains(&format!("  PSN {}  ", object["psn"])), "{object} {line}");
        assert!(line.contains(&format!(" {} ns  ", object["time_ns"])), "{object} {line}");
        assert!(line.contains(object["operation"].as_str().unwrap()), "{object} {line}");
        assert_eq!(object["aeth"].is_null(), !line.contains("AETH"), "{object} {line}");
        assert_eq!(object["comment"].is_string(), line.ends_with('"'), "{object} {line}");
    }
}

#[test]
fn a_limit_stops_before_what_is_behind_it() {
    let directory = tempdir().unwrap();
    let path = captured(&directory);
    let whole = decode(&path, &[]).ok();
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let ended = decode(&path, &["--limit", "3"]);
    assert!(ended.stderr.contains(": 3 frames: 3 RoCEv2, "), "{}", ended.stderr);
    let three: Vec<_> = whole.lines().take(3).collect();
    assert_eq!(ended.ok().lines().collect::<Vec<_>>(), three);
    wiremend(&["capture", "decode", "x", "--limit", "0"]).refused(2);
}

#[test]
fn a_flipped_bit_of_the_payload_is_a_bad_icrc() {
    let mut frame = send_only();
    let at = frame.len() - 10;
    frame[at] ^= 0x10;
    let (text, count) = decoded(&classic(false, &[(60, &frame)]));
    assert!(text.contains("  SEND only     QP 0x000011  "), "{text}");
    assert!(text.contains("  payload 60  ICRC bad\n"), "{text}");
    assert!(count.ends_with(": 1 frame: 1 RoCEv2, 0 other, 0 malformed; 1 with a bad ICRC\n"), "{count}");
}

/// The pcap format in either byte order, without interface names and with timestamps that may decrease.
#[test]
fn a_big_endian_pcap_reads_as_a_little_endian_one() {
    let (frame, nak) = (send_only(), nak());
    let packets = [(5, frame.as_slice()), (1_000_005, &nak), (3, &frame)];
    let (text, count) = decoded(&classic(true, &packets));
    assert_eq!(decoded(&classic(false, &packets)), (text.clone(), count));
    let lines: Vec<_> = text.lines().map(str::trim_start).collect();
    let first = "1             0 ns  #0  10.0.0.1 → 10.0.0.2  SEND only     QP 0x000011  PSN 7  AckReq  port 49152  \
         DSCP 26  ECT(0)  payload 60  ICRC good";
    assert_eq!(lines[0], first);
    let second = "2    1000000000 ns  #0  10.0.0.1 → 10.0.0.2  NAK           QP 0x000011  PSN 7  \
                  AETH NAK (remote access error) MSN 4  port 49152  DSCP 26  ECT(0)  payload 0  ICRC good";
    assert_eq!(lines[1], second);
    assert!(lines[2].starts_with("3         -2000 ns  "), "{text}");
}

#[test]
fn frames_that_are_not_roce_say_what_they_are() {
    let mut arp = vec![0xFF; 60];
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    let mut classes = [None; 8];
    classes[3] = Some(Quanta::MAX);
    let pause = PauseFrame { source: MacAddr::local(7), pause: Pause::Classes(classes) };
    let mut pfc = vec![0; pause.buffer_len(Trailer::None)];
    pause.emit(Trailer::None, &mut pfc);
    let good = send_only();
    let changed = |at: usize, byte: u8| {
        let mut frame = good.clone();
        frame[at] = byte;
        frame
    };
    let mut tcp = changed(23, 6);
    // The checksum of the IP header follows the change of the protocol from 17 to 6.
    let checksum = u16::from_be_bytes([tcp[24], tcp[25]]) + 11;
    tcp[24..26].copy_from_slice(&checksum.to_be_bytes());
    let checks: [(&[u8], &str); 8] = [
        (&arp, "ff:ff:ff:ff:ff:ff → ff:ff:ff:ff:ff:ff  other: ARP\n"),
        (&pfc, "02:00:00:00:00:07 → 01:80:c2:00:00:01  other: PFC pause, class 3: 65535 quanta\n"),
        (&tcp, "10.0.0.1 → 10.0.0.2  other: TCP\n"),
        (&changed(37, 9), "10.0.0.1 → 10.0.0.2  other: UDP to port 4617\n"),
        (&changed(42, 0x4A), "malformed: unknown opcode 0x4a\n"),
        (&changed(24, 0), "malformed: wrong IPv4 header checksum\n"),
        (&good[..9], "malformed: a runt of 9 bytes: truncated in the Ethernet header\n"),
        (&[], "malformed: a runt of 0 bytes: "),
    ];
    for (frame, expected) in checks {
        let (text, count) = decoded(&classic(false, &[(0, frame), (0, &good)]));
        assert!(text.contains(expected), "{expected}: {text}");
        assert!(text.ends_with("ICRC good\n") && text.lines().count() == 2, "{expected}: {text}");
        let kinds = if expected.contains("other") { "1 other, 0 malformed" } else { "0 other, 1 malformed" };
        assert!(count.contains(&format!(": 2 frames: 1 RoCEv2, {kinds}; 0 with")), "{expected}: {count}");
    }
}

#[test]
fn cut_frames_say_so_and_comments_stay_in_their_line() {
    let frame = send_only();
    let mut writer = Writer::new(Vec::new(), "a test").unwrap();
    let interface = writer.add_interface("link\u{1b}[2J").unwrap();
    for (len, comment) in [(70, None), (40, Some("two\nlines"))] {
        let (original_len, bytes) = (frame.len() as u32, &frame[..len]);
        writer.write(&Packet { interface, time_ns: 9, original_len, bytes, comment }).unwrap();
    }
    let (text, count) = decoded(&writer.into_inner());
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(
        lines[0].contains("  payload 60  ICRC unchecked (truncated)  captured 70 of 118 bytes"),
        "{text}"
    );
    assert!(lines[1].contains("other: truncated within the UDP header  captured 40 of"), "{text}");
    assert!(lines[1].ends_with("  \"two\\nlines\"") && !text.contains('\u{1b}'), "{text}");
    assert!(count.contains(": 2 frames: 1 RoCEv2, 1 other, 0 malformed; 0 with"), "{count}");
}

#[test]
fn other_files_are_refused() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("x.pcapng");
    let noise: Vec<u8> = (0..4096_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8 | 1).collect();
    let mut long_block = Writer::new(Vec::new(), "a test").unwrap().into_inner();
    let at = long_block.len();
    long_block.extend([6, 0, 0, 0, 0, 0, 0, 0x10]);
    for (bytes, expected) in [
        (noise.as_slice(), "at byte 0: [01, ".to_owned()),
        (&[], "at byte 0: the file is empty".to_owned()),
        (b"\n\r", "at byte 2: the file is truncated in the file header".to_owned()),
        (&long_block, format!("at byte {at}: block of 268435456 bytes; at most 1048576")),
    ] {
        fs::write(&path, bytes).unwrap();
        let line = decode(&path, &[]).refused(2);
        let start = format!("wiremend: {}: {expected}", path.display());
        assert!(line.starts_with(&start) && line.ends_with("; expected pcap or pcapng\n"), "{line}");
    }
    for missing in [directory.path().join("missing.pcapng"), directory.path().to_owned()] {
        let line = decode(&missing, &[]).refused(2);
        assert!(line.contains(&format!("{}: cannot be read: ", missing.display())), "{line}");
    }
    let line = wiremend(&["capture"]).refused(2);
    assert!(line.contains("needs a command") && line.contains("decode"), "{line}");
}

/// Wherever a file is truncated, the frames before are printed and the error names the offset.
#[test]
fn a_truncated_capture_is_decoded_up_to_the_end() {
    let directory = tempdir().unwrap();
    let path = captured(&directory);
    let whole = decode(&path, &[]).ok();
    let bytes = fs::read(&path).unwrap();
    let blocks = block_ends(&bytes);
    let (mut partial, mut clean) = (0, 0);
    for at in (1..bytes.len()).step_by(97).chain(blocks.iter().copied()) {
        fs::write(&path, &bytes[..at]).unwrap();
        let ended = decode(&path, &[]);
        assert!(whole.starts_with(&ended.stdout), "{at}: {}", ended.stdout);
        assert_eq!(ended.stderr.lines().count(), 1, "{at}: {}", ended.stderr);
        if blocks.contains(&at) {
            assert_eq!(ended.code, Some(0), "{at}: {}", ended.stderr);
            clean += 1;
            continue;
        }
        assert_eq!(ended.code, Some(2), "{at}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(&format!(": at byte {at}: the file is truncated in ")),
            "{}",
            ended.stderr
        );
        let read = ended.stdout.lines().count();
        partial += usize::from(read > 0);
        let after = format!(", after {read} frame");
        assert_eq!(ended.stderr.contains(&after), read > 0, "{at}: {}", ended.stderr);
    }
    assert!(partial > 20 && clean > 10, "{partial} {clean}");
}

#[test]
fn a_reader_may_close_the_pipe_early() {
    let directory = tempdir().unwrap();
    let frame = send_only();
    let packets = vec![(0, frame.as_slice()); 20_000];
    let path = directory.path().join("long.pcap");
    fs::write(&path, classic(false, &packets)).unwrap();
    let mut child = command()
        .args(["capture", "decode"])
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ended = ended(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

#[test]
fn stdin_is_a_capture_like_any_other() {
    let directory = tempdir().unwrap();
    let path = captured(&directory);
    let mut decode_stdin = command();
    decode_stdin.args(["capture", "decode", "-"]).stdin(fs::File::open(&path).unwrap());
    let from_stdin = ended(decode_stdin.output().unwrap());
    assert!(from_stdin.stderr.starts_with("wiremend: stdin: "), "{}", from_stdin.stderr);
    assert_eq!(from_stdin.ok(), decode(&path, &[]).ok());
    let line = wiremend(&["capture", "decode", "-"]).refused(2);
    assert!(line.starts_with("wiremend: stdin: at byte 0: the file is empty"), "{line}");
}

/// A run in which a packet and the NAK for it are corrupted.
fn captured(directory: &TempDir) -> PathBuf {
    let path = directory.path().join("nak.pcapng");
    wiremend(&["run", "nak", "--capture", &format!("h0-tor={}", path.display()), "--json"]).ok();
    path
}

fn decode(path: &Path, options: &[&str]) -> Ended {
    let path = path.to_str().unwrap();
    wiremend(&[&["capture", "decode", path], options].concat())
}

/// Returns the output for these bytes, and the summary.
fn decoded(bytes: &[u8]) -> (String, String) {
    let directory = tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, bytes).unwrap();
    let ended = decode(&path, &[]);
    let count = ended.stderr.replace(path.to_str().unwrap(), "file");
    (ended.ok(), count)
}

/// A SEND of 60 bytes.
fn send_only() -> Vec<u8> {
    let bth = BthRepr { ack_request: true, ..bth(Opcode::SendOnly) };
    roce(bth, Extension::Bare, &[0xA5; 60])
}

fn nak() -> Vec<u8> {
    let aeth = AethRepr { syndrome: Syndrome::Nak(NakCode::RemoteAccess), msn: 4 };
    roce(bth(Opcode::Acknowledge), Extension::Aeth(aeth), &[])
}

fn bth(opcode: Opcode) -> BthRepr {
    BthRepr::new(opcode, QpNum::new(0x11), Psn::new(7))
}

fn roce(bth: BthRepr, extension: Extension, payload: &[u8]) -> Vec<u8> {
    let ip = Ipv4Repr {
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 2].into(),
        class: TrafficClass { dscp: 26, ecn: Ecn::Ect0 },
        identification: 1,
        dont_fragment: true,
        ttl: 64,
    };
    let ethernet =
        EthernetRepr { destination: MacAddr::local(2), source: MacAddr::local(1), vlans: Vlans::Untagged };
    let frame = RoceFrame { ethernet, ip: IpRepr::V4(ip), source_port: 0xC000, bth, extension, payload };
    frame.to_bytes(Trailer::None)
}

/// A pcap file of packets with their times in microseconds.
fn classic(big_endian: bool, packets: &[(u32, &[u8])]) -> Vec<u8> {
    let word = |word: u32| if big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
    let version = if big_endian { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
    let mut file = [word(0xA1B2_C3D4), version, word(0), word(0), word(65_535), word(1)].concat();
    for (time_us, bytes) in packets {
        let len = word(bytes.len() as u32);
        file.extend([word(time_us / 1_000_000), word(time_us % 1_000_000), len, len].concat());
        file.extend(*bytes);
    }
    file
}

/// Returns the ends of the blocks of a little-endian pcapng file.
fn block_ends(file: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    while at < file.len() {
        at += u32::from_le_bytes(file[at + 4..at + 8].try_into().unwrap()) as usize;
        ends.push(at);
    }
    ends
}
