//! D8: memory and time to track received packets.

use wiremend_proto::dcp::{Parameters, Tracking};
use wiremend_proto::rc;
use wiremend_proto::sr::{self, Scheme, StateBytes};

use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "D8",
    title: "counter and bitmaps: memory, packet rate, exactness",
    source: source("bitmap-free packet tracking"),
    paper: "A counter for each message takes log2 n bits where a bitmap of fixed size takes n. Linked chunks of a \
           bitmap take little memory, but their access time grows with reordering. The counter has neither drawback, \
           because each packet arrives exactly once",
    method: "Memory: bytes of a queue pair by the sizes of this program's types, one message outstanding, for 500 \
             packets (400 Gb/s, 10 µs) and a hundred times as many. Packet rate: messages of 1 MB over two randomly \
             chosen paths, one of them 0 to 40 µs longer; memory accesses for each packet, at 300 MHz and one access \
             per cycle. Exactly once: packets that a receiver already had, also if 1 % of the packets is trimmed in \
             each port (quick: 20 messages instead of 400)",
    note: "A sender that learns exactly which packets were lost makes no unnecessary retransmission, and a \
           receiver without duplicates needs only a counter. A network that duplicates packets breaks this; \
           sums are the cheapest tracking that detects it. The slides count the bits of one counter alone. With \
           everything else that a receiver stores, a counter takes a quarter of the memory of a bitmap. Chunks \
           that hold 64 packets each need links beside their bits: they save memory where few are in use, and \
           here the most that 500 packets can need are counted",
    judge,
    ..Claim::FORM
};

const COUNTER: &str = "counter";
const CHUNKS: &str = "linked chunks";
const TRACKINGS: [&str; 4] = [COUNTER, "sums", "bitmap", CHUNKS];
const IRN: &str = "IRN";

/// Additional delay of the longer path, in microseconds.
const EXTRA_DELAY_US: [u32; 6] = [0, 2, 5, 10, 20, 40];
/// Additional delay at which IRN is tested and packets are trimmed, in microseconds.
const TRIMMED_AT_US: u32 = 10;
const TRIM_RATE: f64 = 0.01;

/// 400 Gb/s and 10 µs, in packets of 1 kB.
const PACKETS: u32 = 500;
const MORE_PACKETS_FACTOR: u32 = 100;
/// Clock of the paper's prototype.
const CLOCK_HZ: f64 = 300e6;

const COUNTER_SHARE_MAX: f64 = 0.5;
const BITMAP_GROWTH_MIN: f64 = 50.0;
const CHUNK_ACCESSES_MIN: f64 = 3.0;
const SLOPE_TOLERANCE: f64 = 1.0 / 3.0;
const UNNECESSARY_MIN: f64 = 0.9;

fn run(tracking: &'static str, extra_delay_us: u32, trimmed: f64, effort: Effort) -> Run {
    Run::new("claims/disorder")
        .variant(tracking)
        .set("topology.link.0.delay", format!("{}ns", 500 + 1000 * extra_delay_us))
        .set("switch.trim.share", trimmed)
        .set("workload.0.count", effort.choose(20, 400))
        .seconds(effort.choose(0.05, 1.0))
}

/// Memory accesses per packet.
fn accesses(outcome: &Outcome) -> f64 {
    outcome.tracking.steps as f64 / outcome.tracking.packets.max(1) as f64
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    memory(judgement);
    packet_rate(judgement, results);
    exactly_once(judgement, results);
    judgement.table(
        "| requester, in the NIC | responder, in the NIC | responder, 100 times the packets | host memory",
        rows(),
    );
    judgement.plot("d8", &figure(results));
}

/// Bytes of a receiver by [`TRACKINGS`], with the largest number of chunks that the packets can need.
fn receiver_bytes(packets: u32) -> [f64; 4] {
    let kinds =
        [Tracking::Counter, Tracking::Sums, Tracking::Bitmap { packets }, Tracking::Chunks { packets }];
    let chunks = packets.div_ceil(u64::BITS);
    kinds.map(|tracking| Parameters { tracking, ..Parameters::DCP }.receiver_bytes(1, chunks).nic as f64)
}

fn memory(judgement: &mut Judgement) {
    let few = receiver_bytes(PACKETS);
    let many = receiver_bytes(PACKETS * MORE_PACKETS_FACTOR);
    judgement.must("bytes of a counter for 500 packets", bytes(few[0]).at_most(COUNTER_SHARE_MAX * few[2]));
    judgement.must("bytes of a counter for 100 times as many packets", bytes(many[0]).near(few[0], 0.0));
    judgement.must(
        "growth of a bitmap for 100 times as many packets",
        number(many[2] / few[2]).at_least(BITMAP_GROWTH_MIN),
    );
    judgement.printed("bytes of linked chunks for 500 packets", bytes(few[3]).at_most(few[2]));
}

fn packet_rate(judgement: &mut Judgement, results: &Results<'_>) {
    let of =
        |tracking, extra_delay_us| results.outcome(&run(tracking, extra_delay_us, 0.0, results.effort()));
    for tracking in &TRACKINGS[..3] {
        let most = EXTRA_DELAY_US
            .map(|extra_delay_us| accesses(of(tracking, extra_delay_us)))
            .into_iter()
            .fold(0.0, f64::max);
        judgement.must(format!("accesses per packet, {tracking}"), number(most).between(0.0, 1.0));
    }
    let names = EXTRA_DELAY_US.map(|extra_delay_us| format!("{extra_delay_us} µs"));
    let rising = EXTRA_DELAY_US.map(|extra_delay_us| number(accesses(of(CHUNKS, extra_delay_us))));
    let rising: Vec<_> = names.iter().map(String::as_str).zip(rising).collect();
    judgement.must(format!("accesses per packet, {CHUNKS}"), ascending(&rising, 0.0));
    let [.., before, last] = EXTRA_DELAY_US;
    let [before, last] = [before, last].map(|extra_delay_us| of(CHUNKS, extra_delay_us));
    judgement.must(
        "largest number of accesses per packet, linked chunks",
        number(accesses(last)).at_least(CHUNK_ACCESSES_MIN),
    );
    let slope = |outcome: &Outcome| (accesses(outcome) - 1.0) / outcome.tracking.disorder_max.max(1) as f64;
    judgement.must(
        "accesses beyond the first per packet of reordering",
        number(slope(last)).near(slope(before), SLOPE_TOLERANCE),
    );
}

fn exactly_once(judgement: &mut Judgement, results: &Results<'_>) {
    let outcome =
        |tracking, trimmed| results.outcome(&run(tracking, TRIMMED_AT_US, trimmed, results.effort()));
    for trimmed in [0.0, TRIM_RATE] {
        for tracking in TRACKINGS {
            let outcome = outcome(tracking, trimmed);
            let name =
                if trimmed > 0.0 { format!("{tracking}, packets trimmed") } else { tracking.to_owned() };
            let missing = outcome.summary.flows - outcome.tracking.delivered_messages;
            judgement.none(format!("messages that did not arrive exactly once, {name}"), missing);
            judgement.none(format!("duplicate packets, {name}"), outcome.tracking.duplicates);
        }
    }
    judgement.must(
        "packets trimmed",
        number(outcome(COUNTER, TRIM_RATE).summary.trims.trimmed as f64).at_least(100.0),
    );
    let irn = outcome(IRN, 0.0);
    let unnecessary = irn.tracking.duplicates as f64 / irn.summary.retransmitted_packets.max(1) as f64;
    judgement.must(
        "share of IRN's retransmissions that is unnecessary",
        fraction(unnecessary).at_least(UNNECESSARY_MIN),
    );
}

/// Bytes of every scheme beyond those of a go-back-N connection.
fn rows() -> Vec<Vec<String>> {
    let shown = |name: String, sizes: [f64; 4]| {
        std::iter::once(name).chain(sizes.map(human::bytes)).collect::<Vec<_>>()
    };
    let selective = |(name, scheme): (&str, Scheme)| {
        let of = |packets: u32| {
            let base = rc::Config { window: packets, ..rc::Config::default() };
            StateBytes::for_config(&sr::Config::new(scheme.clone(), base))
        };
        let (few, many) = (of(PACKETS), of(PACKETS * MORE_PACKETS_FACTOR));
        let sizes = [few.requester, few.responder, many.responder, few.host].map(|bytes| bytes as f64);
        shown(name.to_owned(), sizes)
    };
    let (few, many) = (receiver_bytes(PACKETS), receiver_bytes(PACKETS * MORE_PACKETS_FACTOR));
    let sender = Parameters::DCP.sender_bytes(PACKETS);
    let dcp = TRACKINGS.iter().zip(few.into_iter().zip(many)).map(|(tracking, (few, many))| {
        shown(format!("DCP, {tracking}"), [sender.nic as f64, few, many, sender.host as f64])
    });
    let schemes = [
        (IRN, Scheme::Irn),
        ("timeout only", Scheme::TimeoutOnly),
        ("RACK-TLP", Scheme::RackTlp),
        ("MP-RDMA", Scheme::MpRdma),
    ];
    schemes.into_iter().map(selective).chain(dcp).collect()
}

fn figure(results: &Results<'_>) -> Plot {
    let curve = |tracking: &'static str| {
        let point = |extra_delay_us| {
            let outcome = results.outcome(&run(tracking, extra_delay_us, 0.0, results.effort()));
            // A counter does not measure reordering; a bitmap on the same paths does.
            let known = results.outcome(&run("bitmap", extra_delay_us, 0.0, results.effort()));
            (known.tracking.disorder_max as f64, CLOCK_HZ / accesses(outcome).max(1.0) / 1e6)
        };
        Curve::marked(tracking, EXTRA_DELAY_US.map(point))
    };
    Plot {
        title: "Packets per second that a receiver can track at 300 MHz".to_owned(),
        description:
            "Millions of packets per second, with one memory access per cycle, against the largest distance of a \
             packet from the first missing one."
                .to_owned(),
        x: Axis::new("reordering, packets", Scale::Linear, Unit::Number),
        y: Axis::new("million packets per second", Scale::Linear, Unit::Number),
        curves: TRACKINGS.map(curve).to_vec(),
    }
}
