//! Trimming switches: which packets they trim, which they keep, and when the control queue loses nothing.

use std::fmt::Write as _;

use crate::common::{capture_with, run_with, scenario};
use wiremend_measure::Trims;
use wiremend_sim::{Files, Options, Results, Simulation};
use wiremend_units::{LaneId, LinkId};

/// Wire bytes of a packet with 1024 bytes of payload, and of a header-only packet.
const DATA: f64 = 1106.0;
const HEADER: f64 = 84.0;

/// `inputs` hosts send to the last one at line rate.
fn incast(inputs: u32, trim: &str) -> String {
    let mut text = format!(
        "title = \"incast\"\n[topology]\nkind = \"chain\"\nswitches = 1\nhosts_per_end = 12\nrate = \"100Gbps\"\n\
         [stop]\nafter = \"2ms\"\n[switch.trim]\n{trim}\n"
    );
    for src in 0..inputs {
        write!(
            text,
            "[[workload]]\nkind = \"cbr\"\nsrc = {src}\ndst = \"last\"\nframe = 1086\nrate = \"100Gbps\"\nstop = \"1ms\"\n\
             trimmable = true\n"
        )
        .unwrap();
    }
    text
}

fn run(text: &str) -> Results {
    run_with(text, &Options::new(7)).0
}

/// Returns the trim counters of the switch port to the last of 24 hosts, where all meet.
fn bottleneck(results: &Results) -> Trims {
    const TO_LAST: LaneId = LinkId(23).backward();
    let others: u64 = results.lanes.iter().map(|lane| lane.trims.trimmed).sum();
    let trims = results.lanes[TO_LAST.index()].trims;
    assert_eq!(others, trims.trimmed, "no other port trims");
    trims
}

/// Returns the share of headers that cannot leave while all hosts send.
fn lost_share(inputs: u32, weight: f64) -> f64 {
    let made = (f64::from(inputs) - 1.0 / (1.0 + weight)) / DATA;
    let leave = weight / (1.0 + weight) / HEADER;
    (1.0 - leave / made).max(0.0)
}

#[test]
fn no_header_is_lost_below_the_bound() {
    for inputs in 2..=12 {
        let trim = format!("threshold = \"50kB\"\nweight = \"fan-in\"\nfan_in = {inputs}\nheaders = \"8kB\"");
        let results = run(&incast(inputs, &trim));
        let trims = bottleneck(&results);
        assert!(trims.trimmed > 10_000, "{inputs}: {trims:?}");
        assert_eq!(trims.headers_dropped, 0, "{inputs}: {trims:?}");
        let delivered = results.hosts[23].raw_frames;
        let sent: u64 = results.hosts.iter().map(|host| host.tx_frames).sum();
        assert_eq!(delivered + results.in_flight, sent, "{inputs}: each packet arrives, trimmed or not");
        assert!(results.notes.is_empty(), "{inputs}: {:?}", results.notes);
    }
}

#[test]
fn above_the_bound_headers_are_lost_as_computed() {
    for (inputs, weight, bound) in
        [(8, 0.6, "5"), (12, 1.0, "7"), (12, 4.0, "10"), (16, 40.0, "12"), (20, 1000.0, "13")]
    {
        let trim = format!("threshold = \"50kB\"\nweight = {weight}\nfan_in = {inputs}\nheaders = \"8kB\"");
        let results = run(&incast(inputs, &trim));
        let trims = bottleneck(&results);
        let share = trims.headers_dropped as f64 / trims.trimmed as f64;
        let expected = lost_share(inputs, weight);
        assert!(expected > 0.02 && (share - expected).abs() < 0.01, "{inputs}, {weight}: {share} {expected}");
        let [note] = &results.notes[..] else { panic!("{:?}", results.notes) };
        assert!(note.contains(&format!("is safe for {bound} inputs;")), "{note}");
        assert!(note.contains("above 13 inputs no weight is enough") == (inputs > 13), "{note}");
    }
}

#[test]
fn data_above_the_threshold_are_trimmed_and_headers_overtake() {
    let text = incast(2, "threshold = \"50kB\"\nweight = 1\nfan_in = 2\nclass = 5");
    let options = Options { captures: vec![LinkId(23)], ..Options::new(7) };
    let (results, frames) = capture_with(&text, &options);
    let headers: Vec<_> = frames.iter().filter(|captured| captured.frame.is_trimmed()).collect();
    assert_eq!(headers.len() as u64, bottleneck(&results).trimmed);
    assert!(headers.iter().all(|captured| captured.frame.class() == 5 && captured.frame.len == 64));
    // The second of two streams of 100 Gb/s fills 50 kB in about 4 µs, plus 2 µs of delay.
    let first = headers[0].time.as_ns();
    assert!((5_000..8_000).contains(&first), "{first}");
}

#[test]
fn a_full_buffer_also_trims() {
    let text = incast(3, "threshold = \"30kB\"\nweight = 2\nfan_in = 3");
    let text = text.replace("rate = \"100Gbps\"\n[stop]", "rate = \"100Gbps\"\nbuffer = \"30kB\"\n[stop]");
    let results = run(&text);
    let trims = bottleneck(&results);
    assert_eq!(trims.dropped(), 0, "{trims:?}");
    assert!(trims.trimmed > 10_000);
}

#[test]
fn untrimmable_packets_are_dropped() {
    let text = incast(2, "threshold = \"50kB\"").replace("trimmable = true\n", "");
    let results = run(&text);
    let trims = bottleneck(&results);
    assert!(trims.trimmed == 0 && trims.others_dropped > 10_000, "{trims:?}");
    assert_eq!(results.counters.dropped_frames.buffer, trims.others_dropped);
    assert!(results.notes[0].starts_with("no packet can be trimmed"), "{:?}", results.notes);
}

#[test]
fn the_default_threshold_is_one_bandwidth_delay_product() {
    // A full packet and its acknowledgement over two links each way: 4 µs, twice 88.5 ns and twice 6.7 ns at
    // 100 Gb/s.
    let text = incast(2, "weight = 1\nfan_in = 2");
    let options = Options { captures: vec![LinkId(23)], ..Options::new(7) };
    let (_, frames) = capture_with(&text, &options);
    let first = frames.iter().find(|captured| captured.frame.is_trimmed()).expect("some are trimmed");
    // The excess arrives at line rate, so after one round trip the queue has one bandwidth-delay product.
    let expected = 1_000 + 88 + 4_190;
    assert!(first.time.as_ns().abs_diff(expected + 1_000) < 1_000, "{:?}", first.time);
}

#[test]
fn threads_and_seeds_agree() {
    let text = incast(9, "threshold = \"20kB\"\nweight = 1\nheaders = \"4kB\"").replace(
        "kind = \"chain\"\nswitches = 1\nhosts_per_end = 12",
        "kind = \"leaf-spine\"\nleaves = 4\nspines = 3\nhosts_per_leaf = 6",
    );
    let one = run_with(&text, &Options::new(7)).0;
    assert!(one.counters.trims.headers_dropped > 0 && one.counters.trims.trimmed > 0);
    for threads in [2, 3] {
        let other = run_with(&text, &Options { threads, ..Options::new(7) }).0;
        assert_eq!(one.collector.digest(), other.collector.digest(), "{threads} threads");
        assert_eq!(one.counters, other.counters, "{threads} threads");
    }
}

/// A share of the packets is trimmed at random with empty queues: a tenth of 11 000, within five standard
/// deviations.
#[test]
fn random_trimming_does_not_depend_on_queues() {
    let cut = |share: &str, seed| {
        let text = incast(1, &format!("threshold = \"1MB\"\nshare = {share}"));
        let results = run_with(&text, &Options::new(seed)).0;
        (bottleneck(&results).trimmed, results.hosts[0].tx_frames)
    };
    let (trimmed, sent) = cut("0.1", 7);
    let (expected, deviation) = (sent as f64 * 0.1, (sent as f64 * 0.09).sqrt());
    assert!(sent > 10_000 && (trimmed as f64 - expected).abs() < 5.0 * deviation, "{trimmed} of {sent}");
    assert_ne!(trimmed, cut("0.1", 8).0, "each seed draws differently");
    assert_eq!(cut("0", 7).0, 0);
    let all = run(&incast(1, "threshold = \"1MB\"\nshare = 1"));
    let last = &all.hosts[23];
    assert!(last.raw_frames > 10_000);
    assert_eq!(last.raw_bytes, last.raw_frames * 64, "only headers have arrived");
}

#[test]
fn a_threshold_above_the_buffer_is_rejected() {
    let text =
        incast(2, "").replace("rate = \"100Gbps\"\n[stop]", "rate = \"100Gbps\"\nbuffer = \"30kB\"\n[stop]");
    let error = Simulation::build(&scenario(&text), &Nowhere, &Options::new(1)).err().expect("it is refused");
    assert!(error.what.contains("give a `threshold` of at most the buffer"), "{error:?}");
}

struct Nowhere;

impl Files for Nowhere {
    fn open(&self, name: &str) -> Result<Box<dyn std::io::BufRead>, String> {
        Err(format!("{name} is not there"))
    }
}
