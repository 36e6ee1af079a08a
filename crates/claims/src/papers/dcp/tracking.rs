//! D8: memory and time to track received packets.

use wiremend_proto::dcp::{Parameters, Tracking};
use wiremend_proto::rc;
use wiremend_proto::sr::{self, Scheme, StateBytes};
use wiremend_report::human;
use wiremend_report::plot::{Axis, Curve, Line, Plot, Scale, Unit};

use super::source;
use crate::ledger::number::{ascending, bytes, count, fraction, number, shown};
use crate::ledger::{Claim, Effort, Finding, Judgement, Outcome, Results, Run};

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
            each port (quick: 20 messages instead of 400). Reproduced if a counter takes at most half the memory of \
            the bitmap at 500 packets and does not grow where the bitmap grows by a factor of at least 50; if \
            counter, sums and bitmap take one access at every degree of reordering, and linked chunks take more with \
            more reordering, at least 3 at the maximum, linearly within a third; and if with DCP every message \
            arrives, none with a duplicate packet, while at least 90 % of IRN's retransmissions over the same paths \
            are unnecessary",
    runs,
    judge,
};

const COUNTER: &str = "counter";
const CHUNKS: &str = "linked chunks";
const TRACKINGS: [&str; 4] = [COUNTER, "sums", "bitmap", CHUNKS];
const IRN: &str = "IRN";

/// Additional delay of the longer path, in microseconds.
const LONGER_US: [u32; 6] = [0, 2, 5, 10, 20, 40];
/// Additional delay at which IRN is tested and packets are trimmed, in microseconds.
const TRIMMED_AT_US: u32 = 10;
const TRIM_RATE: f64 = 0.01;

/// 400 Gb/s and 10 µs, in packets of 1 kB.
const PACKETS: u32 = 500;
const MORE: u32 = 100;
/// Clock of the paper's prototype.
const CLOCK_HZ: f64 = 300e6;

const SMALLER: f64 = 0.5;
const GROWN: f64 = 50.0;
const SLOWEST: f64 = 3.0;
const STRAIGHT: f64 = 1.0 / 3.0;
const UNNECESSARY_MIN: f64 = 0.9;

fn run(tracking: &'static str, longer_us: u32, cut: f64, effort: Effort) -> Run {
    Run::new("claims/disorder")
        .variant(tracking)
        .set("topology.link.0.delay", format!("{}ns", 500 + 1000 * longer_us))
        .set("switch.trim.share", cut)
        .set("workload.0.count", effort.choose(20, 400))
        .seconds(effort.choose(0.05, 1.0))
}

fn runs(effort: Effort) -> Vec<Run> {
    let at = |longer_us| TRACKINGS.map(|tracking| run(tracking, longer_us, 0.0, effort));
    let cut = TRACKINGS.map(|tracking| run(tracking, TRIMMED_AT_US, TRIM_RATE, effort));
    let irn = run(IRN, TRIMMED_AT_US, 0.0, effort);
    LONGER_US.into_iter().flat_map(at).chain(cut).chain([irn]).collect()
}

/// Memory accesses per packet.
fn accesses(outcome: &Outcome) -> f64 {
    outcome.tracking.steps as f64 / outcome.tracking.packets.max(1) as f64
}

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let [counter, sums, bitmap, chunks] = memory(&mut judgement);
    let slowest = packet_rate(&mut judgement, results);
    let in_vain = exactly_once(&mut judgement, results);
    judgement.table(
        "| requester, in the NIC | responder, in the NIC | responder, 100 times the packets | host memory",
        rows(),
    );
    judgement.plot("d8", &figure(results));
    let [counter, sums, bitmap, chunks] = [counter, sums, bitmap, chunks].map(human::bytes);
    let [cut, in_vain] = [TRIM_RATE, in_vain].map(human::percent);
    let rate = shown(CLOCK_HZ / slowest / 1e6);
    judgement.finding(
        format!(
            "a receiver keeps {counter} with a counter, {sums} with sums that tell doubles, {bitmap} with a bitmap and {chunks} with chunks at their most, for {PACKETS} packets; linked chunks take up to {} accesses for a packet ({rate} million packets a second at 300 MHz), \
             all others one; no packet came twice with DCP, also where {cut} % were cut, and {in_vain} % of what IRN sent again did",
            shown(slowest),
        ),
        "Who is told exactly what was lost sends nothing in vain, and who gets nothing twice need only count. A network that doubles packets breaks this: sums are the least that notices. The slides count the bits of one counter alone; with the numbers that belong to it, it is a quarter of a bitmap",
    )
}

/// Bytes of a receiver by [`TRACKINGS`], with the largest number of chunks that the packets can need.
fn receiver_bytes(packets: u32) -> [f64; 4] {
    let kinds =
        [Tracking::Counter, Tracking::Sums, Tracking::Bitmap { packets }, Tracking::Chunks { packets }];
    let chunks = packets.div_ceil(u64::BITS);
    kinds.map(|tracking| Parameters { tracking, ..Parameters::DCP }.receiver_bytes(1, chunks).nic as f64)
}

fn memory(judgement: &mut Judgement) -> [f64; 4] {
    let few = receiver_bytes(PACKETS);
    let many = receiver_bytes(PACKETS * MORE);
    judgement.must("a counter for 500 packets", bytes(few[0]).at_most(SMALLER * few[2]));
    judgement.must("a counter for 100 times as many", bytes(many[0]).near(few[0], 0.0));
    judgement.must("how much a bitmap grows", number(many[2] / few[2]).at_least(GROWN));
    few
}

fn packet_rate(judgement: &mut Judgement, results: &Results<'_>) -> f64 {
    let of = |tracking, longer_us| results.outcome(&run(tracking, longer_us, 0.0, results.effort()));
    for tracking in &TRACKINGS[..3] {
        let most =
            LONGER_US.map(|longer_us| accesses(of(tracking, longer_us))).into_iter().fold(0.0, f64::max);
        judgement.must(format!("accesses for a packet, {tracking}"), number(most).between(0.0, 1.0));
    }
    let names = LONGER_US.map(|longer_us| format!("{longer_us} µs"));
    let rising = LONGER_US.map(|longer_us| number(accesses(of(CHUNKS, longer_us))));
    let rising: Vec<_> = names.iter().map(String::as_str).zip(rising).collect();
    judgement.must(format!("accesses for a packet, {CHUNKS}"), ascending(&rising, 0.0));
    let [.., before, last] = LONGER_US;
    let [before, last] = [before, last].map(|longer_us| of(CHUNKS, longer_us));
    judgement.must("the most of them", number(accesses(last)).at_least(SLOWEST));
    let slope = |outcome: &Outcome| (accesses(outcome) - 1.0) / outcome.tracking.disorder_max.max(1) as f64;
    judgement.must(
        "accesses beyond the first for a packet of disorder",
        number(slope(last)).near(slope(before), STRAIGHT),
    );
    accesses(last)
}

fn exactly_once(judgement: &mut Judgement, results: &Results<'_>) -> f64 {
    let of = |tracking, cut| results.outcome(&run(tracking, TRIMMED_AT_US, cut, results.effort()));
    for cut in [0.0, TRIM_RATE] {
        for tracking in TRACKINGS {
            let outcome = of(tracking, cut);
            let name = if cut > 0.0 { format!("{tracking}, packets cut") } else { tracking.to_owned() };
            let missing = outcome.summary.flows - outcome.tracking.delivered_messages;
            judgement.must(format!("messages that did not arrive once, {name}"), count(missing).is(0));
            judgement
                .must(format!("packets that came twice, {name}"), count(outcome.tracking.duplicates).is(0));
        }
    }
    judgement
        .must("packets cut", number(of(COUNTER, TRIM_RATE).summary.trims.trimmed as f64).at_least(100.0));
    let irn = of(IRN, 0.0);
    let in_vain = irn.tracking.duplicates as f64 / irn.summary.retransmitted_packets.max(1) as f64;
    judgement.must("what IRN sends again in vain", fraction(in_vain).at_least(UNNECESSARY_MIN));
    in_vain
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
        let (few, many) = (of(PACKETS), of(PACKETS * MORE));
        let sizes = [few.requester, few.responder, many.responder, few.host].map(|bytes| bytes as f64);
        shown(name.to_owned(), sizes)
    };
    let (few, many) = (receiver_bytes(PACKETS), receiver_bytes(PACKETS * MORE));
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
        let point = |longer_us| {
            let outcome = results.outcome(&run(tracking, longer_us, 0.0, results.effort()));
            // A counter does not measure reordering; a bitmap on the same paths does.
            let known = results.outcome(&run("bitmap", longer_us, 0.0, results.effort()));
            (known.tracking.disorder_max as f64, CLOCK_HZ / accesses(outcome).max(1.0) / 1e6)
        };
        Curve { name: tracking.to_owned(), points: LONGER_US.map(point).to_vec(), line: Line::Marked }
    };
    Plot {
        title: "Packets a second that a receiver can track at 300 MHz".to_owned(),
        description: "Millions of packets a second, with an access to memory in each cycle, against the largest distance of a packet from the first missing one."
            .to_owned(),
        x: Axis::new("disorder, packets", Scale::Linear, Unit::Number),
        y: Axis::new("million packets a second", Scale::Linear, Unit::Number),
        curves: TRACKINGS.map(curve).to_vec(),
    }
}
