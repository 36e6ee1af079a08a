//! W2: a link without order below a transport that accepts packets in any order.

use super::multi_packet::FLOW_BYTES;
use super::transport::RoundTrip;
use super::trial::{ALL, HARDENED, HARDENED_NB, LOSS, NO_LOSS, RETX_TAIL, Trial};
use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "W2",
    title: "selective repeat over a non-blocking link",
    source: source("section 5, left to be investigated"),
    paper: "LinkGuardian's non-blocking mode improves little for RDMA, because go-back-N takes a late frame for a lost \
           one (L10). The effect on selective repeat and on RACK's reordering window is left open",
    method: "Flows of L10 of 24 387 B at a round trip of 16 µs over a link with loss rate 1.16e-3 (60 000 flows; \
             quick: 10 000), with go-back-N, selective repeat (IRN) and RACK-TLP, over LinkGuardian and the hardened \
             protocol, ordered and non-blocking",
    note: "The retransmission of the link arrives before that of the host, so that the message is already complete; \
           the host's copy is one unnecessary packet. RACK-TLP waits for a part of a round trip, and longer after an \
           unnecessary retransmission (RFC 8985). So if all transports accept packets in any order, links need \
           neither a buffer that restores the order nor the pauses that keep this buffer small",
    judge,
    ..Claim::FORM
};

const GO_BACK_N: &str = "go-back-n";
const SELECTIVE: &str = "selective-repeat";
const RACK: &str = "rack-tlp";
const TRANSPORTS: [&str; 3] = [GO_BACK_N, SELECTIVE, RACK];
/// Variants of the link.
const LINKS: [&str; 6] = [NO_LOSS, LOSS, ALL, RETX_TAIL, HARDENED, HARDENED_NB];
const PROTECTED: [&str; 4] = [ALL, RETX_TAIL, HARDENED, HARDENED_NB];
/// The ordered and the non-blocking mode of each protocol.
const MODES: [[&str; 2]; 2] = [[ALL, RETX_TAIL], [HARDENED, HARDENED_NB]];

fn run(transport: &str, link: &'static str, effort: Effort) -> Run {
    let trial =
        Trial { flows: effort.choose(10_000, 60_000), ..Trial::new(FLOW_BYTES, effort, RoundTrip::Rdma) };
    trial.run(link).set("transport.recovery", transport)
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let outcome = |transport, link| results.outcome(&run(transport, link, results.effort()));
    let at_999 = |transport, link| exact_ns(outcome(transport, link), 0.999);
    for transport in TRANSPORTS {
        for link in PROTECTED {
            let timeouts = outcome(transport, link).summary.timeouts.total();
            judgement.none(format!("timeouts, {transport} over {link}"), timeouts);
        }
    }
    for [ordered, unordered] in MODES {
        for transport in [SELECTIVE, RACK] {
            let what = format!("99.9 %, {transport} over {unordered}");
            let ordered_ratio = at_999(transport, unordered) / at_999(transport, ordered);
            judgement.must(
                format!("{what}, divided by that over the ordered mode"),
                number(ordered_ratio).at_most(1.0),
            );
            let go_back_n_ratio = at_999(transport, unordered) / at_999(GO_BACK_N, unordered);
            judgement
                .must(format!("{what}, divided by that of go-back-N"), number(go_back_n_ratio).at_most(0.8));
        }
        let [selective, rack] = [SELECTIVE, RACK].map(|transport| outcome(transport, unordered));
        let lost = selective.summary.corrupted_frames as f64;
        let retransmitted = selective.summary.retransmitted_packets as f64;
        let what = format!("packets that selective repeat retransmits per lost frame, {unordered}");
        judgement.must(what, number(retransmitted / lost.max(1.0)).between(0.7, 1.1));
        // The prototype delivers all copies of a frame, so some duplicates are its own.
        if unordered == HARDENED_NB {
            let unnecessary_share = number(unnecessary_share(selective));
            judgement.must(
                format!("unnecessary share of the retransmissions of selective repeat, {unordered}"),
                unnecessary_share.at_least(0.95),
            );
        }
        let rack_ratio = rack.summary.retransmitted_packets as f64 / retransmitted.max(1.0);
        judgement.must(
            format!("retransmissions of RACK-TLP divided by those of selective repeat, {unordered}"),
            number(rack_ratio).at_most(0.05),
        );
        let buffer = selective.summary.protection.rx_buffer_bytes_max;
        judgement.none(format!("receiver's buffer, {unordered}"), buffer);
    }
    judgement.table(
        "| median | 99 % | 99.9 % | slowest | timeouts | retransmitted | duplicates | RX buffer",
        rows(results),
    );
    judgement.plot("w2", &figure(results));
}

/// Share of the retransmitted packets that the receiver already had.
fn unnecessary_share(outcome: &Outcome) -> f64 {
    outcome.tracking.duplicates as f64 / outcome.summary.retransmitted_packets.max(1) as f64
}

fn rows(results: &Results<'_>) -> Vec<Vec<String>> {
    let row = |transport: &str, link: &'static str| {
        let outcome = results.outcome(&run(transport, link, results.effort()));
        let mut row = vec![format!("{transport}, {link}")];
        row.extend([0.5, 0.99, 0.999, 1.0].map(|quantile| human::time_ns(exact_ns(outcome, quantile))));
        row.push(human::count(outcome.summary.timeouts.total()));
        row.push(human::count(outcome.summary.retransmitted_packets));
        row.push(human::count(outcome.tracking.duplicates));
        row.push(human::bytes(outcome.summary.protection.rx_buffer_bytes_max as f64));
        row
    };
    TRANSPORTS.iter().flat_map(|transport| LINKS.map(|link| row(transport, link))).collect()
}

fn figure(results: &Results<'_>) -> Plot {
    const QUANTILE_MIN: f64 = 0.95;
    let curve = |(transport, link): (&str, &'static str)| {
        let outcome = results.outcome(&run(transport, link, results.effort()));
        slowest(&format!("{transport}, {link}"), outcome, QUANTILE_MIN)
    };
    let shown = [
        (SELECTIVE, NO_LOSS),
        (SELECTIVE, LOSS),
        (GO_BACK_N, RETX_TAIL),
        (GO_BACK_N, ALL),
        (SELECTIVE, ALL),
        (SELECTIVE, RETX_TAIL),
        (SELECTIVE, HARDENED_NB),
        (RACK, RETX_TAIL),
    ];
    let trial = Trial::new(FLOW_BYTES, results.effort(), RoundTrip::Rdma);
    let flows = results.outcome(&run(SELECTIVE, NO_LOSS, results.effort())).summary.flows;
    let blank = Trial { flows: u32::try_from(flows).unwrap_or(u32::MAX), ..trial }.axes(QUANTILE_MIN);
    Plot {
        title: format!(
            "The slowest 5 % of RDMA WRITEs of {FLOW_BYTES} B over ordered and non-blocking links"
        ),
        curves: shown.map(curve).to_vec(),
        ..blank
    }
}
