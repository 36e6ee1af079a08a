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

/// A column of Table 3: loss rate, goodput without protection, with Wharf and with LinkGuardian in Gb/s, and the
/// code of Wharf.
type Column = (f64, f64, f64, f64, &'static str);
const TABLE: [Column; 4] = [
    (1e-5, 9.48, 9.13, 9.47, "fec(25,1)"),
    (1e-4, 8.01, 9.13, 9.47, "fec(25,1)"),
    (1e-3, 3.48, 9.13, 9.46, "fec(25,1)"),
    (1e-2, 1.46, 7.91, 9.2, "fec(5,1)"),
];
const CLEAN_GBPS: f64 = 9.49;
/// Payload of a full segment without timestamps, and its bytes on the wire.
const PAPER_SEGMENT_BYTES: f64 = 1460.0;
const WIRE_BYTES: f64 = 1538.0;
/// Payload rate of full segments of the simulator, which have timestamps.
const CLEAN_BPS: f64 = 10e9 * 1448.0 / WIRE_BYTES;
const STREAM: Stream = Stream { congestion: "cubic", gbps: 10 };
/// Tolerance for protected streams.
const PROTECTED_TOLERANCE: f64 = 0.025;
/// Round trips in microseconds: the paper's, and those that fit at 1e-2, 1e-3 and 1e-4. All but 6 µs is delay of the
/// hosts' stacks.
const ROUND_TRIPS_US: [u32; 4] = [30, 46, 100, 126];
const GIVEN_US: u32 = ROUND_TRIPS_US[0];
const MIDDLE_US: u32 = ROUND_TRIPS_US[2];

/// A stream at one loss rate, for all seeds.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Trial {
    rtt_us: u32,
    variant: &'static str,
    loss: f64,
    /// Whether CUBIC has the clock tick of a kernel, or an exact clock, as RFC 9438 assumes.
    has_tick: bool,
}

impl Trial {
    fn run(&self, seed: u64, effort: Effort) -> Run {
        let Self { rtt_us, variant, loss, has_tick } = *self;
        // Streams that depend on losses need a long run, for enough losses and to outweigh the start.
        let quick_ms = match (variant == NONE && loss > 1e-5, rtt_us == GIVEN_US) {
            (true, true) => 100,
            (true, false) => 250,
            (false, true) if loss < 1e-2 => 40,
            (false, _) => 80,
        };
        let ms = effort.choose(quick_ms, 10 * quick_ms);
        let run = if variant.starts_with("fec") {
            Run::new("claims/stream-parities").variant(variant).set("impair.0.rate", format!("{loss:e}"))
        } else {
            STREAM.run(variant, format!("{loss:e}"))
        };
        let run = if has_tick { run } else { run.set("transport.tcp.tick", "0ns") };
        run.set("transport.tcp.stack_latency", format!("{}us", (rtt_us - 6) / 2))
            .set("stop.after", format!("{ms}ms"))
            .seed(seed)
            .seconds(f64::from(ms) * if variant == NONE { 1e-3 } else { 3e-3 })
    }

    fn outcomes<'a>(&self, results: &'a Results<'_>) -> Vec<&'a Outcome> {
        let effort = results.effort();
        let seeds = match (self.variant == NONE && self.loss > 1e-5, self.rtt_us == GIVEN_US) {
            (true, true) => effort.choose(2, 5),
            (true, false) => effort.choose(3, 5),
            (false, _) => effort.choose(1, 2),
        };
        (1..=seeds).map(|seed| results.outcome(&self.run(seed, effort))).collect()
    }

    /// Mean, minimum and maximum over all seeds, in bits per second.
    fn goodput(&self, results: &Results<'_>) -> [f64; 3] {
        spread(self.outcomes(results).iter().map(|outcome| outcome.goodput().value))
    }

    fn mean(&self, results: &Results<'_>) -> Number {
        rate_bps(self.goodput(results)[0])
    }

    /// Share of the goodput that is possible without loss.
    fn share(&self, results: &Results<'_>) -> Number {
        fraction(self.mean(results).value / CLEAN_BPS)
    }

    fn name(&self) -> String {
        let clock = if self.has_tick { "" } else { ", RFC 9438" };
        format!("{}{clock}, {}, {} µs", self.variant, shown(self.loss), self.rtt_us)
    }

    fn row(&self, judgement: &mut Judgement, results: &Results<'_>, printed_gbps: f64) {
        let [mean, least, most] = self.goodput(results).map(|bps| format!("{:.2}", bps / 1e9));
        let range = if least == most { String::new() } else { format!("{least}–{most}") };
        judgement.row(self.name(), [&printed_gbps, &mean, &range]);
    }
}

fn none(rtt_us: u32, loss: f64) -> Trial {
    Trial { rtt_us, variant: NONE, loss, has_tick: true }
}

/// The round trip at which a stream has the printed goodput.
fn fitting_us(loss: f64) -> Option<u32> {
    let place = [1e-2, 1e-3, 1e-4_f64].iter().position(|at| at.total_cmp(&loss).is_eq())?;
    Some(ROUND_TRIPS_US[place + 1])
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    arithmetic(judgement);
    let clean = none(GIVEN_US, 0.0).mean(results);
    judgement.must("goodput without loss", clean.near(CLEAN_BPS, PROTECTED_TOLERANCE));
    let mut applied = Vec::new();
    let mut ordered = Vec::new();
    for column in TABLE {
        let (loss, printed, ..) = column;
        let given = none(GIVEN_US, loss);
        protected(judgement, results, column);
        let what = format!("share without protection, {}, 30 µs", shown(loss));
        let figure = judgement.printed(what, given.share(results).near(printed / CLEAN_GBPS, 0.1));
        given.row(judgement, results, printed);
        ordered.push((shown(loss), given.mean(results)));
        if let Some(rtt_us) = fitting_us(loss) {
            applied.push((figure, none(rtt_us, loss).share(results)));
            Trial { has_tick: false, ..given }.row(judgement, results, printed);
        }
        for rtt_us in ROUND_TRIPS_US {
            let is_shown = results.effort() == Effort::Full && fitting_us(loss).is_some();
            if rtt_us != GIVEN_US && (is_shown || fitting_us(loss) == Some(rtt_us)) {
                none(rtt_us, loss).row(judgement, results, printed);
            }
        }
    }
    judgement.explain("round trips of 126, 100 and 46 µs at 1e-4, 1e-3 and 1e-2", applied.len(), &applied);
    let falling: Vec<_> = ordered.iter().rev().map(|(loss, bps)| (loss.as_str(), *bps)).collect();
    judgement.must("goodput without protection, 30 µs", ascending(&falling, 0.01));
    judgement.columns("link, loss rate, round trip | printed, Gb/s | mean, Gb/s | of all seeds");
}

/// Checks which ratios of bytes the printed numbers are.
fn arithmetic(judgement: &mut Judgement) {
    let clean = 10.0 * PAPER_SEGMENT_BYTES / WIRE_BYTES;
    // LinkGuardian's header has 3 bytes.
    let with_header = 10.0 * PAPER_SEGMENT_BYTES / (WIRE_BYTES + 3.0);
    for (what, gbps, printed) in [
        ("1460 B of 1538 B", clean, CLEAN_GBPS),
        ("1460 B of 1541 B", with_header, TABLE[0].3),
        ("25 of 26 frames", clean * 25.0 / 26.0, TABLE[0].2),
        ("5 of 6 frames", clean * 5.0 / 6.0, TABLE[3].2),
    ] {
        judgement.must(what, number((gbps * 100.0).round() / 100.0).near(printed, 0.0));
    }
}

fn protected(judgement: &mut Judgement, results: &Results<'_>, (loss, _, wharf, guardian, code): Column) {
    let given = [LG, LG_NB, HARDENED, HARDENED_NB, code].map(|variant| (GIVEN_US, variant));
    let longer = [LG, LG_NB, code].map(|variant| (MIDDLE_US, variant));
    let longer = longer.into_iter().filter(|_| loss > 1e-4);
    for (rtt_us, variant) in given.into_iter().chain(longer) {
        let trial = Trial { variant, ..none(rtt_us, loss) };
        let place = format!("{}, {rtt_us} µs", shown(loss));
        let what = format!("share, {variant}, {place}");
        let printed = if variant == code { wharf } else { guardian };
        let test = trial.share(results).near(printed / CLEAN_GBPS, PROTECTED_TOLERANCE);
        if variant == code {
            let order = [trial, Trial { variant: LG, ..trial }];
            let order = order.map(|trial| (trial.variant, trial.mean(results)));
            judgement.must(format!("goodput, {place}"), ascending(&order, 0.0));
        }
        if variant == code && rtt_us == MIDDLE_US {
            judgement.printed(what, test);
        } else {
            judgement.must(what, test);
        }
        trial.row(judgement, results, printed);
    }
}
