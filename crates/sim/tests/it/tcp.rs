//! TCP in the simulator: beside RDMA, over corrupting and over protected links.

use crate::common::{capture_with, run, run_with, series};
use wiremend_measure::{FlowOutcome, FlowRow, Metric, SeriesRow};
use wiremend_sim::Options;
use wiremend_units::LinkId;

/// Two hosts at each end of a link of 10 Gb/s, one stream from `h0` to `h2` for 20 ms.
fn stream(tcp: &str, more: &str) -> String {
    format!(
        "title = \"t\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = 2\nrate = \"10Gbps\"\nhost_rate = \"25Gbps\"\n\
         delay = \"1us\"\nbuffer = \"500kB\"\n[transport]\nwindow = \"unlimited\"\nprotocol = \"tcp\"\nqp = \"per-pair\"\n[transport.tcp]\n\
         rto_min = \"5ms\"\n{tcp}\n[[workload]]\nkind = \"stream\"\nmessage = \"100kB\"\ndepth = 40\nsrc = \"h0\"\ndst = \"h2\"\n\
         [stop]\nafter = \"20ms\"\n{more}"
    )
}

const LOSS: &str =
    "[[impair]]\nkind = \"frames\"\nlinks = \"s0-s1\"\nrate = \"1/100\"\ndirection = \"forward\"\n";
const PROTECT: &str = "[[protect]]\nlinks = \"s0-s1\"\nby = \"linkguardian\"\n";

/// Returns the delivered rate in Gb/s over the 20 ms.
fn goodput(rows: &[FlowRow]) -> f64 {
    let delivered = rows.iter().filter(|row| row.outcome == FlowOutcome::Finished).map(|row| row.bytes);
    delivered.sum::<u64>() as f64 * 8.0 / 20e-3 / 1e9
}

/// 1448 of 1538 bytes on the wire are payload: 9.41 Gb/s of 10.
#[test]
fn every_algorithm_fills_a_clean_link() {
    for algorithm in ["cubic", "reno", "bbr"] {
        let (_, rows) = run(&stream(&format!("congestion = \"{algorithm}\""), ""));
        let got = goodput(&rows);
        assert!((8.9..9.42).contains(&got), "{algorithm}: {got}");
    }
}

/// Loss-based control takes corruption for congestion, BBR does not. Over a protected link CUBIC does not
/// either.
#[test]
fn corruption_slows_loss_based_congestion_control() {
    let goodput_of = |algorithm: &str, more: &str| {
        goodput(&run(&stream(&format!("congestion = \"{algorithm}\"\nstack_latency = \"7us\""), more)).1)
    };
    let (cubic, bbr) = (goodput_of("cubic", LOSS), goodput_of("bbr", LOSS));
    let protected = goodput_of("cubic", &format!("{LOSS}{PROTECT}"));
    assert!(cubic < 7.5 && bbr > 8.5 && protected > 8.5, "{cubic} {bbr} {protected}");
}

/// DCTCP keeps the queue near the threshold, where CUBIC fills the buffer.
#[test]
fn marks_keep_the_queue_short() {
    let most = |tcp: &str| {
        let more = "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"100kB\"\npmax = 1.0\n[series]\nevery = \"20us\"\nlinks = \"s0-s1\"\n";
        let (_, samples) = series(&stream(tcp, more), &Options::new(1));
        let queue = |row: &&SeriesRow| row.metric == Metric::QueueBytes && row.time_ps > 5_000_000_000;
        samples.iter().filter(queue).map(|row| row.value).max().unwrap()
    };
    let (dctcp, cubic) = (most("congestion = \"dctcp\""), most("congestion = \"cubic\""));
    assert!((80_000..180_000).contains(&dctcp) && cubic > 400_000, "{dctcp} {cubic}");
}

/// Corruption starts during a run and protection later: the host retransmits only in between.
#[test]
fn retransmissions_appear_in_the_time_series() {
    let more = format!(
        "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"100kB\"\npmax = 1.0\n[series]\nevery = \"1ms\"\nlinks = \"all\"\n\
         {LOSS}start = \"5ms\"\n{PROTECT}start = \"10ms\"\n"
    );
    let text = stream("congestion = \"dctcp\"", &more);
    let (results, samples) = series(&text, &Options::new(1));
    let again = |from_ms: u64, to_ms: u64| -> u64 {
        let within = |row: &&SeriesRow| {
            row.metric == Metric::RetransmittedPackets
                && (from_ms * 1_000_000_000 + 1..=to_ms * 1_000_000_000).contains(&row.time_ps)
        };
        samples.iter().filter(within).map(|row| row.value).sum()
    };
    assert_eq!((again(0, 5), again(11, 20)), (0, 0));
    assert!(again(5, 10) > 20, "{}", again(5, 10));
    assert_eq!(again(0, 20), results.hosts.iter().map(|host| host.retransmitted_packets).sum::<u64>());
    let (_, on_two) = series(&text, &Options { threads: 2, ..Options::new(1) });
    assert_eq!(samples, on_two);
}

/// Link ends know the segment size: on a busy link a block is flushed when it is full, not by the timer.
#[test]
fn blocks_of_segments_are_full() {
    let text = stream(
        "congestion = \"cubic\"",
        "[[protect]]\nlinks = \"s0-s1\"\nby = \"fec(25,1)\"\ndirection = \"forward\"\n",
    );
    let (results, _) = run(&text);
    let protection = results.summary("t").protection;
    let block = protection.protected as f64 / protection.control.frames as f64;
    assert!((24.5..25.5).contains(&block), "{block}");
}

/// A lost single segment waits for the minimum timeout; the first round trip is known, so no flow waits for
/// one second.
#[test]
fn a_lost_single_segment_waits_for_the_timeout() {
    let one = |rules: &str, tcp: &str| {
        let text = format!(
            "title = \"t\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = 2\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
             [transport]\nprotocol = \"tcp\"\n[transport.tcp]\nrto_min = \"1ms\"\n{tcp}\n[[workload]]\nkind = \"flows\"\nbytes = \"143B\"\n\
             pattern = \"point-to-point\"\nsrc = \"h0\"\ndst = \"h2\"\n[[impair]]\nkind = \"script\"\nlinks = [\"s0-s1\"]\n\
             direction = \"forward\"\nrules = [{rules}]\n"
        );
        let (_, rows) = run(&text);
        assert_eq!((rows.len(), rows[0].outcome), (1, FlowOutcome::Finished));
        rows[0]
    };
    let never = "{ packet = \"nak\" }";
    let (clean, lost) = (one(never, ""), one("{ packet = \"data\", nth = 1 }", ""));
    assert_eq!(clean.fct().as_ps(), clean.ideal_ps, "alone");
    let waited = (lost.fct().as_ps() - clean.fct().as_ps()) / 1_000_000;
    assert!((1_000..1_010).contains(&waited), "{waited} us");
    assert_eq!(lost.retransmitted_packets, 1);
    let slow = one(never, "stack_latency = \"7us\"");
    assert_eq!(slow.fct().as_ps() - clean.fct().as_ps(), 14_000_000, "at both ends");
    let asked = one(never, "handshake = true");
    assert!(asked.fct().as_ps() > clean.fct().as_ps() * 18 / 10, "one more round trip");
}

/// TCP and RDMA share a link without affecting each other's protocol.
#[test]
fn both_protocols_share_a_link() {
    let rdma = "[[workload]]\nkind = \"stream\"\nmessage = \"100kB\"\ndepth = 2\nsrc = \"h1\"\ndst = \"h3\"\nprotocol = \"rdma\"\n";
    let text = stream("congestion = \"cubic\"", rdma);
    let (results, rows) = run(&text);
    let goodput_from =
        |src: u32| goodput(&rows.iter().copied().filter(|row| row.src == src).collect::<Vec<_>>());
    assert!(
        goodput_from(0) > 1.0 && goodput_from(1) > 1.0 && goodput_from(0) + goodput_from(1) < 9.42,
        "{} and {}",
        goodput_from(0),
        goodput_from(1)
    );
    let (other, other_rows) = run_with(&text, &Options { threads: 2, ..Options::new(1) });
    assert_eq!(other_rows, rows);
    assert_eq!(other.collector.digest(), results.collector.digest());
}

/// Frames have the length of Ethernet, IPv4, TCP with timestamps, and SACK blocks.
#[test]
fn frames_have_the_length_of_their_headers() {
    let text = stream("congestion = \"reno\"", LOSS);
    let captures = (0..5).map(LinkId).collect();
    let (_, frames) = capture_with(&text, &Options { captures, ..Options::new(1) });
    let tcp = |captured: &&wiremend_sim::CapturedFrame| captured.frame.is_tcp();
    let mut lengths: Vec<_> = frames.iter().filter(tcp).map(|captured| captured.frame.len).collect();
    lengths.sort_unstable();
    lengths.dedup();
    // 100 kB are 69 full segments and 88 bytes.
    assert_eq!(lengths, [70, 82, 90, 98, 158, 1518]);
}

/// Joshi et al., section 4.4: the position of the lost segment among 17 decides how the sender reacts, over a
/// link that retransmits out of order. With order it does not react. A flow before lets the link ends measure
/// their round trip.
#[test]
fn a_flow_reports_its_recovery_events() {
    const MSS: u32 = 1_448;
    let lost = |segment: u32, by: &str| {
        let text = format!(
            "title = \"t\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = 1\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
             [transport]\nprotocol = \"tcp\"\n[transport.tcp]\nstack_latency = \"7us\"\n[[workload]]\nkind = \"stream\"\n\
             message = \"24387B\"\ndepth = 1\ncount = 2\nsrc = 0\ndst = \"last\"\n[[protect]]\nlinks = \"switches\"\nby = \"{by}\"\n\
             [[impair]]\nkind = \"script\"\nlinks = \"switches\"\ndirection = \"forward\"\nrules = [{{ psn = {}, nth = 2 }}]\n",
            (segment - 1) * MSS
        );
        let (_, rows) = run(&text);
        rows[1].tcp.unwrap()
    };
    let met = |segment, by| {
        let tcp = lost(segment, by);
        assert_eq!(tcp.link_recovered, 1, "segment {segment}, {by}");
        (
            tcp.sacked_bytes_max.div_ceil(MSS),
            tcp.after_gap_bytes.div_ceil(MSS),
            tcp.unsent_bytes.div_ceil(MSS),
            tcp.recoveries,
        )
    };
    let nb = "linkguardian-nb";
    assert_eq!(met(9, nb), (1, 9, 0, 0), "at most two segments behind it");
    assert_eq!(met(15, nb), (2, 3, 0, 0), "as at the tail");
    assert_eq!(met(12, nb), (5, 6, 0, 1), "more if all segments were sent");
    assert_eq!(met(1, nb), (9, 17, 5, 1), "more if five segments were unsent");
    assert_eq!(met(17, nb), (0, 0, 0, 0), "no segment behind it");
    assert_eq!(met(1, "linkguardian"), (0, 0, 0, 0), "an ordered link hides the loss");
}
