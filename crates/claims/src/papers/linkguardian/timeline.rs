//! L15: a stream while its link starts to corrupt and is protected later.

use wiremend_measure::Metric;

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
    note: "BBR does not treat loss as congestion: of a link that loses one frame in a thousand, it uses all but that \
           thousandth. Protection recovers this thousandth and adds three bytes to each frame and two copies for \
           each loss, 0.4 %, so that nothing is gained. Hosts with busy processors, like the paper's with BBR, gain \
           from fewer retransmissions; in the simulator retransmissions cost no processor time",
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
    /// End of a quick run in milliseconds: CUBIC needs longer to fill a queue.
    quick_end_ms: u64,
}

pub(super) const DCTCP: Transport = Transport {
    name: "DCTCP",
    stream: Stream { congestion: "dctcp", gbps: 25 },
    modes: &[LG, HARDENED],
    quick_end_ms: 120,
};
const CUBIC: Transport = Transport {
    name: "CUBIC",
    stream: Stream { congestion: "cubic", gbps: 25 },
    modes: &[LG],
    quick_end_ms: 260,
};
const BBR: Transport = Transport {
    name: "BBR",
    stream: Stream { congestion: "bbr", gbps: 10 },
    modes: &[LG],
    quick_end_ms: 160,
};
/// DCTCP with a longer quick run.
pub(super) const LONG_DCTCP: Transport = Transport { quick_end_ms: 260, ..DCTCP };
const TRANSPORTS: [Transport; 3] = [DCTCP, CUBIC, BBR];

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

    fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Corrupting => "corrupting",
            Self::Protected => "protected",
        }
    }

    /// Start and end of a phase, in milliseconds.
    fn whole_ms(self, transport: Transport, effort: Effort) -> [u64; 2] {
        match self {
            Self::Clean => [0, effort.choose(20, 2_000)],
            Self::Corrupting => effort.choose([20, 60], [2_000, 7_000]),
            Self::Protected => effort.choose([60, transport.quick_end_ms], [7_000, 10_000]),
        }
    }

    /// Start and end without the first tenth, in nanoseconds.
    fn settled_ns(self, transport: Transport, effort: Effort) -> [u64; 2] {
        let [start, end] = self.whole_ms(transport, effort);
        [(start + (end - start) / 10) * 1_000_000, end * 1_000_000]
    }
}

/// A stream over a link that passes through all phases.
pub(super) fn run(transport: Transport, variant: &'static str, effort: Effort) -> Run {
    let starts = Phase::ALL.map(|phase| phase.whole_ms(transport, effort)[0]);
    let end = Phase::Protected.whole_ms(transport, effort)[1];
    let per_s = if variant == HARDENED { 0.1 } else { 0.16 };
    transport
        .stream
        .run(variant, format!("{LOSS:e}"))
        .set("impair.0.start", format!("{}ms", starts[1]))
        .set("protect.0.start", format!("{}ms", starts[2]))
        .set("stop.after", format!("{end}ms"))
        .set("series.every", format!("{}us", effort.choose(1_000, 20_000)))
        .set("series.links", "all")
        .seconds(end as f64 * 1e-3 * f64::from(transport.stream.gbps) * per_s)
}

/// Frames at line rate over the same link.
fn line_rate(variant: &'static str, effort: Effort) -> Run {
    let variant = if variant == HARDENED { stress::HARDENED } else { stress::LG };
    Stress::new(25, LOSS, variant).run(stress::frames(effort, LOSS))
}

/// Samples of a stream.
pub(super) struct StreamSamples<'a> {
    outcome: &'a Outcome,
    transport: Transport,
    effort: Effort,
}

impl<'a> StreamSamples<'a> {
    /// Samples of a run made by [`run`] for this transport.
    pub(super) fn new(results: &'a Results<'_>, transport: Transport, run: &Run) -> Self {
        Self { outcome: results.outcome(run), transport, effort: results.effort() }
    }

    fn for_variant(results: &'a Results<'_>, transport: Transport, variant: &'static str) -> Self {
        Self::new(results, transport, &run(transport, variant, results.effort()))
    }

    /// Frames that overflowed the reordering buffer.
    pub(super) fn overflowed(&self) -> u64 {
        self.outcome.summary.protection.overflowed
    }

    /// Largest occupancy of the reordering buffer.
    pub(super) fn reorder_bytes_max(&self) -> u64 {
        self.outcome.summary.protection.rx_buffer_bytes_max
    }

    fn values(&self, lane: &str, metric: Metric, phase: Phase) -> Vec<u64> {
        let [start, end] = phase.settled_ns(self.transport, self.effort);
        let samples = self.outcome.series(lane, metric).iter();
        samples.filter(|(ns, _)| (start + 1..=end).contains(ns)).map(|(_, value)| *value).collect()
    }

    /// Sum of a metric in a phase.
    pub(super) fn sum(&self, lane: &str, metric: Metric, phase: Phase) -> u64 {
        self.values(lane, metric, phase).iter().sum()
    }

    fn mean(&self, lane: &str, metric: Metric, phase: Phase) -> f64 {
        let values = self.values(lane, metric, phase);
        values.iter().sum::<u64>() as f64 / values.len().max(1) as f64
    }

    fn most(&self, lane: &str, metric: Metric, phase: Phase) -> u64 {
        self.values(lane, metric, phase).into_iter().max().unwrap_or(0)
    }

    fn per_s(&self, lane: &str, metric: Metric, phase: Phase) -> f64 {
        self.mean(lane, metric, phase) * self.samples_per_s()
    }

    /// Rate of frames that reach the receiving host, in bits per second.
    pub(super) fn throughput_bps(&self, phase: Phase) -> f64 {
        self.per_s(INTO, Metric::TxBytes, phase) * 8.0
    }

    /// Retransmissions of the host per second.
    pub(super) fn retransmissions_per_s(&self, phase: Phase) -> f64 {
        self.per_s(OUT, Metric::RetransmittedPackets, phase)
    }

    /// A sampled metric over time, multiplied by `factor`.
    pub(super) fn curve(&self, name: String, lane: &str, metric: Metric, factor: f64) -> Curve {
        let points = self.outcome.series(lane, metric).iter();
        let points = points.map(|&(ns, value)| (ns as f64, value as f64 * factor));
        Curve::straight(name, points)
    }

    /// Samples per second.
    pub(super) fn samples_per_s(&self) -> f64 {
        self.effort.choose(1_000.0, 50.0)
    }
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let mut rows = Vec::new();
    for transport in TRANSPORTS {
        for &mode in transport.modes {
            let samples = StreamSamples::for_variant(results, transport, mode);
            let name = format!("{}, {mode}", transport.name);
            check_host_retransmissions(judgement, &samples, &name);
            if transport == BBR {
                check_bbr(judgement, &samples, &name);
            } else {
                let line_bps = speed_bps(results.outcome(&line_rate(mode, results.effort()))) * FRAME_SHARE;
                check_slowdown(judgement, &samples, &name, line_bps);
                check_queue(judgement, &samples, &name, transport);
            }
            rows.push(row(&samples, name));
        }
    }
    judgement.table(COLUMNS, rows);
    figures(judgement, results);
}

/// Checks that corruption slows the stream, and that protection restores its speed.
fn check_slowdown(judgement: &mut Judgement, samples: &StreamSamples<'_>, name: &str, line_bps: f64) {
    let [clean, corrupting, protected] = Phase::ALL.map(|phase| samples.throughput_bps(phase));
    judgement.must(
        format!("throughput with corruption as a share of clean, {name}"),
        fraction(corrupting / clean).at_most(SLOWED_SHARE_MAX),
    );
    judgement.must(format!("throughput, protected, {name}"), rate_bps(protected).at_least(0.97 * line_bps));
}

fn check_queue(judgement: &mut Judgement, samples: &StreamSamples<'_>, name: &str, transport: Transport) {
    let queue = |phase| samples.mean(FORWARD, Metric::QueueBytes, phase);
    for phase in [Phase::Clean, Phase::Corrupting] {
        judgement.must(format!("queue, {}, {name}", phase.name()), bytes(queue(phase)).at_most(10e3));
    }
    let dropped = Phase::ALL.map(|phase| samples.sum(FORWARD, Metric::DroppedFrames, phase));
    let what = format!("queue, protected, {name}");
    if transport == DCTCP {
        judgement
            .must(what, bytes(queue(Phase::Protected)).between(THRESHOLD_BYTES / 2.0, THRESHOLD_BYTES * 1.2));
        let marked = samples.outcome.summary.congestion.marked;
        judgement.some(format!("marks, {name}"), marked);
        judgement.none(format!("drops, {name}"), dropped.iter().sum());
    } else {
        judgement.must(what, bytes(queue(Phase::Protected)).at_least(THRESHOLD_BYTES / 2.0));
        judgement.none(format!("drops before protection, {name}"), dropped[0] + dropped[1]);
        judgement.some(format!("drops, protected, {name}"), dropped[2]);
    }
}

/// Checks that the host retransmits at most 1 % of the frames that the link lost.
fn check_host_retransmissions(judgement: &mut Judgement, samples: &StreamSamples<'_>, name: &str) {
    let sum = |lane, metric| samples.sum(lane, metric, Phase::Protected);
    let dropped = sum(FORWARD, Metric::DroppedFrames);
    let retransmitted = sum(OUT, Metric::RetransmittedPackets).saturating_sub(dropped);
    let lost = sum(FORWARD, Metric::CorruptedFrames);
    let what = format!("retransmissions per lost frame, protected, {name}");
    judgement.must(what, number(retransmitted as f64 / lost.max(1) as f64).at_most(0.01));
    let most = samples.most(FORWARD, Metric::RxBufferBytes, Phase::Protected);
    judgement.must(format!("reordering buffer, {name}"), bytes(most as f64).at_most(REORDER_BYTES_MAX));
}

fn check_bbr(judgement: &mut Judgement, samples: &StreamSamples<'_>, name: &str) {
    let [clean, corrupting, protected] = Phase::ALL.map(|phase| samples.throughput_bps(phase));
    judgement.must(
        format!("throughput with corruption as a share of clean, {name}"),
        fraction(corrupting / clean).at_least(BBR_SHARE_MIN),
    );
    judgement.must(
        format!("throughput with protection as a share of clean, {name}"),
        fraction(protected / clean).at_least(BBR_SHARE_MIN),
    );
    judgement.printed(
        format!("throughput with protection divided by that with corruption, {name}"),
        number(protected / corrupting).at_least(1.0),
    );
}

const COLUMNS: &str = "| clean | corrupting | protected | retransmitted, corrupting | protected | queue, corrupting | \
                       protected | drops, protected | reordering buffer at most";

fn row(samples: &StreamSamples<'_>, name: String) -> Vec<String> {
    let [clean, corrupting, protected] =
        Phase::ALL.map(|phase| format!("{:.2} Gb/s", samples.throughput_bps(phase) / 1e9));
    let retransmitted = |phase| human::count(samples.sum(OUT, Metric::RetransmittedPackets, phase));
    let queue = |phase| human::bytes(samples.mean(FORWARD, Metric::QueueBytes, phase));
    vec![
        name,
        clean,
        corrupting,
        protected,
        retransmitted(Phase::Corrupting),
        retransmitted(Phase::Protected),
        queue(Phase::Corrupting),
        queue(Phase::Protected),
        human::count(samples.sum(FORWARD, Metric::DroppedFrames, Phase::Protected)),
        human::bytes(samples.most(FORWARD, Metric::RxBufferBytes, Phase::Protected) as f64),
    ]
}

fn figures(judgement: &mut Judgement, results: &Results<'_>) {
    let curves = |lane: &str, metric, factor: fn(&StreamSamples<'_>) -> f64| {
        TRANSPORTS.map(|transport| {
            let samples = StreamSamples::for_variant(results, transport, LG);
            let name = format!("{}, {}G", transport.name, transport.stream.gbps);
            samples.curve(name, lane, metric, factor(&samples))
        })
    };
    let plot = |title: &str, label: &str, unit, most, curves: [Curve; 3]| Plot {
        title: title.to_owned(),
        description: format!("{title}, over time: DCTCP, CUBIC and BBR over a link with LinkGuardian."),
        x: Axis::new("time", Scale::Linear, Unit::TimeNs),
        y: Axis::new(label, Scale::Linear, unit).with_range(0.0, most),
        curves: curves.to_vec(),
    };
    let per_s = |samples: &StreamSamples<'_>| 8.0 * samples.samples_per_s();
    judgement.plot(
        "l15-throughput",
        &plot(
            "Streams before, during and after corruption",
            "throughput",
            Unit::RateBps,
            25e9,
            curves(INTO, Metric::TxBytes, per_s),
        ),
    );
    judgement.plot(
        "l15-queue",
        &plot(
            "Queue before the link",
            "queue",
            Unit::Bytes,
            600e3,
            curves(FORWARD, Metric::QueueBytes, |_| 1.0),
        ),
    );
    judgement.plot(
        "l15-buffer",
        &plot(
            "Reordering buffer behind the link",
            "reordering buffer",
            Unit::Bytes,
            REORDER_BYTES_MAX,
            curves(FORWARD, Metric::RxBufferBytes, |_| 1.0),
        ),
    );
}
