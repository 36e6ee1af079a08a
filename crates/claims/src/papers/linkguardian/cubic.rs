//! L14: a CUBIC stream over links without protection, with FEC (Wharf), and with retransmission.

use super::stream::{HARDENED, HARDENED_NB, LG, LG_NB, NONE, Stream};
use crate::ledger::number::spread;
use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L14",
    title: "a CUBIC stream on 10G: none, Wharf, LinkGuardian",
    source: source("section 4.7, Table 3"),
    paper: "Goodput of a CUBIC stream on a 10G link in Gb/s at loss rates 0, 1e-5, 1e-4, 1e-3 and 1e-2: without \
           protection 9.49, 9.48, 8.01, 3.48, 1.46; with Wharf (n/a), 9.13, 9.13, 9.13, 7.91; with LinkGuardian and \
           LinkGuardianNB alike 9.47, 9.47, 9.47, 9.46, 9.2",
    method: "One stream, RTO_min 1 ms, a queue of 560 KB at the link. Segments of the simulator have timestamps \
             (1448 B of 1538 B), those of the testbed have none (1460 B: 9.49 Gb/s), so that shares of the clean \
             goodput are compared. Hosts have a clock of 1 kHz, which CUBIC of Linux uses; CUBIC of RFC 9438 is \
             measured too. Round trips: 30 µs, the paper's value for TCP, and 46, 100 and 126 µs, all of it in the \
             hosts' stacks. Results are means of several seeds, with minimum and maximum",
    note: "Two things make the testbed slower. Its kernel evaluates CUBIC's curve with a clock of 1 ms, and not at \
           all for a 32nd of a second while the window stays the same. At 30 µs the window therefore stays for about \
           a hundred round trips after a loss, where RFC 9438 lets it grow in each; this costs up to half of the \
           goodput. The other difference is the round trip: the printed numbers fit round trips of about 46, 100 and \
           126 µs at 1e-2, 1e-3 and 1e-4, so the faster stream has the longer round trip, and no single round trip \
           fits all three within 10 %. Interrupt coalescing at high packet rates would have this effect, which was \
           not measured here; 30 µs is the round trip of a single packet. Over a protected link the round trip \
           hardly matters. Wharf's column is arithmetic, as the paper says: the share of the link that parity frames \
           leave. Two losses in one block are not corrected, 5e-4 of all frames at 1e-2 with blocks of five, and \
           slow a stream down more with a longer round trip",
    judge,
    ..Claim::FORM
};

/// Printed goodput at one loss rate, in Gb/s.
struct Column {
    loss: f64,
    none: f64,
    wharf: f64,
    linkguardian: f64,
    /// The code of Wharf at this loss rate.
    code: &'static str,
}

const fn column(loss: f64, none: f64, wharf: f64, linkguardian: f64, code: &'static str) -> Column {
    Column { loss, none, wharf, linkguardian, code }
}

static COLUMNS: [Column; 4] = [
    column(1e-5, 9.48, 9.13, 9.47, FEC_25),
    column(1e-4, 8.01, 9.13, 9.47, FEC_25),
    column(1e-3, 3.48, 9.13, 9.46, FEC_25),
    column(1e-2, 1.46, 7.91, 9.2, FEC_5),
];
const CLEAN_GBPS: f64 = 9.49;
const FEC_25: &str = "fec(25,1)";
const FEC_5: &str = "fec(5,1)";

/// Payload of a full segment without timestamps, and with timestamps as in the simulator; bytes of both on
/// the wire.
const PAPER_SEGMENT_BYTES: f64 = 1460.0;
const WIRE_BYTES: f64 = 1538.0;
/// Bytes of LinkGuardian's header.
const HEADER_BYTES: f64 = 3.0;

const STREAM: Stream = Stream { congestion: "cubic", gbps: 10 };
const MODES: [&str; 4] = [LG, LG_NB, HARDENED, HARDENED_NB];
/// Tolerance for protected streams, and for streams whose goodput depends on random losses.
const PROTECTED_TOLERANCE: f64 = 0.025;

/// Round trip of a full segment and its acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct RoundTrip {
    us: u32,
    /// Delay of each host's stack; links and switches take 6.5 µs.
    stack: &'static str,
}

/// The round trip that the paper gives.
const PAPER_ROUND_TRIP: RoundTrip = RoundTrip { us: 30, stack: "12us" };
/// The round trips that fit at 1e-2, 1e-3 and 1e-4.
const LONGER_ROUND_TRIPS: [RoundTrip; 3] = [
    RoundTrip { us: 46, stack: "20us" },
    RoundTrip { us: 100, stack: "47us" },
    RoundTrip { us: 126, stack: "60us" },
];
const MIDDLE_ROUND_TRIP: RoundTrip = LONGER_ROUND_TRIPS[1];

/// A stream at one loss rate, for all seeds.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Trial {
    round_trip: RoundTrip,
    variant: &'static str,
    loss: f64,
    clock: Clock,
}

/// The clock of CUBIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Clock {
    /// The clock tick of a kernel.
    Ticking,
    /// An exact clock, as RFC 9438 assumes.
    Exact,
}

impl Trial {
    fn run(&self, seed: u64, effort: Effort) -> Run {
        let Self { round_trip, variant, loss, clock } = *self;
        // Streams that depend on losses need a long run, for enough losses and to outweigh the start.
        let quick_ms = match (variant == NONE && loss > 1e-5, round_trip == PAPER_ROUND_TRIP) {
            (true, true) => 100,
            (true, false) => 250,
            (false, true) if loss < 1e-2 => 40,
            (false, _) => 80,
        };
        let ms = effort.choose(quick_ms, 10 * quick_ms);
        let run = if variant.starts_with("fec") {
            let run = Run::new("claims/stream-parities").variant(variant);
            run.set("impair.0.rate", format!("{loss:e}"))
        } else {
            STREAM.run(variant, format!("{loss:e}"))
        };
        let gbps = if variant == NONE {
            (2e4 / f64::from(round_trip.us) / loss.sqrt() / 1e3).min(9.4)
        } else {
            20.0
        };
        let run = if clock == Clock::Exact { run.set("transport.tcp.tick", "0ns") } else { run };
        run.set("transport.tcp.stack_latency", round_trip.stack)
            .set("stop.after", format!("{ms}ms"))
            .seed(seed)
            .seconds(f64::from(ms) * gbps * 1.5e-4)
    }

    fn seeds(&self, effort: Effort) -> u64 {
        let decides = self.variant == NONE && self.loss > 1e-5;
        if decides {
            effort.choose(if self.round_trip == PAPER_ROUND_TRIP { 2 } else { 3 }, 5)
        } else {
            effort.choose(1, 2)
        }
    }

    fn runs(&self, effort: Effort) -> Vec<Run> {
        (1..=self.seeds(effort)).map(|seed| self.run(seed, effort)).collect()
    }

    fn outcomes<'a>(&self, results: &'a Results<'_>) -> Vec<&'a Outcome> {
        self.runs(results.effort()).iter().map(|run| results.outcome(run)).collect()
    }

    /// Mean, minimum and maximum over all seeds, in bits per second.
    fn goodput(&self, results: &Results<'_>) -> [f64; 3] {
        spread(self.outcomes(results).iter().map(|outcome| outcome.summary.whole_run_goodput_bps as f64))
    }

    /// Share of the goodput that is possible without loss.
    fn share(&self, results: &Results<'_>) -> f64 {
        self.goodput(results)[0] / clean_bps()
    }

    fn shown(&self, results: &Results<'_>) -> String {
        let [mean, least, most] = self.goodput(results).map(|bps| format!("{:.2}", bps / 1e9));
        if least == most { mean } else { format!("{mean} ({least}–{most})") }
    }
}

/// Payload rate of full segments on the link.
fn clean_bps() -> f64 {
    10e9 * 1448.0 / WIRE_BYTES
}

fn none(round_trip: RoundTrip, loss: f64) -> Trial {
    Trial { round_trip, variant: NONE, loss, clock: Clock::Ticking }
}

/// CUBIC of RFC 9438 at the paper's round trip.
fn rfc_9438(loss: f64) -> Trial {
    Trial { clock: Clock::Exact, ..none(PAPER_ROUND_TRIP, loss) }
}

/// All loss rates at the paper's round trip, and those that slow a stream at longer ones; quick effort takes
/// only the pairs that fit.
fn unprotected(effort: Effort) -> Vec<Trial> {
    let given = COLUMNS.iter().map(|column| none(PAPER_ROUND_TRIP, column.loss));
    let longer = LONGER_ROUND_TRIPS
        .into_iter()
        .flat_map(|at| COLUMNS[1..].iter().map(move |column| none(at, column.loss)));
    let is_wanted = |trial: &Trial| effort == Effort::Full || fitting().contains(trial);
    let exact = COLUMNS[1..].iter().map(|column| rfc_9438(column.loss));
    given.chain(exact).chain(longer.filter(is_wanted)).chain([clean()]).collect()
}

/// The loss rates that slow a stream, each with the round trip at which it has the printed goodput.
fn fitting() -> [Trial; 3] {
    [
        none(LONGER_ROUND_TRIPS[0], COLUMNS[3].loss),
        none(LONGER_ROUND_TRIPS[1], COLUMNS[2].loss),
        none(LONGER_ROUND_TRIPS[2], COLUMNS[1].loss),
    ]
}

fn clean() -> Trial {
    none(PAPER_ROUND_TRIP, 0.0)
}

/// Protected links at this loss rate.
fn protected_trials(column: &'static Column) -> Vec<Trial> {
    let given = MODES.into_iter().chain([column.code]).map(|variant| (PAPER_ROUND_TRIP, variant));
    let longer = [LG, LG_NB, column.code].map(|variant| (MIDDLE_ROUND_TRIP, variant));
    let of = |(round_trip, variant)| Trial { variant, ..none(round_trip, column.loss) };
    given.chain(longer.into_iter().filter(|_| column.loss > 1e-4)).map(of).collect()
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    arithmetic(judgement);
    judgement.must(
        "goodput without loss",
        rate_bps(clean().goodput(results)[0]).near(clean_bps(), PROTECTED_TOLERANCE),
    );
    let mut applied = Vec::new();
    for column in &COLUMNS {
        protected(judgement, results, column);
        let share = |trial: Trial| fraction(trial.share(results));
        let figure = judgement.printed(
            format!("share without protection, {}, 30 µs", shown(column.loss)),
            share(none(PAPER_ROUND_TRIP, column.loss)).near(column.none / CLEAN_GBPS, 0.1),
        );
        let fitting = fitting().into_iter().find(|trial| trial.loss.total_cmp(&column.loss).is_eq());
        applied.extend(fitting.map(|trial| (figure, share(trial))));
    }
    judgement.explain("round trips of 126, 100 and 46 µs at 1e-4, 1e-3 and 1e-2", applied.len(), &applied);
    let falling: Vec<_> = COLUMNS.iter().rev().map(|column| none(PAPER_ROUND_TRIP, column.loss)).collect();
    let names: Vec<_> = falling.iter().map(|trial| shown(trial.loss)).collect();
    let ordered: Vec<_> = names
        .iter()
        .zip(&falling)
        .map(|(name, trial)| (name.as_str(), rate_bps(trial.goodput(results)[0])))
        .collect();
    judgement.must("goodput without protection, 30 µs", ascending(&ordered, 0.01));
    judgement.table(TABLE_HEADS, rows(results));
    judgement.plot("l14", &figure(results));
}

/// Checks which ratios of bytes the printed numbers are.
fn arithmetic(judgement: &mut Judgement) {
    let clean = 10.0 * PAPER_SEGMENT_BYTES / WIRE_BYTES;
    let rounded = |gbps: f64| number((gbps * 100.0).round() / 100.0);
    judgement.must("1460 B of 1538 B", rounded(clean).near(CLEAN_GBPS, 0.0));
    let behind_header = 10.0 * PAPER_SEGMENT_BYTES / (WIRE_BYTES + HEADER_BYTES);
    judgement.must("1460 B of 1541 B", rounded(behind_header).near(COLUMNS[0].linkguardian, 0.0));
    judgement.must("25 of 26 frames", rounded(clean * 25.0 / 26.0).near(COLUMNS[0].wharf, 0.0));
    judgement.must("5 of 6 frames", rounded(clean * 5.0 / 6.0).near(COLUMNS[3].wharf, 0.0));
}

fn protected(judgement: &mut Judgement, results: &Results<'_>, column: &'static Column) {
    for trial in protected_trials(column) {
        let Trial { round_trip, variant, loss, .. } = trial;
        let place = format!("{}, {} µs", shown(loss), round_trip.us);
        let what = format!("share, {variant}, {place}");
        let share = fraction(trial.share(results));
        if variant != column.code {
            judgement.must(what, share.near(column.linkguardian / CLEAN_GBPS, PROTECTED_TOLERANCE));
            continue;
        }
        let by_retransmission = Trial { variant: LG, ..trial };
        let order =
            [trial, by_retransmission].map(|trial| (trial.variant, rate_bps(trial.goodput(results)[0])));
        judgement.must(format!("goodput, {place}"), ascending(&order, 0.0));
        let as_printed = share.near(column.wharf / CLEAN_GBPS, PROTECTED_TOLERANCE);
        if round_trip == PAPER_ROUND_TRIP {
            judgement.must(what, as_printed);
        } else {
            judgement.printed(what, as_printed);
        }
    }
}

const TABLE_HEADS: &str = "loss rate | none, paper | RFC 9438, 30 µs | none, 30 µs | 46 µs | 100 µs | 126 µs | Wharf, \
                           paper | fec, 30 µs | 100 µs | LinkGuardian, paper | LinkGuardian, 30 µs | 100 µs | NB, 30 \
                           µs";

fn rows(results: &Results<'_>) -> Vec<Vec<String>> {
    let row = |column: &'static Column| {
        let known = [unprotected(results.effort()), protected_trials(column)].concat();
        let shown_if =
            |trial: Trial| if known.contains(&trial) { trial.shown(results) } else { String::new() };
        let of = |round_trip, variant| shown_if(Trial { variant, ..none(round_trip, column.loss) });
        vec![
            shown(column.loss),
            format!("{}", column.none),
            shown_if(rfc_9438(column.loss)),
            of(PAPER_ROUND_TRIP, NONE),
            of(LONGER_ROUND_TRIPS[0], NONE),
            of(LONGER_ROUND_TRIPS[1], NONE),
            of(LONGER_ROUND_TRIPS[2], NONE),
            format!("{}", column.wharf),
            of(PAPER_ROUND_TRIP, column.code),
            of(MIDDLE_ROUND_TRIP, column.code),
            format!("{}", column.linkguardian),
            of(PAPER_ROUND_TRIP, LG),
            of(MIDDLE_ROUND_TRIP, LG),
            of(PAPER_ROUND_TRIP, LG_NB),
        ]
    };
    COLUMNS.iter().map(row).collect()
}

fn figure(results: &Results<'_>) -> Plot {
    let curve = |name: &str, points: Vec<(f64, f64)>| Curve::marked(name, points);
    let printed =
        |of: fn(&Column) -> f64| COLUMNS.iter().map(|column| (column.loss, of(column) * 1e9)).collect();
    let ours = |round_trip, variant, columns: &[Column]| {
        let point = |column: &Column| {
            (column.loss, Trial { variant, ..none(round_trip, column.loss) }.goodput(results)[0])
        };
        columns.iter().map(point).collect::<Vec<_>>()
    };
    let slowed = fitting().iter().rev().map(|trial| (trial.loss, trial.goodput(results)[0])).collect();
    let by_rfc =
        COLUMNS[1..].iter().map(|column| (column.loss, rfc_9438(column.loss).goodput(results)[0])).collect();
    let parities =
        COLUMNS.iter().flat_map(|column| ours(PAPER_ROUND_TRIP, column.code, std::slice::from_ref(column)));
    Plot::new(
        "Goodput of a CUBIC stream over a link of 10 Gb/s",
        "Goodput against the loss rate of the link, measured and as printed.",
        Axis::new("loss rate of the link", Scale::Log, Unit::Number),
        Axis::new("goodput", Scale::Linear, Unit::RateBps).with_range(0.0, 10e9),
        vec![
            curve("none, paper", printed(|column| column.none)),
            curve("none, 30 µs", ours(PAPER_ROUND_TRIP, NONE, &COLUMNS)),
            curve("none, 30 µs, RFC 9438", by_rfc),
            curve("none, 126, 100, 46 µs", slowed),
            curve("Wharf, paper", printed(|column| column.wharf)),
            curve("fec, 30 µs", parities.collect()),
            curve("LinkGuardian, paper", printed(|column| column.linkguardian)),
            curve("LinkGuardian, 30 µs", ours(PAPER_ROUND_TRIP, LG, &COLUMNS)),
        ],
    )
}
