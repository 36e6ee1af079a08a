//! L13: the effect of each mechanism of LinkGuardian.

use super::multi_packet::FLOW_BYTES;
use super::transport::{RTO_MIN_NS, RoundTrip, Transport};
use super::trial::{
    ACTUAL_LOSS, ALL, HARDENED, HARDENED_1, HARDENED_NB, HIDDEN_RATIO_MAX, LOSS, NO_LOSS, RETX, RETX_ORDER,
    RETX_TAIL, Trial,
};
use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L13",
    title: "mechanisms of LinkGuardian, one by one",
    source: source("section 4.5, Table 2"),
    paper: "Flows of 24 387 B with DCTCP and retransmission alone (ReTx), with order, with dummies for tails, and with \
           all: order helps a little, tails wait for a timeout at 99.99 % and above unless dummies reveal them, and \
           all together nearly match flows without loss. ReTx is already good at 99.9 %, because without it a loss \
           among the last three packets waits for the timeout. RDMA (numbers omitted) is similar, except that at 99.9 \
           % ReTx+Order is 3.75 times better than ReTx",
    method: "As L10, with RDMA at a round trip of 16 µs and with DCTCP, over the prototype; without tail protection \
             it sends no dummies. The number of flows that wait shows how many packets of a flow are tails: three, as \
             fewer than three later packets do not prove a loss. The hardened protocol has no mode without \
             dummies: it is shown with three and with one",
    note: "A loss among a flow's last three packets waits for a timer of the kernel: the last one for RTO_min and a round \
           trip, which are two ticks of 1 ms, the others for the reordering window and 2 ms, which are three. RACK \
           detects a loss by a single later packet, but with fewer than three it waits for that timer. At a loss rate \
           of 1e-3 one flow in a thousand loses its tail, so that 99.9 % is at the boundary between flows that wait \
           for a round trip and flows that wait for the timer. Away from the boundary order saves a round trip, or \
           nothing; at the boundary it can save anything up to the timeout. The printed 3.75 lies between. With ReTx \
           only the last packet waits. In the testbed fewer flows wait with ReTx than lose their last packet, less \
           than one in a thousand: its connections are closed after their flow, and where a FIN follows, the link \
           detects that the last packet is missing",
    judge,
    ..Claim::FORM
};

pub(super) const COLUMNS: [&str; 6] = [NO_LOSS, LOSS, RETX, RETX_ORDER, RETX_TAIL, ALL];
/// The hardened protocol, for comparison.
const OURS: [&str; 3] = [HARDENED_NB, HARDENED, HARDENED_1];
pub(super) const QUANTILES: [(&str, f64); 4] =
    [("99 %", 0.99), ("99.9 %", 0.999), ("99.99 %", 0.9999), ("99.999 %", 0.99999)];

/// Table 2, in microseconds: a row for each of [`QUANTILES`], a column for each of [`COLUMNS`].
pub(super) const TABLE_2: [[f64; 6]; 4] = [
    [152.293, 169.044, 161.959, 161.168, 156.627, 155.669],
    [166.877, 3399.743, 212.378, 193.252, 195.588, 168.21],
    [197.536, 4036.167, 3606.115, 3773.866, 314.128, 194.085],
    [253.207, 4159.96, 4107.404, 4088.288, 356.503, 235.793],
];

/// A loss rate at which fewer than 0.1 % of the flows lose a tail.
const LOW_LOSS: f64 = 6e-4;
const PRINTED: f64 = 3.75;
const ORDER_GAIN_MIN: f64 = 1.2;
/// Without `ReTx` a loss of any of the last three packets waits, with it only the last: a third, plus random
/// variation.
const RETX_TIMEOUT_RATIO_MAX: f64 = 0.5;
const RTO_NS: f64 = 4096.0 * 256.0;
/// Share of the flows that lose one of the three packets behind which fewer than three duplicate ACKs follow.
const TAILS_LOST: f64 = 3.0 * ACTUAL_LOSS;

/// The flows, with RDMA and with DCTCP.
pub(super) fn trials(effort: Effort) -> [Trial; 2] {
    let transports = [Transport::Rdma(RoundTrip::Rdma), Transport::Dctcp];
    transports.map(|transport| Trial::new(FLOW_BYTES, effort, transport))
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let [rdma, dctcp] = trials(results.effort());
    let ratio = |quantile| {
        number(rdma.quantile_ns(results, RETX, quantile))
            / number(rdma.quantile_ns(results, RETX_ORDER, quantile))
    };
    judgement.must("ReTx divided by ReTx+Order at 99 %, RDMA", ratio(0.99).at_least(ORDER_GAIN_MIN));
    mechanisms(judgement, results, &rdma, [RTO_NS, RTO_NS / 10.0, 0.0]);
    mechanisms(judgement, results, &dctcp, [RTO_MIN_NS, RTO_MIN_NS, 0.05]);
    at_the_boundary(judgement, results, &rdma);
    tails_of_dctcp(judgement, results, &dctcp);
    judgement.plot("l13-rdma", &rdma.figure(results, &COLUMNS, 0.99));
    judgement.plot("l13-dctcp", &dctcp.figure(results, &COLUMNS, 0.99));
    judgement.table(&[&[""], &COLUMNS[..], &OURS].concat().join("|"), table(results, [&rdma, &dctcp]));
}

/// Checks each mechanism. A lost tail waits for at least `timer`; with tail protection no flow takes
/// `limit`.
fn mechanisms(
    judgement: &mut Judgement,
    results: &Results<'_>,
    trial: &Trial,
    [timer, limit, slack]: [f64; 3],
) {
    let at = |variant, quantile| time_ns(trial.quantile_ns(results, variant, quantile));
    for variant in [RETX, RETX_ORDER] {
        let what = format!("99.99 %, {}", trial.named(variant));
        judgement.must(what, at(variant, 0.9999).at_least(timer));
    }
    for variant in [RETX_TAIL, ALL, HARDENED, HARDENED_1] {
        judgement.must(format!("slowest, {}", trial.named(variant)), at(variant, 1.0).below(limit));
    }
    for (name, quantile) in QUANTILES {
        let name = trial.named(name);
        let order = [ALL, RETX_TAIL].map(|variant| (variant, at(variant, quantile)));
        judgement.must(name.clone(), ascending(&order, slack));
        let longer = at(ALL, quantile) / at(NO_LOSS, quantile);
        judgement.must(format!("LinkGuardian divided by no loss, {name}"), longer.at_most(HIDDEN_RATIO_MAX));
    }
}

/// The measured times with both transports, and the paper's.
fn table(results: &Results<'_>, trials: [&Trial; 2]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for trial in trials {
        for ((name, quantile), printed_us) in QUANTILES.into_iter().zip(TABLE_2) {
            let name = format!("{}, {name}", trial.transport.name());
            let times =
                COLUMNS.iter().chain(&OURS).map(|variant| trial.quantile_ns(results, variant, quantile));
            rows.push(std::iter::once(name.clone()).chain(times.map(human::time_ns)).collect());
            if trial.transport == Transport::Dctcp {
                let printed = printed_us.map(|us| human::time_ns(us * 1e3));
                let row = std::iter::once(format!("{name}, Table 2")).chain(printed);
                rows.push(row.chain(OURS.map(|_| "–".to_owned())).collect());
            }
        }
    }
    rows
}

/// Checks how many packets of a flow are tails, and for which of them the link makes a difference.
fn tails_of_dctcp(judgement: &mut Judgement, results: &Results<'_>, dctcp: &Trial) {
    let without_sack = |variant| {
        let outcome = results.outcome(&dctcp.run(variant).set("transport.tcp.sack", false));
        share(outcome.summary.flows_with_timeout.count, u64::from(dctcp.flows))
    };
    for (variant, which, lost) in
        [(LOSS, "one of three packets lost", TAILS_LOST), (RETX, "last packet lost", ACTUAL_LOSS)]
    {
        let what = format!("flows with a timeout ({which}), {variant}, DCTCP");
        judgement.must(what.clone(), dctcp.waiting(results, variant).expected(lost));
        judgement.must(format!("{what} without SACK"), without_sack(variant).expected(lost));
    }
    let spared = |of: &dyn Fn(&'static str) -> Share| number(of(RETX).value() / of(LOSS).value());
    judgement.must(
        "flows with a timeout, ReTx divided by loss, DCTCP without SACK",
        spared(&without_sack).at_most(RETX_TIMEOUT_RATIO_MAX),
    );
    let at_low_loss = Trial { loss: LOW_LOSS, ..*dctcp };
    let p999 = time_ns(at_low_loss.quantile_ns(results, RETX, 0.999));
    judgement.must("ReTx at 99.9 %, no tail lost, DCTCP", p999.below(RTO_MIN_NS));
    let p999 = time_ns(dctcp.quantile_ns(results, LOSS, 0.999));
    judgement.printed("loss at 99.9 %, DCTCP", p999.near(TABLE_2[1][1] * 1e3, 0.1));
    judgement.printed(
        "flows with a timeout, ReTx divided by loss, DCTCP",
        spared(&|variant| dctcp.waiting(results, variant)).at_most(RETX_TIMEOUT_RATIO_MAX),
    );
}

/// Checks ReTx+Order on both sides of the 99.9 % quantile: the ratio depends on whether more than 0.1 % of
/// the flows lose a tail.
fn at_the_boundary(judgement: &mut Judgement, results: &Results<'_>, lossy: &Trial) {
    let at_low_loss = Trial { loss: LOW_LOSS, ..*lossy };
    let at = |trial: &Trial, variant| number(trial.quantile_ns(results, variant, 0.999));
    let below = at(&at_low_loss, RETX) / at(&at_low_loss, RETX_ORDER);
    let beyond = at(lossy, RETX) / at(lossy, RETX_ORDER);
    let between = at(lossy, RETX) / at(&at_low_loss, RETX_ORDER);
    let what = "ReTx divided by ReTx+Order at 99.9 %, no tail lost, RDMA";
    judgement.must(what, below.at_least(ORDER_GAIN_MIN));
    judgement.must("ReTx divided by ReTx+Order at 99.9 %, tails lost, RDMA", beyond.near(1.0, 0.05));
    let across = "ReTx with tails lost divided by ReTx+Order without, 99.9 %, RDMA";
    judgement.must(across, between.at_least(PRINTED));
    judgement.printed(what, below.near(PRINTED, 0.1));
}
