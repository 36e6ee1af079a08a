//! L10: flows of some packets, which come out of order or not.

use wiremend_report::human;

use super::trial::{
    ALL, COLUMNS, FEC_5, FEC_25, HARDENED, HARDENED_NB, LOSS, NO_LOSS, PART, PROTECTED, RETX_TAIL, RoundTrip,
    SHOWN, Trial,
};
use crate::claims::completion::share_above;
use crate::claims::joshi::source;
use crate::ledger::number::{ascending, fraction, number, shown as digits, time_ns};
use crate::ledger::{Claim, Effort, Finding, Judgement, Results, Run};

pub(super) const CLAIM: Claim = Claim {
    id: "L10",
    title: "flows of some packets over a protected link: RDMA",
    source: source!("section 4.3, Fig. 11"),
    paper: "RDMA WRITEs of 24 387 B over a 100G link that loses 1e-3: 99.9 % of the flows finish 39 times sooner with LinkGuardian, whose line \
            mostly overlaps that without loss; its non-blocking mode improves nothing for RDMA but that no timer fires",
    method: "As L9, with flows of 24 387 B (24 packets). Reproduced if the prototype in order gains 39 at 99.9 % within 10 % at a round trip of \
             16 µs (the run published with the prototype gives 31: 1090 to 35.6 µs), and less than 31 at 30 µs; if no timer fires with either \
             mode, prototype or hardened; if in order 99.9 % is at most twice that without loss, and no more flows take 5 % longer than without loss \
             than are hit (3 %); and if the non-blocking modes are no better than loss at 99 % (within 5 %), and no better than order at 99.9 %. \
             Beside them, at 16 µs, links that send a parity behind every 25 or 5 frames and keep the order",
    runs,
    judge,
};

pub(super) const FLOW_BYTES: u32 = 24_387;
const PRINTED: f64 = 39.0;
/// What does not fit.
const MISFIT: f64 = PRINTED / 1.25;
/// 24 packets, each lost with 1.16e-3.
const HIT: f64 = 0.03;
const SAME: f64 = 0.05;

fn trial(effort: Effort, round_trip: RoundTrip) -> Trial {
    Trial::new(FLOW_BYTES, effort, round_trip)
}

/// At the round trip that does not fit, the prototype alone.
fn shown(round_trip: RoundTrip) -> &'static [&'static str] {
    match round_trip {
        RoundTrip::Rdma => &SHOWN,
        RoundTrip::Tcp => &SHOWN[..4],
    }
}

/// The ordered and the non-blocking mode of each protocol.
fn modes(round_trip: RoundTrip) -> &'static [(&'static str, &'static str)] {
    match round_trip {
        RoundTrip::Rdma => &[(ALL, RETX_TAIL), (HARDENED, HARDENED_NB)],
        RoundTrip::Tcp => &[(ALL, RETX_TAIL)],
    }
}

fn runs(effort: Effort) -> Vec<Run> {
    let runs = |round_trip| trial(effort, round_trip).runs(shown(round_trip));
    RoundTrip::ALL.into_iter().flat_map(runs).collect()
}

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let mut rows = Vec::new();
    for round_trip in RoundTrip::ALL {
        let trial = trial(results.effort(), round_trip);
        rows.extend(shown(round_trip).iter().map(|variant| trial.row(results, variant)));
        trial.timers_decide(&mut judgement, results);
        for variant in shown(round_trip).iter().filter(|variant| PROTECTED.contains(variant)) {
            trial.spares_timers(&mut judgement, results, variant);
        }
        for &(ordered, unordered) in modes(round_trip) {
            trial.hides_losses(&mut judgement, results, ordered);
            overlaps(&mut judgement, &trial, results, ordered);
            without_order(&mut judgement, &trial, results, [ordered, unordered]);
        }
    }
    let [rdma, tcp] = RoundTrip::ALL.map(|round_trip| trial(results.effort(), round_trip));
    let [at_16, at_30] = [rdma, tcp].map(|trial| trial.gain(results, ALL));
    judgement.must(format!("gain at 99.9 %, 16 µs, {ALL}"), number(at_16).near(PRINTED, PART));
    judgement.must(format!("gain at 99.9 %, 30 µs, {ALL}"), number(at_30).below(MISFIT));
    judgement.plot("l10-rdma-16us", &rdma.figure(results, shown(RoundTrip::Rdma), 0.95));
    judgement.plot("l10-rdma-30us", &tcp.figure(results, shown(RoundTrip::Tcp), 0.95));
    judgement.table(&COLUMNS, rows);
    judgement.finding(
        format!(
            "At a round trip of 16 µs the prototype gains {} at 99.9 % ({} at 30 µs, which does not fit), the hardened protocol {}; non-blocking \
             they gain {} and {}, by sparing timeouts alone, with {} and {} packets sent again; {FEC_25} gains {} and {FEC_5} {}, with {} and {} packets sent again",
            digits(at_16),
            digits(at_30),
            digits(rdma.gain(results, HARDENED)),
            digits(rdma.gain(results, RETX_TAIL)),
            digits(rdma.gain(results, HARDENED_NB)),
            human::count(rdma.sent_again(results, RETX_TAIL)),
            human::count(rdma.sent_again(results, HARDENED_NB)),
            digits(rdma.gain(results, FEC_25)),
            digits(rdma.gain(results, FEC_5)),
            human::count(rdma.sent_again(results, FEC_25)),
            human::count(rdma.sent_again(results, FEC_5)),
        ),
        "A packet that comes late is a gap to go-back-N: the rest is sent again after a round trip, as if the packet had been lost. Only a lost tail has \
         nothing behind it that could be out of order. That the gain agrees so well is luck: hosts of the testbed scatter flows by more than the link \
         takes to recover. Error correction keeps the order and costs no round trip, but of two losses in a block both remain, and parities cost whether \
         or not frames are lost",
    )
}

/// No more flows take visibly longer than without loss than are hit.
fn overlaps(judgement: &mut Judgement, trial: &Trial, results: &Results<'_>, ordered: &'static str) {
    let visible = trial.at(results, NO_LOSS, 1.0) * (1.0 + SAME);
    let longer = share_above(trial.of(results, ordered), visible);
    judgement.must(
        format!("flows longer than without loss, {}", trial.named(ordered)),
        fraction(longer).at_most(HIT),
    );
}

/// Frames that are sent again late are no help to go-back-N.
fn without_order(
    judgement: &mut Judgement,
    trial: &Trial,
    results: &Results<'_>,
    [ordered, unordered]: [&'static str; 2],
) {
    let name = trial.named(unordered);
    let at_99 = [LOSS, unordered].map(|variant| trial.at(results, variant, 0.99));
    judgement.must(format!("99 % as with loss, {name}"), time_ns(at_99[1]).near(at_99[0], SAME));
    let at_999 = [ordered, unordered].map(|variant| (variant, time_ns(trial.at(results, variant, 0.999))));
    judgement.must(format!("99.9 %, {name}"), ascending(&at_999, 0.0));
}
