//! Captured frames, checked by tshark and by an ICRC computed bit by bit from the specification.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::{TempDir, tempdir};

use wiremend_proto::fec::codec::Codec;
use wiremend_wire::fec::{self, FecFrame, FecHeader};

use crate::program::{assert_has, files, wiremend, wiremend_with};

/// Messages whose length is no multiple of four, in both directions, with losses, retransmissions and open-loop frames.
const SCENARIO: &str = "\
title = \"a little of everything\"
[topology]
kind = \"pair\"
[transport]
timeout = 2
class = 3
first_psn = 16777210
[[workload]]
kind = \"flows\"
pattern = \"point-to-point\"
bytes = \"10001B\"
count = 3
[[workload]]
kind = \"flows\"
pattern = \"point-to-point\"
src = \"h1\"
dst = \"h0\"
bytes = \"0B\"
[[workload]]
kind = \"cbr\"
rate = \"1Gbps\"
frame = 200
[stop]
after = \"500us\"
[[impair]]
kind = \"frames\"
links = \"h0-tor\"
rate = \"0.1\"
";

fn capture(directory: &TempDir, operation: &str) -> PathBuf {
    let path = directory.path().join(format!("{operation}.pcapng"));
    let capture = format!("h0-tor={}", path.display());
    let operation = format!("transport.operation={operation}");
    wiremend_with(SCENARIO, &["run", "-", "--set", &operation, "--capture", &capture, "--json"]).ok();
    path
}

#[test]
fn tshark_finds_nothing_wrong_with_a_captured_run() {
    if !has_tshark() {
        return;
    }
    let directory = tempdir().unwrap();
    for (operation, opcodes) in [
        ("write", ["6", "7", "8", "17"]),
        ("send", ["0", "1", "2", "17"]),
        ("read", ["12", "13", "14", "15"]),
    ] {
        let lines = dissect(&capture(&directory, operation));
        assert!(lines.len() > 40, "{operation}: {} frames", lines.len());
        let mut seen = Vec::new();
        for line in &lines {
            let [protocols, malformed, expert, opcode, port, _, _, _, _, comment, ..] = fields(line);
            // What we noted ourselves is all that there is to remark.
            assert_eq!((malformed, expert), ("", comment), "{line}");
            if port == "9" {
                assert_eq!(protocols, "eth:ethertype:ip:udp:data", "{line}");
            } else {
                assert!(protocols.starts_with("eth:ethertype:ip:udp:infiniband"), "{line}");
                seen.push(opcode.to_owned());
            }
        }
        for opcode in opcodes {
            assert!(seen.iter().any(|one| one == opcode), "{operation} without {opcode}: {seen:?}");
        }
    }
}

#[test]
fn tshark_reads_addresses_times_and_comments() {
    if !has_tshark() {
        return;
    }
    let directory = tempdir().unwrap();
    let path = directory.path().join("nak.pcapng");
    wiremend(&["run", "nak", "--capture", &format!("h0-tor={}", path.display()), "--json"]).ok();
    let lines = dissect(&path);
    let mut last = 0.0;
    for line in &lines {
        let [_, _, _, _, _, time, source, destination, name, _, mac, ..] = fields(line);
        let time: f64 = time.parse().unwrap();
        assert!(time >= last, "frames are in order");
        last = time;
        let forward = ("10.0.0.1", "10.0.0.2", "h0>tor", "02:00:00:00:00:01");
        let backward = ("10.0.0.2", "10.0.0.1", "tor>h0", "02:00:00:00:00:02");
        assert!([forward, backward].contains(&(source, destination, name, mac)), "{line}");
    }
    let corrupted: Vec<_> = lines.iter().filter(|line| fields(line)[9].contains("corrupted")).collect();
    assert_eq!(corrupted.len(), 2, "the packet and the NAK");
}

/// The ICRC of `RoCEv2` (IBA A17.3) from the bytes of the file, by the definition of the CRC.
#[test]
fn the_icrc_of_every_frame_is_right() {
    let directory = tempdir().unwrap();
    let mut checked = 0;
    for operation in ["write", "send", "read"] {
        for frame in frames(&fs::read(capture(&directory, operation)).unwrap()) {
            let (ip, udp) = (&frame[14..34], &frame[34..42]);
            if udp[2..4] != 4791_u16.to_be_bytes() {
                continue;
            }
            let end = 14 + usize::from(u16::from_be_bytes([ip[2], ip[3]]));
            let mut covered = vec![0xff; 8];
            covered.extend(&frame[14..end - 4]);
            // Type of service, time to live and checksum of IP, checksum of UDP, and the marks of the BTH change on
            // the way.
            for changing in [1, 8, 10, 11, 26, 27, 32] {
                covered[8 + changing] = 0xff;
            }
            assert_eq!(frame[end - 4..end], bitwise_crc32(&covered).to_le_bytes());
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn payload_is_a_pattern_that_a_retransmission_repeats() {
    let directory = tempdir().unwrap();
    let bytes = fs::read(capture(&directory, "send")).unwrap();
    let mut full = 0;
    for frame in frames(&bytes).filter(|frame| frame[36..38] == 4791_u16.to_be_bytes() && frame[42] == 1) {
        let psn = u32::from_be_bytes([0, frame[51], frame[52], frame[53]]);
        let payload = &frame[54..54 + 1024];
        assert!((0..).zip(payload).all(|(i, byte)| *byte == (psn + i) as u8), "{payload:?}");
        full += 1;
    }
    assert!(full > 20, "{full}");
}

/// Each frame of a block can be restored from the others and the parities in the file.
#[test]
fn parities_restore_the_frames_before_them() {
    let directory = tempdir().unwrap();
    for (by, parities) in [("fec(5,1)", 1), ("fec(5,3)", 3)] {
        let path = directory.path().join("coded.pcapng");
        let capture = format!("s0-s1={}", path.display());
        let scenario = SCENARIO
            .replace("\"pair\"", "\"chain\"\nswitches = 2\nhosts_per_end = 1")
            .replace("h0-tor", "s0-s1")
            + &format!("[[protect]]\nlinks = \"s0-s1\"\nby = \"{by}\"\ndirection = \"forward\"\n");
        wiremend_with(&scenario, &["run", "-", "--capture", &capture, "--json"]).ok();
        let (mut block, mut came, mut restored) = (Vec::new(), Vec::new(), 0);
        for mut frame in
            frames(&fs::read(&path).unwrap()).filter(|frame| fec::recognises(frame)).map(<[u8]>::to_vec)
        {
            if let FecHeader::Parity { data_count, .. } = FecFrame::parse(&frame).unwrap().header {
                assert_eq!(usize::from(data_count), block.len());
                came.push(FecFrame::parse(&frame).unwrap().carried.to_vec());
                if came.len() == parities {
                    restored += restore_each(&block, &came);
                    block.clear();
                    came.clear();
                }
            } else {
                let (_, start) = FecHeader::decapsulate(&mut frame, 0).unwrap();
                block.push(frame[start..].to_vec());
            }
        }
        assert!(restored > 20, "{by}: {restored}");
        let decoded = wiremend(&["capture", "decode", &path.display().to_string()]).ok();
        assert!(decoded.contains("[FEC data, block "), "{decoded}");
        assert!(decoded.contains(&format!("other: FEC parity 1 of {parities}, block ")), "{decoded}");
        assert!(!decoded.contains("malformed"), "{decoded}");
    }
}

fn restore_each(block: &[Vec<u8>], parities: &[Vec<u8>]) -> usize {
    let parities: Vec<_> = parities.iter().map(|parity| Some(parity.as_slice())).collect();
    for (place, lost) in block.iter().enumerate() {
        let came: Vec<_> =
            block.iter().enumerate().map(|(at, frame)| (at != place).then_some(frame.as_slice())).collect();
        let restored = Codec::default().decode(&came, &parities).unwrap();
        assert_eq!(restored, [(place as u8, lost.clone())]);
    }
    block.len()
}

/// A lossless switch pauses a host and resumes it; the PFC frames are captured.
#[test]
fn pfc_frames_are_captured_as_they_are_sent() {
    let scenario = "title = \"incast\"\n[topology]\nkind = \"chain\"\nswitches = 1\nhosts_per_end = 2\n[transport]\nclass = 3\n\
        [[workload]]\nkind = \"flows\"\nbytes = \"1MB\"\npattern = \"incast\"\n\
        [switch.lossless]\nclasses = [3]\nbuffer = \"300kB\"\nquanta = 5000\n";
    let directory = tempdir().unwrap();
    let path = directory.path().join("pfc.pcapng");
    wiremend_with(scenario, &["run", "-", "--capture", &format!("h1-s0={}", path.display()), "--json"]).ok();
    let decoded = wiremend(&["capture", "decode", &path.display().to_string()]).ok();
    assert_has(&decoded, "other: PFC pause, class 3: 5000 quanta | other: PFC pause, class 3: 0 quanta");
    assert!(!decoded.contains("malformed"), "{decoded}");
    let head = [0x01, 0x80, 0xC2, 0, 0, 1, 6, 0, 0, 0, 0, 2, 0x88, 0x08, 0x01, 0x01, 0x00, 0x08];
    let bytes = fs::read(&path).unwrap();
    let pauses = frames(&bytes).filter(|frame| frame.starts_with(&head));
    assert!(pauses.inspect(|frame| assert_eq!(frame.len(), 60)).count() > 4);
}

#[test]
fn several_variants_have_a_capture_each() {
    let directory = tempdir().unwrap();
    let capture = format!("h1-tor={}", directory.path().join("link.pcapng").display());
    let variants = ["--variant", "go-back-n send", "--variant", "go-back-n read"];
    let arguments = [&["run", "livelock", "--set", "stop.after=100us", "--capture", &capture], &variants[..]];
    wiremend(&arguments.concat()).ok();
    assert_eq!(files(directory.path()), ["link-go-back-n_read.pcapng", "link-go-back-n_send.pcapng"]);
}

/// Frames that are still queued before the link when the run ends are not captured.
#[test]
fn a_capture_shows_what_crossed_the_link_in_order() {
    const INCAST: &str = "\
title = \"a queue\"
[topology]
kind = \"chain\"
switches = 1
hosts_per_end = 2
[[workload]]
kind = \"flows\"
pattern = \"incast\"
bytes = \"1MB\"
[stop]
after = \"40us\"
";
    let directory = tempdir().unwrap();
    let path = directory.path().join("link.pcapng");
    wiremend_with(INCAST, &["run", "-", "--capture", &format!("h0-s0={}", path.display())]).ok();
    let text = wiremend(&["capture", "decode", path.to_str().unwrap(), "--json"]).ok();
    let frame = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let times: Vec<_> = text.lines().map(|line| frame(line)["clock_ns"].as_u64().unwrap()).collect();
    assert!(times.len() > 400, "{} frames", times.len());
    assert!(times.is_sorted());
    assert!(*times.last().unwrap() < 40_000, "{:?}", times.last());
}

/// DCP: a trimmed packet is captured as a header, as a returned header, and as a retransmission.
#[test]
fn headers_without_payload_are_captured_on_their_way_there_and_back() {
    const INCAST: &str = "\
title = \"cut\"
[topology]
kind = \"chain\"
switches = 1
hosts_per_end = 4
[switch.trim]
threshold = \"10kB\"
[transport]
recovery = \"dcp\"
[[workload]]
kind = \"flows\"
pattern = \"incast\"
bytes = \"40kB\"
";
    let directory = tempdir().unwrap();
    let path = directory.path().join("link.pcapng");
    wiremend_with(INCAST, &["run", "-", "--capture", &format!("h0-s0={}", path.display())]).ok();
    let text = wiremend(&["capture", "decode", path.to_str().unwrap()]).ok();
    let among = |direction: &str| {
        let cut = |line: &&str| line.contains(direction) && line.contains("  other: header only: WRITE ");
        text.lines().filter(cut).count()
    };
    let (there, back) = (among(" s0>h0 "), among(" h0>s0 "));
    assert!(there > 50 && there == back, "{there} there, {back} back");
    let whole =
        text.lines().filter(|line| line.contains("WRITE middle") && line.contains("ICRC good")).count();
    assert_eq!(whole, 7 * 38, "each comes once, and no more");
    assert!(!text.contains("malformed") && !text.contains("ICRC bad"), "{text}");
}

#[test]
fn captures_that_would_share_a_file_are_refused() {
    const VARIANTS: &str = "\
title = \"two\"
[topology]
kind = \"pair\"
[[workload]]
kind = \"flows\"
pattern = \"point-to-point\"
bytes = \"10KB\"
[[variant]]
name = \"1 MB\"
[[variant]]
name = \"1/MB\"
";
    let directory = tempdir().unwrap();
    let [plain, odd] = ["link.pcapng", "./link.pcapng"].map(|name| directory.path().join(name));
    let [plain, odd] = [plain, odd].map(|path| format!("h0-tor={}", path.display()));
    let line = wiremend_with(VARIANTS, &["run", "-", "--capture", &plain]).refused(2);
    assert!(line.contains("two captures into one file `") && line.contains("link-1_MB.pcapng`"), "{line}");
    let line = wiremend(&["run", "nak", "--capture", &plain, "--capture", &odd]).refused(2);
    assert!(line.contains("two captures into one file `"), "{line}");
    assert_eq!(files(directory.path()), [""; 0]);
}

pub(crate) fn has_tshark() -> bool {
    let is_there =
        Command::new("tshark").arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        assert!(
            std::env::var_os("CI").is_none(),
            "tshark is missing; `cargo xtask test --install` brings it"
        );
        eprintln!("skipped: tshark is missing; `cargo xtask test --install` brings it");
    }
    is_there
}

/// Returns the output of tshark for a file, one line per frame.
fn dissect(path: &Path) -> Vec<String> {
    const NAMES: &str = "frame.protocols _ws.malformed _ws.expert.message infiniband.bth.opcode udp.dstport \
        frame.time_relative ip.src ip.dst frame.interface_name frame.comment eth.src ip.dsfield.dscp";
    let mut command = Command::new("tshark");
    // Every short SEND makes this guess of tshark's stumble, whoever sent it.
    command.args(["--disable-protocol", "rpcordma"]);
    command.arg("-r").arg(path).args(["-n", "-T", "fields"]);
    command.args(NAMES.split(' ').flat_map(|name| ["-e", name]));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn fields(line: &str) -> [&str; 12] {
    let fields: Vec<_> = line.split('\t').take(12).collect();
    fields.try_into().unwrap_or_else(|_| panic!("too few fields: {line}"))
}

/// Returns the frames of a pcapng file: its enhanced packet blocks.
pub(crate) fn frames(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < file.len() {
            let (kind, len, block) = (word(at), word(at + 4), at);
            assert_eq!(word(at + len - 4), len, "a block has its length at both ends");
            at += len;
            if kind == 6 {
                return Some(&file[block + 28..block + 28 + word(block + 20)]);
            }
        }
        None
    })
}

fn bitwise_crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        for bit in 0..8 {
            let is_odd = (crc ^ u32::from(byte >> bit)) & 1 == 1;
            crc = (crc >> 1) ^ if is_odd { 0xEDB8_8320 } else { 0 };
        }
    }
    !crc
}
