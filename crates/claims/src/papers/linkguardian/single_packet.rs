//! L9: flows of one packet, each of which is a tail.

use super::late_hosts;
use super::transport::{RoundTrip, Transport};
use super::trial::{ACTUAL_LOSS, COLUMNS, LOSS, NO_LOSS, PROTECTED, SHOWN_VARIANTS, Trial};
use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L9",
    title: "flows of one packet over a protected link",
    source: source("sections 2 and 4.3, Fig. 10"),
    paper: "Flows of 143 B over a 100G link with loss rate 1e-3: the 99.9 % quantile is 66 times shorter with \
           LinkGuardian for RDMA WRITEs and 51 times for DCTCP, ordered or non-blocking, and cannot be distinguished \
           from flows without loss",
    method: "Flows of 143 B one after the other over a link that loses 1.16e-3 of its frames in one direction, the \
             actual loss rate of the testbed. (At exactly 1e-3 the number of affected flows equals the number beyond \
             99.9 %, and chance decides whether that quantile is microseconds or a timeout.) RDMA uses go-back-N \
             with a timer of 1.05 ms; the ratio is that of the timer to a round trip. The paper gives 30 µs for TCP; \
             medians of RDMA flows published with the prototype correspond to 16 µs; both are run. DCTCP has a \
             connection for each flow, open before the flow begins, as in the published traces; RTO_min 1 ms, marks \
             above 100 kB, and 30 µs. A lost packet must cost DCTCP two ticks of 1 ms, which RTO_min and a round \
             trip fill, with and without tail loss probes. \
             Gains have a 95 % interval from ranks. Also shown, with RDMA at 16 µs: links that send a parity frame \
             after every 25 or 5 frames, or when a block does not fill",
    note: "A probe for a single segment waits for RTO_min in addition to two round trips, because an ACK may be \
           delayed (RFC 8985 7.2), and is sent no sooner than the timer expires: a lost packet costs two ticks \
           of 1 ms, about 70 round trips of 30 µs. The flow at the 99.9 % quantile is one whose packet was lost \
           and retransmitted by the link: with the prototype it takes 4 µs more than one without loss, and \
           where hosts always take the same time this shows. Tried: hosts that react late. They hide these 4 \
           µs, so that loss cannot be told from none, as printed, but they lengthen the 99.9 % quantile of all: \
           the gains fall below the printed ones. The two figures ask for opposite hosts: 66 for a quantile of \
           16 µs, which is the median of longer flows and leaves no room for variation, and 51 for 40 to 60 µs",
    judge,
    ..Claim::FORM
};

const PRINTED: f64 = 66.0;
/// The minimum timeout of 1 ms and a round trip are two ticks of 1 ms, from anywhere within a tick.
const TIMER_NS: [f64; 2] = [2e6, 3e6];

const TRANSPORTS: [Transport; 3] =
    [Transport::Rdma(RoundTrip::Rdma), Transport::Rdma(RoundTrip::Tcp), Transport::Dctcp];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let trials = TRANSPORTS.map(|transport| Trial::new(143, results.effort(), transport));
    for (trial, name) in trials.iter().zip(["l9-rdma-16us", "l9-rdma-30us", "l9-dctcp"]) {
        // FEC is measured only at the round trip that fits.
        let shown = if name == "l9-rdma-16us" { &SHOWN_VARIANTS[..] } else { &SHOWN_VARIANTS[..6] };
        for variant in shown {
            trial.row(judgement, results, variant);
        }
        trial.check_timeouts_dominate(judgement, results);
        let what = format!("flows with a timeout compared with losses, {}", trial.transport.name());
        judgement.must(what, trial.waiting(results, LOSS).expected(ACTUAL_LOSS));
        for variant in PROTECTED {
            trial.check_no_timeouts(judgement, results, variant);
            trial.check_losses_hidden(judgement, results, variant);
        }
        judgement.plot(name, &trial.figure(results, shown, 0.99));
    }
    let [rdma, far, dctcp] = trials;
    let [at_16, at_30] = [rdma, far].map(|trial| number(trial.gain(results, NO_LOSS)));
    let without = judgement
        .printed("99.9 % with loss divided by that without, RDMA at 16 µs", at_16.near(PRINTED, 0.1));
    let mut late = vec![(without, rdma.late_gain(results, NO_LOSS))];
    // A gain below two thirds of the printed one does not fit.
    judgement.must("99.9 % with loss divided by that without, RDMA at 30 µs", at_30.below(PRINTED / 1.5));
    for variant in PROTECTED {
        late.push(rdma.check_gain(judgement, results, variant, PRINTED));
    }
    cost_of_loss(judgement, results, &dctcp);
    for variant in [NO_LOSS].into_iter().chain(PROTECTED) {
        late.push(dctcp.check_gain(judgement, results, variant, 51.0));
    }
    late_hosts::explain(judgement, &late);
    judgement.columns(COLUMNS);
}

/// Checks the cost of a lost packet for a connection that has nothing else to send.
fn cost_of_loss(judgement: &mut Judgement, results: &Results<'_>, dctcp: &Trial) {
    let [low, high] = TIMER_NS;
    let [clean, with_loss] = [NO_LOSS, LOSS].map(|variant| dctcp.quantile_ns(results, variant, 0.999));
    judgement
        .must("99.9 % with loss minus that without, DCTCP", time_ns(with_loss - clean).between(low, high));
    let without_probes = results.outcome(&dctcp.run(LOSS).set("transport.tcp.tail_probe", false));
    let p999 = time_ns(exact_ns(without_probes, 0.999));
    judgement.must("99.9 % without probes compared with probes, DCTCP", p999.between(low, high + clean));
    let waiting = share(without_probes.summary.flows_with_timeout.count, u64::from(dctcp.flows));
    let what = "flows with a timeout compared with losses, DCTCP without probes";
    judgement.must(what, waiting.expected(ACTUAL_LOSS));
}
