//! J35: operations of CPU, `PCIe` and NIC for dummies.

use crate::papers::gao::{MTU, source};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J35",
    title: "operations that dummies add, and how T saves them",
    source: source("section 5.2"),
    paper: "Dummies cost CPU cycles and PCIe operations. At worst, with flows of one request, each request adds N \
            operations; if only requests that are posted more than T after the one before get dummies, there are fewer",
    method: "Requests of 1 KiB at random times with a mean gap of 100 µs on one queue pair: dummies for each request \
             with T = 0, where N are expected, and with T of 50, 100 and 200 µs by the printed rule, where the share of \
             gaps above T is N e^(−T/gap), within 3 %. Bytes on PCIe are computed from counted requests and dummies: \
             64 B of each work request and 1 KiB of payload fetched, 64 B of each completion written, 8 B of each \
             doorbell, and the headers of their transactions (16 B and 20 B with framing, payload in parts of 256 B)",
    note: "A dummy is unsignalled, has no payload, and is posted with its request: it adds no doorbell",
    judge,
    ..Claim::FORM
};

/// Mean gap between requests, in nanoseconds.
const GAP_NS: f64 = 1e5;
/// Bytes of the header and framing of a `PCIe` transaction that carries data, and of one that asks for data.
const HEADER: f64 = 20.0;
const REQUEST: f64 = 16.0;

/// Bytes on `PCIe` to fetch a work request.
const FETCH: f64 = REQUEST + HEADER + 64.0;

/// Bytes on `PCIe` for a request, its payload and its completion.
fn message_bytes() -> f64 {
    let payload = f64::from(MTU);
    let doorbell = HEADER + 8.0;
    doorbell + FETCH + REQUEST * payload / 512.0 + HEADER * payload / 256.0 + payload + HEADER + 64.0
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for dummies in [1, 2, 3] {
        for after_us in [0, 50, 100, 200] {
            let run = Run::new("claims/mend-path")
                .set("topology.switches", 2)
                .set("transport.qp", "per-pair")
                .set("workload.0.sizes", format!("{MTU}B"))
                .set("workload.0.load", format!("{:.4e}", 8.0 * f64::from(MTU) / 100.0 / GAP_NS))
                .set("workload.0.flows", results.effort().choose(20_000, 200_000))
                .set("mend.dummies", dummies)
                .set("mend.dummies_after", format!("{after_us}us"))
                .set("mend.dummies_when", "at-post")
                .seconds(results.effort().choose(0.05, 0.5));
            let outcome = results.outcome(&run);
            let added = count(outcome.summary.extra_frames.dummies.frames).per(outcome.finished());
            let expected = f64::from(dummies) * (-f64::from(after_us) * 1e3 / GAP_NS).exp();
            let name = format!("{dummies} dummies, T = {after_us} µs");
            judgement
                .printed(format!("operations added to each request, {name}"), added.near(expected, 0.03));
            let pcie = fraction(added.value * FETCH / message_bytes());
            judgement.row(name, [&added, &number(expected), &bytes(message_bytes()), &pcie]);
        }
    }
    judgement.columns("| operations added | expected | PCIe bytes of a request | added by dummies");
}
