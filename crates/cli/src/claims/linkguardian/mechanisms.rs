//! L13: what each mechanism of LinkGuardian is good for.

use wiremend_report::human;

use super::multi_packet::FLOW_BYTES;
use super::trial::{
    ALL, HARDENED, HARDENED_1, HARDENED_NB, HIDDEN, LOSS, NO_LOSS, RETX, RETX_ORDER, RETX_TAIL, RoundTrip,
    Trial,
};
use crate::claims::joshi::source;
use crate::ledger::number::{ascending, number, shown, time_ns};
use crate::ledger::{Claim, Effort, Finding, Judgement, Results, Run};

pub(super) const CLAIM: Claim = Claim {
    id: "L13",
    title: "mechanisms of LinkGuardian, one by one: RDMA",
    source: source!("section 4.5, Table 2"),
    paper: "Flows of 24 387 B with retransmission alone (ReTx), with order, with dummies for tails, and with all: order helps a little, tails wait \
            for a timer at 99.99 % and above unless dummies show them, and all together nearly match flows without loss. RDMA \
            (numbers omitted) is alike, but that at 99.9 % ReTx+Order is 3.75 times better than ReTx",
    method: "As L10 at a round trip of 16 µs, with the prototype; without tails it sends no dummies. \
             Reproduced if at 99 % ReTx+Order is at least 1.2 times better than ReTx, if at 99.99 % both wait for the timer (1.05 ms) and with \
             tails no flow takes a tenth of it, all together (LinkGuardian) is never slower than ReTx+Tail (LinkGuardianNB) nor than twice no loss, and if ReTx+Order is 3.75 times \
             better than ReTx at 99.9 %, within 25 %, on the side of that quantile on which no tail is lost: with a loss of 6e-4. \
             Ours has no mode without dummies: it is shown with three and with one",
    runs,
    judge,
};

const COLUMNS: [&str; 6] = [NO_LOSS, LOSS, RETX, RETX_ORDER, RETX_TAIL, ALL];
/// Ours, for comparison.
const OURS: [&str; 3] = [HARDENED_NB, HARDENED, HARDENED_1];
const QUANTILES: [(&str, f64); 4] =
    [("99 %", 0.99), ("99.9 %", 0.999), ("99.99 %", 0.9999), ("99.999 %", 0.99999)];

/// Fewer tails are lost than lie beyond 99.9 %.
const SPARING: f64 = 6e-4;
const PRINTED: f64 = 3.75;
const PRINTED_PART: f64 = 0.25;
const ORDER_HELPS: f64 = 1.2;
const RTO_NS: f64 = 4096.0 * 256.0;

fn trial(effort: Effort) -> Trial {
    Trial::new(FLOW_BYTES, effort, RoundTrip::Rdma)
}

fn sparing(effort: Effort) -> Trial {
    Trial { loss: SPARING, ..trial(effort) }
}

fn runs(effort: Effort) -> Vec<Run> {
    let table = trial(effort).runs(&COLUMNS);
    [table, trial(effort).runs(&OURS), sparing(effort).runs(&[RETX, RETX_ORDER])].concat()
}

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let trial = trial(results.effort());
    let at = |variant, quantile| trial.at(results, variant, quantile);
    let order = at(RETX, 0.99) / at(RETX_ORDER, 0.99);
    judgement.must("ReTx against ReTx+Order at 99 %", number(order).at_least(ORDER_HELPS));
    for variant in [RETX, RETX_ORDER] {
        judgement.must(format!("99.99 %, {variant}"), time_ns(at(variant, 0.9999)).at_least(RTO_NS));
    }
    for variant in [RETX_TAIL, ALL, HARDENED, HARDENED_1] {
        judgement.must(format!("slowest, {variant}"), time_ns(at(variant, 1.0)).below(RTO_NS / 10.0));
    }
    for (name, quantile) in QUANTILES {
        let numbers = [ALL, RETX_TAIL].map(|variant| (variant, time_ns(at(variant, quantile))));
        judgement.must(name, ascending(&numbers, 0.0));
        let longer = at(ALL, quantile) / at(NO_LOSS, quantile);
        judgement.must(format!("all against no loss, {name}"), number(longer).at_most(HIDDEN));
    }
    let measured = at_the_edge(&mut judgement, results);
    judgement.plot("l13-rdma", &trial.figure(results, &COLUMNS, 0.99));
    let columns: Vec<_> = [&[""], &COLUMNS[..], &OURS].concat();
    let row = |(name, quantile): (&str, f64)| {
        let times = columns[1..].iter().map(|&variant| human::time_ns(at(variant, quantile)));
        std::iter::once(name.to_owned()).chain(times).collect()
    };
    judgement.table(&columns, QUANTILES.into_iter().map(row).collect());
    judgement.finding(
        format!(
            "At 99 % order makes ReTx {} times better; {measured}; with tails the slowest flow takes {} non-blocking and {} in order, {} hardened ({} with one dummy, the fewest that it takes)",
            shown(order),
            human::time_ns(at(RETX_TAIL, 1.0)),
            human::time_ns(at(ALL, 1.0)),
            human::time_ns(at(HARDENED, 1.0)),
            human::time_ns(at(HARDENED_1, 1.0)),
        ),
        "Order spares a round trip, dummies spare the timer",
    )
}

/// 99.9 % is where tails that are lost begin to count: on which side of it a sample falls decides on the ratio.
fn at_the_edge(judgement: &mut Judgement, results: &Results<'_>) -> String {
    let [lossy, sparing] = [trial(results.effort()), sparing(results.effort())];
    let below = sparing.at(results, RETX, 0.999) / sparing.at(results, RETX_ORDER, 0.999);
    let beyond = lossy.at(results, RETX, 0.999) / lossy.at(results, RETX_ORDER, 0.999);
    let between = lossy.at(results, RETX, 0.999) / sparing.at(results, RETX_ORDER, 0.999);
    judgement.must("ReTx against ReTx+Order at 99.9 %, no tail lost", number(below).at_least(ORDER_HELPS));
    judgement.must("ReTx against ReTx+Order at 99.9 %, tails lost", number(beyond).near(1.0, 0.05));
    judgement
        .must("ReTx with tails lost against ReTx+Order without, 99.9 %", number(between).at_least(PRINTED));
    judgement.printed(
        "ReTx against ReTx+Order at 99.9 %, no tail lost",
        number(below).near(PRINTED, PRINTED_PART),
        "At a loss of 1e-3 one flow in a thousand loses its tail, so that 99.9 % is the very edge between flows that wait for a round trip and flows \
         that wait for the timer. Off the edge order spares a round trip, or nothing; on it, anything up to the timer. The printed 3.75 lies between",
    );
    format!(
        "at 99.9 % {} times where tails are spared (loss 6e-4), {} where they are not (1.16e-3), and {} from one side to the other",
        shown(below),
        shown(beyond),
        shown(between)
    )
}
