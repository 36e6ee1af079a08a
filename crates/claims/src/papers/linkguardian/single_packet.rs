//! L9: flows of one packet, each of which is a tail.

use super::transport::{RoundTrip, Transport};
use super::trial::{ACTUAL_LOSS, COLUMNS, LOSS, NO_LOSS, PROTECTED, RATIO_TOLERANCE, SHOWN_VARIANTS, Trial};
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
           delayed (RFC 8985 7.2), and is sent no sooner than the timer expires: a lost packet costs two ticks of \
            1 ms, about 70 round trips of 30 µs. That gives the printed 51 if flows without loss take 40 to 60 µs at \
            the 99.9 % quantile, because completion times in the testbed's hosts vary. The flow at the \
            99.9 % quantile is one whose packet \
           was lost and retransmitted by the link: with the prototype it takes 5 µs more than one without loss. The \
           hosts of the testbed vary completion times by more than that, so that the difference does not show there; \
           here hosts always take the same time. So the printed 66 is the ratio of loss to no loss, and the gain of \
           the prototype is smaller",
    judge,
    ..Claim::FORM
};

const PRINTED: f64 = 66.0;
/// A gain below this does not fit: two thirds of the printed one.
const MISFIT_RATIO: f64 = PRINTED / 1.5;
/// The minimum timeout of 1 ms and a round trip are two ticks of 1 ms, from anywhere within a tick.
const TIMER_NS: [f64; 2] = [2e6, 3e6];

const TRANSPORTS: [Transport; 3] =
    [Transport::Rdma(RoundTrip::Rdma), Transport::Rdma(RoundTrip::Tcp), Transport::Dctcp];

fn trial(effort: Effort, transport: impl Into<Transport>) -> Trial {
    Trial::new(143, effort, transport)
}

/// FEC is measured only at the round trip that fits.
fn variants(transport: Transport) -> &'static [&'static str] {
    match transport {
        Transport::Rdma(RoundTrip::Rdma) => &SHOWN_VARIANTS,
        _ => &SHOWN_VARIANTS[..6],
    }
}

/// A run without protection and without tail loss probes.
fn without_probes(effort: Effort) -> Run {
    trial(effort, Transport::Dctcp).run(LOSS).set("transport.tcp.tail_probe", false)
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let mut rows = Vec::new();
    for transport in TRANSPORTS {
        let trial = trial(results.effort(), transport);
        rows.extend(variants(transport).iter().map(|variant| trial.row(results, variant)));
        trial.check_timeouts_dominate(judgement, results);
        let what = format!("flows with a timeout compared with losses, {}", transport.name());
        judgement.must(
            what,
            share(trial.flows_with_timeout(results, LOSS), u64::from(trial.flows)).expected(ACTUAL_LOSS),
        );
        for variant in PROTECTED {
            trial.check_no_timeouts(judgement, results, variant);
            trial.check_losses_hidden(judgement, results, variant);
        }
    }
    let [rdma, far, dctcp] = TRANSPORTS.map(|transport| trial(results.effort(), transport));
    let [at_16, at_30] = [rdma, far].map(|trial| trial.gain(results, NO_LOSS));
    judgement.printed(
        "99.9 % with loss divided by that without, RDMA at 16 µs",
        number(at_16).near(PRINTED, RATIO_TOLERANCE),
    );
    judgement
        .must("99.9 % with loss divided by that without, RDMA at 30 µs", number(at_30).below(MISFIT_RATIO));
    for variant in PROTECTED {
        judgement.printed(
            format!("gain at 99.9 %, {}", rdma.named(variant)),
            number(rdma.gain(results, variant)).near(PRINTED, RATIO_TOLERANCE),
        );
    }
    judge_dctcp(judgement, results);
    for (name, trial) in [("l9-rdma-16us", rdma), ("l9-rdma-30us", far), ("l9-dctcp", dctcp)] {
        judgement.plot(name, &trial.figure(results, variants(trial.transport), 0.99));
    }
    judgement.table(COLUMNS, rows);
}

/// Checks the cost of a lost packet for a connection that has nothing else to send.
fn judge_dctcp(judgement: &mut Judgement, results: &Results<'_>) {
    let dctcp = trial(results.effort(), Transport::Dctcp);
    let [clean, with_loss] = [NO_LOSS, LOSS].map(|variant| dctcp.quantile_ns(results, variant, 0.999));
    let without_probes = results.outcome(&without_probes(results.effort()));
    judgement.must(
        "99.9 % with loss minus that without, DCTCP",
        time_ns(with_loss - clean).between(TIMER_NS[0], TIMER_NS[1]),
    );
    judgement.must(
        "99.9 % without probes compared with probes, DCTCP",
        time_ns(exact_ns(without_probes, 0.999)).between(TIMER_NS[0], TIMER_NS[1] + clean),
    );
    let timeouts = without_probes.summary.flows_with_timeout.count;
    judgement.must(
        "flows with a timeout compared with losses, DCTCP without probes",
        share(timeouts, u64::from(dctcp.flows)).expected(ACTUAL_LOSS),
    );
    for variant in [NO_LOSS].into_iter().chain(PROTECTED) {
        judgement.printed(
            format!("gain at 99.9 %, {}", dctcp.named(variant)),
            number(dctcp.gain(results, variant)).near(51.0, RATIO_TOLERANCE),
        );
    }
}
