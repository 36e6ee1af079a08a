//! L15: a stream while its link starts to corrupt and is protected later.

use wiremend_measure::Metric;

use super::late_hosts;
use super::stream::{HARDENED, INTO, LG, OUT, Stream};
use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::{self, FORWARD, Stress, speed_bps};

pub(super) const CLAIM: Claim = Claim {
    id: "L15",
    title: "streams before, during and after corruption",
    source: source("section 4.2, Fig. 9a, and appendix B.3, Fig. 21"),
    paper: "A link starts to lose 1e-3 at 2 s and is protected about 5 s later. DCTCP and CUBIC at 25G slow down \
           sharply and return to about the effective link speed. Then a queue builds up at the sender, which DCTCP's \
           marks bound and CUBIC fills until frames are dropped; the reordering buffer stays low. BBR at 10G hardly \
           suffers, and still gains a little from protection",
    method: "One stream with a round trip of 30 µs and marks from 100 KB on; corruption from 2 s, protection from 7 \
             s, until 10 s, sampled every 20 ms; quick: from 20 ms, from 60 ms and until 120 ms (CUBIC 260, BBR \
             160). The first tenth of a phase is not evaluated. Also checked: DCTCP over the hardened protocol",
    note: "BBR does not treat loss as congestion: of a link that loses one frame in a thousand, it uses all but \
           that thousandth. Protection recovers this thousandth and adds three bytes to each frame and two \
           copies for each loss, 0.4 %, so that nothing is gained where hosts react at once. Where they react \
           late, corruption costs BBR more than the lost frames, as the paper says: it names the delays of \
           hosts during recovery (section 4.4). By hand, in runs of 2.3 s, the gain grows with the delay: a \
           ratio of 0.998 at 1 µs, 1.000 at 3 µs, 1.003 at 8 µs",
    judge,
    ..Claim::FORM
};

/// A transport, and its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Transport {
    name: &'static str,
    stream: Stream,
    /// Protection modes of the link.
    modes: &'static [&'static str],
    /// Delay of each host's stack, if it is not that of the scenario.
    stack: Option<&'static str>,
    /// Whether hosts react late.
    late: bool,
    /// End of a quick run in milliseconds: CUBIC needs longer to fill a queue.
    quick_end_ms: u64,
}

const fn transport(name: &'static str, congestion: &'static str, gbps: u32, quick_end_ms: u64) -> Transport {
    Transport {
        name,
        stream: Stream { congestion, gbps },
        modes: &[LG],
        stack: None,
        late: false,
        quick_end_ms,
    }
}

pub(super) const DCTCP: Transport =
    Transport { modes: &[LG, HARDENED], ..transport("DCTCP", "dctcp", 25, 120) };
/// DCTCP with a longer round trip.
pub(super) const LONG_DCTCP: Transport = Transport { stack: Some("47us"), quick_end_ms: 260, ..DCTCP };
const BBR: Transport = transport("BBR", "bbr", 10, 160);
/// BBR between hosts that react late, which is part of the same 12 µs.
const LATE_BBR: Transport = Transport { stack: Some("7us"), late: true, ..BBR };
const TRANSPORTS: [Transport; 3] = [DCTCP, transport("CUBIC", "cubic", 25, 260), BBR];

const LOSS: f64 = 1e-3;
/// "Sharply" in the paper.
const SLOWED_SHARE_MAX: f64 = 0.75;
const BBR_SHARE_MIN: f64 = 0.97;
const THRESHOLD_BYTES: f64 = 100e3;
/// Largest reordering buffer of the paper at 25G (L4).
const REORDER_BYTES_MAX: f64 = 60e3;
/// Frame bytes as a fraction of the bytes on the wire with preamble and gap.
const FRAME_SHARE: f64 = 1518.0 / stress::FULL_BYTES;

/// State of the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Clean,
    Corrupting,
    Protected,
}

impl Phase {
    pub(super) const ALL: [Self; 3] = [Self::Clean, Self::Corrupting, Self::Protected];
}

impl Transport {
    /// Starts of the phases and end of the last, in milliseconds.
    fn phases_ms(&self, effort: Effort) -> [u64; 4] {
        effort.choose([0, 20, 60, self.quick_end_ms], [0, 2_000, 7_000, 10_000])
    }

    /// A stream over a link that passes through all phases.
    fn run(&self, variant: &'static str, effort: Effort) -> Run {
        let [_, corrupting, protected, end] = self.phases_ms(effort);
        let run = self
            .stream
            .run(variant, format!("{LOSS:e}"))
            .set("impair.0.start", format!("{corrupting}ms"))
            .set("protect.0.start", format!("{protected}ms"))
            .set("stop.after", format!("{end}ms"))
            .set("series.every", format!("{}us", effort.choose(1_000, 20_000)))
            .set("series.links", "all")
            .seconds(end as f64 * 1.6e-4 * f64::from(self.stream.gbps));
        let run = if self.late { late_hosts::apply(run) } else { run };
        self.stack.into_iter().fold(run, |run, stack| run.set("transport.tcp.stack_latency", stack))
    }
}

/// Samples of a stream.
pub(super) struct StreamSamples<'a> {
    outcome: &'a Outcome,
    phases_ms: [u64; 4],
    samples_per_s: f64,
}

impl<'a> StreamSamples<'a> {
    pub(super) fn new(results: &'a Results<'_>, transport: Transport, variant: &'static str) -> Self {
        let effort = results.effort();
        let outcome = results.outcome(&transport.run(variant, effort));
        let phases_ms = transport.phases_ms(effort);
        Self { outcome, phases_ms, samples_per_s: effort.choose(1_000.0, 50.0) }
    }

    /// Frames that overflowed the reordering buffer.
    pub(super) fn overflowed(&self) -> u64 {
        self.outcome.summary.protection.overflowed
    }

    /// Largest occupancy of the reordering buffer.
    pub(super) fn reorder_bytes_max(&self) -> u64 {
        self.outcome.summary.protection.rx_buffer_bytes_max
    }

    /// The samples of a phase without its first tenth.
    fn values(&self, lane: &str, metric: Metric, phase: Phase) -> Vec<u64> {
        let [start, end] = [0, 1].map(|next| self.phases_ms[phase as usize + next]);
        let settled = (start + (end - start) / 10) * 1_000_000 + 1..=end * 1_000_000;
        let samples = self.outcome.series(lane, metric).iter();
        samples.filter(|(ns, _)| settled.contains(ns)).map(|(_, value)| *value).collect()
    }

    /// Sum of a metric in a phase.
    pub(super) fn sum(&self, lane: &str, metric: Metric, phase: Phase) -> u64 {
        self.values(lane, metric, phase).iter().sum()
    }

    fn mean(&self, lane: &str, metric: Metric, phase: Phase) -> f64 {
        let values = self.values(lane, metric, phase);
        values.iter().sum::<u64>() as f64 / values.len().max(1) as f64
    }

    /// Rate of frames that reach the receiving host, in bits per second.
    pub(super) fn throughput_bps(&self, phase: Phase) -> f64 {
        self.mean(INTO, Metric::TxBytes, phase) * self.samples_per_s * 8.0
    }

    /// Retransmissions of the host per second.
    pub(super) fn retransmissions_per_s(&self, phase: Phase) -> f64 {
        self.mean(OUT, Metric::RetransmittedPackets, phase) * self.samples_per_s
    }

    /// Largest reordering buffer of a sample with protection.
    fn reorder_sampled_max(&self) -> u64 {
        self.values(FORWARD, Metric::RxBufferBytes, Phase::Protected).into_iter().max().unwrap_or(0)
    }

    /// A sampled metric over time; bytes that pass as a rate in bits per second.
    pub(super) fn curve(&self, name: impl Into<String>, lane: &str, metric: Metric) -> Curve {
        let factor = if metric == Metric::TxBytes { 8.0 * self.samples_per_s } else { 1.0 };
        let points = self.outcome.series(lane, metric).iter();
        Curve::straight(name, points.map(|&(ns, value)| (ns as f64, value as f64 * factor)))
    }
}

/// A plot over time.
pub(super) fn over_time(title: &str, y: Axis, curves: Vec<Curve>) -> Plot {
    let description = format!("{title}, over time.");
    Plot::new(title, description, Axis::new("time", Scale::Linear, Unit::TimeNs), y, curves)
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for transport in TRANSPORTS {
        for &mode in transport.modes {
            let samples = StreamSamples::new(results, transport, mode);
            let name = format!("{}, {mode}", transport.name);
            host_retransmissions(judgement, &samples, &name);
            if transport == BBR {
                bbr(judgement, &samples, &StreamSamples::new(results, LATE_BBR, mode), &name);
            } else {
                let mode = if mode == HARDENED { stress::HARDENED } else { stress::LG };
                let (line_rate, _) = stress::counted(results, Stress::new(25, LOSS, mode));
                slowdown(judgement, &samples, &name, speed_bps(line_rate) * FRAME_SHARE);
                queue(judgement, &samples, &name, transport);
            }
            row(judgement, &samples, name);
        }
    }
    judgement.columns(
        "| clean | corrupting | protected | retransmitted, corrupting | protected | queue, corrupting | protected | \
         drops, protected | reordering buffer at most",
    );
    for (name, title, lane, metric, y) in [
        (
            "l15-throughput",
            "Streams before, during and after corruption",
            INTO,
            Metric::TxBytes,
            Axis::new("throughput", Scale::Linear, Unit::RateBps).with_range(0.0, 25e9),
        ),
        (
            "l15-queue",
            "Queue before the link",
            FORWARD,
            Metric::QueueBytes,
            Axis::new("queue", Scale::Linear, Unit::Bytes).with_range(0.0, 600e3),
        ),
    ] {
        let curve = |transport: Transport| {
            let name = format!("{}, {}G", transport.name, transport.stream.gbps);
            StreamSamples::new(results, transport, LG).curve(name, lane, metric)
        };
        judgement.plot(name, &over_time(title, y, TRANSPORTS.map(curve).to_vec()));
    }
}

/// Checks that corruption slows the stream, and that protection restores its speed.
fn slowdown(judgement: &mut Judgement, samples: &StreamSamples<'_>, name: &str, line_bps: f64) {
    let [clean, corrupting, protected] = Phase::ALL.map(|phase| rate_bps(samples.throughput_bps(phase)));
    let what = format!("throughput with corruption as a share of clean, {name}");
    judgement.must(what, fraction(corrupting.value / clean.value).at_most(SLOWED_SHARE_MAX));
    judgement.must(format!("throughput, protected, {name}"), protected.at_least(0.97 * line_bps));
}

fn queue(judgement: &mut Judgement, samples: &StreamSamples<'_>, name: &str, transport: Transport) {
    let queue = |phase| bytes(samples.mean(FORWARD, Metric::QueueBytes, phase));
    for (phase, state) in [(Phase::Clean, "clean"), (Phase::Corrupting, "corrupting")] {
        judgement.must(format!("queue, {state}, {name}"), queue(phase).at_most(10e3));
    }
    let dropped = Phase::ALL.map(|phase| samples.sum(FORWARD, Metric::DroppedFrames, phase));
    let (what, protected) = (format!("queue, protected, {name}"), queue(Phase::Protected));
    if transport == DCTCP {
        judgement.must(what, protected.between(THRESHOLD_BYTES / 2.0, THRESHOLD_BYTES * 1.2));
        judgement.some(format!("marks, {name}"), samples.outcome.summary.congestion.marked);
        judgement.none(format!("drops, {name}"), dropped.iter().sum());
    } else {
        judgement.must(what, protected.at_least(THRESHOLD_BYTES / 2.0));
        judgement.none(format!("drops before protection, {name}"), dropped[0] + dropped[1]);
        judgement.some(format!("drops, protected, {name}"), dropped[2]);
    }
}

/// Checks that the host retransmits at most 1 % of the frames that the link lost.
fn host_retransmissions(judgement: &mut Judgement, samples: &StreamSamples<'_>, name: &str) {
    let sum = |lane, metric| samples.sum(lane, metric, Phase::Protected);
    let dropped = sum(FORWARD, Metric::DroppedFrames);
    let retransmitted = sum(OUT, Metric::RetransmittedPackets).saturating_sub(dropped);
    let per_lost = retransmitted as f64 / sum(FORWARD, Metric::CorruptedFrames).max(1) as f64;
    let what = format!("retransmissions per lost frame, protected, {name}");
    judgement.must(what, number(per_lost).at_most(0.01));
    let most = bytes(samples.reorder_sampled_max() as f64);
    judgement.must(format!("reordering buffer, {name}"), most.at_most(REORDER_BYTES_MAX));
}

fn bbr(judgement: &mut Judgement, samples: &StreamSamples<'_>, late: &StreamSamples<'_>, name: &str) {
    let [clean, corrupting, protected] = Phase::ALL.map(|phase| samples.throughput_bps(phase));
    for (state, throughput) in [("corruption", corrupting), ("protection", protected)] {
        let what = format!("throughput with {state} as a share of clean, {name}");
        judgement.must(what, fraction(throughput / clean).at_least(BBR_SHARE_MIN));
    }
    let what = format!("throughput with protection divided by that with corruption, {name}");
    let printed = judgement.printed(what, number(protected / corrupting).at_least(1.0));
    let [corrupting, protected] =
        [Phase::Corrupting, Phase::Protected].map(|phase| late.throughput_bps(phase));
    late_hosts::explain(judgement, &[(printed, number(protected / corrupting))]);
}

fn row(judgement: &mut Judgement, samples: &StreamSamples<'_>, name: String) {
    let [clean, corrupting, protected] =
        Phase::ALL.map(|phase| format!("{:.2} Gb/s", samples.throughput_bps(phase) / 1e9));
    let [_, resent, still_resent] =
        Phase::ALL.map(|phase| count(samples.sum(OUT, Metric::RetransmittedPackets, phase)));
    let [_, before, behind] = Phase::ALL.map(|phase| bytes(samples.mean(FORWARD, Metric::QueueBytes, phase)));
    let drops = count(samples.sum(FORWARD, Metric::DroppedFrames, Phase::Protected));
    let most = bytes(samples.reorder_sampled_max() as f64);
    let cells: [&dyn std::fmt::Display; 9] =
        [&clean, &corrupting, &protected, &resent, &still_resent, &before, &behind, &drops, &most];
    judgement.row(name, cells);
}
