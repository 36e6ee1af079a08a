//! The link header in Wireshark: our Lua dissector compared with our own parser, frame by frame.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::tempdir;
use wiremend_wire::link::{Ack, Hello, HelloKind, Hole, LinkCodec, LinkHeader, Missing, Seal};
use wiremend_wire::pcap::{Packet, Writer};
use wiremend_wire::{MacAddr, RoceFrame, Trailer};

use crate::captures::{frames, has_tshark};
use crate::program::wiremend_with;

/// Traffic and losses in both directions, so that every kind of header appears; at the end protection stops.
const SCENARIO: &str = "\
title = \"a protected link\"
seed = 3
[topology]
kind = \"chain\"
switches = 2
hosts_per_end = 1
[[workload]]
kind = \"flows\"
pattern = \"point-to-point\"
bytes = \"30001B\"
count = 3
[[workload]]
kind = \"flows\"
pattern = \"point-to-point\"
src = \"h1\"
dst = \"h0\"
bytes = \"20KB\"
[[workload]]
kind = \"cbr\"
rate = \"1Gbps\"
frame = 200
[stop]
after = \"400us\"
[[impair]]
kind = \"frames\"
links = \"s0-s1\"
rate = \"0.05\"
[[protect]]
links = \"s0-s1\"
by = \"linkguardian\"
stop = \"300us\"
";

/// The fields that tshark prints for each frame, in this order.
const FIELDS: [&str; 20] = [
    "wiremend.version",
    "wiremend.kind",
    "wiremend.has_ack",
    "wiremend.retransmitted",
    "wiremend.ordered",
    "wiremend.epoch",
    "wiremend.seq",
    "wiremend.next",
    "wiremend.upto",
    "wiremend.ack.epoch",
    "wiremend.ack.pause",
    "wiremend.ack.next",
    "wiremend.hole.count",
    "wiremend.hole.first",
    "wiremend.hole.len",
    "wiremend.hello.kind",
    "wiremend.hello.epoch",
    "wiremend.hello.stamp",
    "wiremend.hello.next",
    "wiremend.hello.rtt",
];

#[test]
fn every_header_of_a_run_reads_in_wireshark_as_it_does_here() {
    if !has_tshark() {
        return;
    }
    let directory = tempdir().unwrap();
    let path = directory.path().join("link.pcapng");
    wiremend_with(SCENARIO, &["run", "-", "--capture", &format!("s0-s1={}", path.display()), "--json"]).ok();
    let file = fs::read(&path).unwrap();
    let dissected = dissect(&path);
    assert_eq!(dissected.len(), frames(&file).count());
    let mut seen = [0; 5];
    for (frame, found) in frames(&file).zip(&dissected) {
        let received =
            LinkCodec::default().recognises(frame).then(|| LinkCodec::default().parse(frame).unwrap());
        let signal = received.as_ref().map(|received| received.header);
        assert_eq!(found.header, expected(signal.as_ref()), "{signal:?}");
        assert_eq!(found.malformed, "", "{signal:?}");
        if let Some(signal) = signal {
            seen[kind(&signal)] += 1;
        }
        // What is carried is dissected as if the header were not there.
        let carried = received.map_or(frame.to_vec(), |r| [&r.addresses[..], r.carried].concat());
        let psn =
            RoceFrame::parse(&carried).map_or(String::new(), |roce| roce.frame.bth.psn.get().to_string());
        assert_eq!(found.psn, psn, "{signal:?}");
        assert_eq!(found.protocols.contains(":infiniband"), !psn.is_empty(), "{}", found.protocols);
    }
    let [data, dummies, _, missing, hellos] = seen;
    assert!(data > 300 && dummies > 100 && missing > 50 && hellos >= 8, "{seen:?}");
    assert!(dissected.iter().any(|found| found.protocols.contains("wiremend:ip:udp:infiniband")));
}

/// Every kind of header, intact and with each byte damaged: the dissector refuses what the parser refuses, and otherwise agrees.
#[test]
fn damaged_headers_are_refused_in_wireshark_where_they_are_here() {
    if !has_tshark() {
        return;
    }
    let mut tried = Vec::new();
    for frame in samples() {
        for at in (0..6).chain(14..frame.len().min(46)) {
            for flip in [0x01, 0x04, 0x08, 0x10, 0x40, 0x80] {
                let mut damaged = frame.clone();
                damaged[at] ^= flip;
                tried.push(damaged);
            }
        }
        tried.extend((14..frame.len()).map(|len| frame[..len].to_vec()));
        tried.push(frame);
    }
    let directory = tempdir().unwrap();
    let path = directory.path().join("damaged.pcapng");
    fs::write(&path, capture(&tried)).unwrap();
    let dissected = dissect(&path);
    assert_eq!(dissected.len(), tried.len());
    let mut refused = 0;
    for (frame, found) in tried.iter().zip(&dissected) {
        match LinkCodec::default().parse(frame) {
            Ok(received) => {
                assert_eq!(found.malformed, "", "{received:?}");
                let mut header = expected(Some(&received.header));
                // A hello may have an ACK word, which is stepped over.
                header[2] = (frame[14] >> 2 & 1).to_string();
                assert_eq!(found.header, header, "{frame:02x?}");
            }
            Err(why) => {
                assert_ne!(found.malformed, "", "{why}: {frame:02x?}");
                refused += 1;
            }
        }
    }
    assert!(refused > 200 && tried.len() - refused > 200, "{refused} of {}", tried.len());
}

/// A VLAN tag, a length instead of an `EtherType`, and an unknown `EtherType`: any frame may follow a link header.
#[test]
fn whatever_is_carried_is_dissected_behind_its_header() {
    if !has_tshark() {
        return;
    }
    let tagged = [&[0x81, 0x00, 0x60, 0x05, 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1][..], &[0; 20]].concat();
    let bpdu = [&[0x00, 0x07, 0x42, 0x42, 0x03, 0, 0, 0, 0x80][..], &[0; 37]].concat();
    let unknown = [&[0x12, 0x34][..], &[7; 44]].concat();
    let carried = [tagged, bpdu, unknown].map(|carried| encapsulated(&carried));
    let directory = tempdir().unwrap();
    let path = directory.path().join("carried.pcapng");
    fs::write(&path, capture(&carried)).unwrap();
    let protocols: Vec<_> = dissect(&path).into_iter().map(|found| found.protocols).collect();
    assert_eq!(
        protocols,
        [
            "eth:ethertype:wiremend:vlan:ethertype:arp",
            "eth:ethertype:wiremend:llc:stp",
            "eth:ethertype:wiremend:data"
        ]
    );
}

#[test]
fn seal_is_dissected_behind_a_control_frame() {
    if !has_tshark() {
        return;
    }
    let mut frame = [0; Seal::FRAME_BYTES];
    let header = LinkHeader::Ack(Ack { epoch: 1, next: 2, pause: false });
    let len = LinkCodec::default().control_len(Trailer::None);
    LinkCodec::default().emit_control(&header, MacAddr::local(3), Trailer::None, &mut frame[..len]);
    let unsealed = frame[..len].to_vec();
    Seal::emit(&mut frame, 0x0123_4567_89AB_CDEF, 77, |_| [0xAB; 16]);
    let directory = tempdir().unwrap();
    let path = directory.path().join("sealed.pcapng");
    fs::write(&path, capture(&[frame.to_vec(), unsealed])).unwrap();
    let fields = ["-e", "wiremend.seal.counter", "-e", "wiremend.seal.echo", "-e", "wiremend.seal.tag"];
    let output = tshark(&path).args(fields).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap().replace(':', "");
    assert_eq!(text, format!("81985529216486895\t77\t{}\n\t\t\n", "ab".repeat(16)));
}

/// The output of tshark for a frame.
struct Dissected {
    header: Vec<String>,
    /// Why the header is refused; empty if it is not.
    malformed: String,
    protocols: String,
    psn: String,
}

/// Returns a call of tshark that prints fields of a capture.
fn tshark(path: &Path) -> Command {
    let script: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "..", "..", "docs", "reference", "wiremend-link.lua"].iter().collect();
    let mut command = Command::new("tshark");
    command.arg("-X").arg(format!("lua_script:{}", script.display()));
    command.arg("-r").arg(path).args(["-n", "-T", "fields", "-E", "occurrence=a", "-E", "aggregator=,"]);
    command
}

fn dissect(path: &Path) -> Vec<Dissected> {
    let mut command = tshark(path);
    // A note of the file's and one of another protocol have the same field as ours.
    let others = ["wiremend.malformed", "frame.protocols", "infiniband.bth.psn"];
    command.args(FIELDS.iter().chain(&others).flat_map(|name| ["-e", name]));
    let output = command.output().unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !complaints.contains("Lua"), "{complaints}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(Dissected::parse).collect()
}

impl Dissected {
    fn parse(line: &str) -> Self {
        // Later versions of tshark write flags as words.
        let mut fields = line.split('\t').map(|field| field.replace("True", "1").replace("False", "0"));
        let header = fields.by_ref().take(FIELDS.len()).collect();
        let mut next = || fields.next().unwrap_or_default();
        Self { header, malformed: next(), protocols: next(), psn: next() }
    }
}

/// The expected output of tshark for a header, from our own parser; `None` without a header.
fn expected(signal: Option<&LinkHeader>) -> Vec<String> {
    let mut fields = [const { String::new() }; FIELDS.len()];
    let mut set = |name: &str, value: String| {
        let at = FIELDS.iter().position(|field| field.strip_prefix("wiremend.") == Some(name)).unwrap();
        fields[at] = value;
    };
    let Some(signal) = signal else { return fields.to_vec() };
    let bit = |flag: bool| u8::from(flag).to_string();
    set("version", "1".to_owned());
    set("kind", kind(signal).to_string());
    set("has_ack", bit(signal.ack().is_some()));
    if let Some(Ack { epoch, next, pause }) = signal.ack() {
        set("ack.epoch", epoch.to_string());
        set("ack.pause", bit(pause));
        set("ack.next", next.to_string());
    }
    match *signal {
        LinkHeader::Data { epoch, seq, ordered, retransmitted, .. } => {
            set("epoch", epoch.to_string());
            set("seq", seq.to_string());
            set("ordered", bit(ordered));
            set("retransmitted", bit(retransmitted));
        }
        LinkHeader::Dummy { epoch, next, .. } | LinkHeader::Unprotected { epoch, next, .. } => {
            set("epoch", epoch.to_string());
            set("next", next.to_string());
        }
        LinkHeader::Ack(_) => {}
        LinkHeader::Missing(Missing { upto, holes, hole_count, .. }) => {
            let listed = |what: fn(&Hole) -> String| {
                holes[..usize::from(hole_count)].iter().map(what).collect::<Vec<_>>().join(",")
            };
            set("upto", upto.to_string());
            set("hole.count", hole_count.to_string());
            set("hole.first", listed(|hole| hole.first.to_string()));
            set("hole.len", listed(|hole| hole.len.to_string()));
        }
        LinkHeader::Hello(Hello { kind, epoch, stamp_ns, rtt_ns }) => {
            let stamp = if kind == HelloKind::Close { "hello.next" } else { "hello.stamp" };
            set("hello.kind", (HELLOS.iter().position(|one| *one == kind).unwrap() + 1).to_string());
            set("hello.epoch", epoch.to_string());
            set(stamp, stamp_ns.to_string());
            set("hello.rtt", rtt_ns.to_string());
        }
    }
    fields.to_vec()
}

fn kind(signal: &LinkHeader) -> usize {
    match signal {
        LinkHeader::Data { .. } => 0,
        LinkHeader::Dummy { .. } => 1,
        LinkHeader::Ack(_) => 2,
        LinkHeader::Missing(_) => 3,
        LinkHeader::Hello(_) => 4,
        LinkHeader::Unprotected { .. } => 5,
    }
}

const HELLOS: [HelloKind; 7] = [
    HelloKind::Open,
    HelloKind::Accept,
    HelloKind::Close,
    HelloKind::Closed,
    HelloKind::Unknown,
    HelloKind::Leave,
    HelloKind::Challenge,
];

/// A frame of every kind, with numbers that wrap.
fn samples() -> Vec<Vec<u8>> {
    let ack = Ack { epoch: 9, next: 0xF_FFF0, pause: true };
    let mut holes = [Hole::default(); Missing::HOLES_MAX];
    for (place, hole) in (0..).zip(&mut holes) {
        *hole = Hole { first: (0xF_FFF0 + place * 7) & 0xF_FFFF, len: 2 + place as u16 };
    }
    let hello =
        |kind| LinkHeader::Hello(Hello { kind, epoch: 0x8000_0001, stamp_ns: u32::MAX, rtt_ns: 2013 });
    let mut own = vec![
        LinkHeader::Dummy { epoch: 15, next: 0, ack: None },
        LinkHeader::Dummy { epoch: 1, next: 7, ack: Some(ack) },
        LinkHeader::Ack(ack),
        LinkHeader::Missing(Missing { ack, upto: 40, holes, hole_count: 6 }),
        LinkHeader::Missing(Missing { ack, upto: 0xF_FFFF, holes, hole_count: 1 }),
    ];
    own.extend(HELLOS.map(hello));
    let mut frames: Vec<_> = own
        .iter()
        .map(|signal| {
            let mut frame = vec![0; LinkCodec::default().control_len(Trailer::None)];
            LinkCodec::default().emit_control(signal, MacAddr::local(3), Trailer::None, &mut frame);
            frame
        })
        .collect();
    let carried = [&[0x12, 0x34][..], &[0; 20]].concat();
    frames.push(encapsulated(&carried));
    frames.push(behind(&LinkHeader::Unprotected { epoch: 7, next: 0x8_0001, ack: None }, &carried));
    frames
}

/// Returns a frame with a data header and these bytes after the addresses.
fn encapsulated(carried: &[u8]) -> Vec<u8> {
    let ack = Some(Ack { epoch: 2, next: 5, pause: false });
    behind(&LinkHeader::Data { epoch: 3, seq: 0xF_FFFF, ordered: true, retransmitted: true, ack }, carried)
}

fn behind(signal: &LinkHeader, carried: &[u8]) -> Vec<u8> {
    let addresses = [MacAddr::local(1).0, MacAddr::local(2).0].concat();
    let room = signal.added_len() as usize;
    let mut buffer = [&vec![0; room], &addresses, carried].concat();
    assert_eq!(LinkCodec::default().encapsulate(signal, &mut buffer, room), Ok(0));
    buffer
}

fn capture(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), "a test").unwrap();
    let interface = writer.add_interface("link").unwrap();
    for bytes in frames {
        let original_len = bytes.len() as u32;
        writer.write(&Packet { interface, time_ns: 0, original_len, bytes, comment: None }).unwrap();
    }
    writer.into_inner()
}
