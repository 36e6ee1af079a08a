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
/// The ordered and the non-blocking mode of each protocol.
const MODES: [[&str; 2]; 2] = [[ALL, RETX_TAIL], [HARDENED, HARDENED_NB]];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let trial = Trial::new(FLOW_BYTES, results.effort(), RoundTrip::Rdma);
    let trial = Trial { flows: results.effort().choose(10_000, 60_000), ..trial };
    let outcome = |transport, link| results.outcome(&trial.run(link).set("transport.recovery", transport));
    for transport in [GO_BACK_N, SELECTIVE, RACK] {
        for link in [NO_LOSS, LOSS].into_iter().chain(MODES.concat()) {
            let outcome = outcome(transport, link);
            let timeouts = outcome.timeouts();
            if link != NO_LOSS && link != LOSS {
                judgement.must(format!("timeouts, {transport} over {link}"), timeouts.is(0));
            }
            let [median, p99, p999, slowest] =
                [0.5, 0.99, 0.999, 1.0].map(|quantile| time_ns(exact_ns(outcome, quantile)));
            let [resent, duplicates] =
                [outcome.summary.retransmitted_packets, outcome.tracking.duplicates].map(count);
            let buffer = bytes(outcome.summary.protection.rx_buffer_bytes_max as f64);
            judgement.row(
                format!("{transport}, {link}"),
                [&median, &p99, &p999, &slowest, &timeouts, &resent, &duplicates, &buffer],
            );
        }
    }
    for [ordered, unordered] in MODES {
        let at_999 = |transport, link| number(exact_ns(outcome(transport, link), 0.999));
        for transport in [SELECTIVE, RACK] {
            let what = format!("99.9 %, {transport} over {unordered}");
            let ratio = at_999(transport, unordered) / at_999(transport, ordered);
            judgement.must(format!("{what}, divided by that over the ordered mode"), ratio.at_most(1.0));
            let ratio = at_999(transport, unordered) / at_999(GO_BACK_N, unordered);
            judgement.must(format!("{what}, divided by that of go-back-N"), ratio.at_most(0.8));
        }
        let [selective, rack] = [SELECTIVE, RACK].map(|transport| outcome(transport, unordered));
        let resent = count(selective.summary.retransmitted_packets);
        let what = format!("packets that selective repeat retransmits per lost frame, {unordered}");
        judgement.must(what, resent.per(count(selective.summary.corrupted_frames)).between(0.7, 1.1));
        // The prototype delivers all copies of a frame, so some duplicates are its own.
        if unordered == HARDENED_NB {
            let unnecessary = count(selective.tracking.duplicates).per(resent);
            let what = format!("unnecessary share of the retransmissions of selective repeat, {unordered}");
            judgement.must(what, unnecessary.at_least(0.95));
        }
        let fewer = count(rack.summary.retransmitted_packets).per(resent);
        let what = format!("retransmissions of RACK-TLP divided by those of selective repeat, {unordered}");
        judgement.must(what, fewer.at_most(0.05));
        let buffer = selective.summary.protection.rx_buffer_bytes_max;
        judgement.none(format!("receiver's buffer, {unordered}"), buffer);
    }
    judgement
        .columns("| median | 99 % | 99.9 % | slowest | timeouts | retransmitted | duplicates | RX buffer");
}
