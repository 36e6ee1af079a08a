//! J1: from bit errors to lost packets, headers and acknowledgements.

use wiremend_model::{Operation, bits};

use super::SMALL_FRAME_RATIO;
use crate::papers::gao::{NO_RETH, PAPER_TOLERANCE, computed, probability, send_sizes, sizes, source};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J1",
    title: "the corruption probability of a frame grows with its size",
    source: source("theorems 1 and 2"),
    paper: "If each bit is wrong with probability α, a packet of S bytes is corrupted with probability β = 1 − (1 − \
           α)^(8S). For a header γ ≈ 0.06 β, and for an ACK or NAK δ ≈ 0.06 β (62 and 68 of 1086 bytes)",
    method: "Packets and their ACKs over one link, and header-only frames over another, at several α, in the sizes of \
             WRITE; at the highest α also in those of SEND. The share of corrupted frames is counted for each kind",
    judge,
    ..Claim::FORM
};

/// Share of corrupted packets, of frames of a zero-length message, which is the format of a dummy header, and of
/// ACKs.
fn counted(results: &Results<'_>, alpha: f64, operation: Operation) -> [Share; 3] {
    let (effort, alpha) = (results.effort(), format!("{alpha:e}"));
    let packets = Run::new("claims/frames")
        .set("impair.0.rate", &alpha)
        .set("workload.0.count", effort.choose(200_000, 5_000_000))
        .seconds(effort.choose(0.3, 8.0));
    let headers = Run::new("claims/chain")
        .set("topology.switches", 2)
        .set("impair.0.rate", alpha)
        .set("stop.after", effort.choose("20ms", "500ms"))
        .seconds(effort.choose(0.5, 9.0));
    let (packets, dummy) = match operation {
        Operation::Write => (packets, sizes().dummy),
        Operation::Send => (packets.set("transport.operation", "send"), send_sizes().dummy),
    };
    let [packets, headers] =
        [packets, headers.set("workload.0.frame", dummy)].map(|run| results.outcome(&run));
    [packets.corrupted("h0>tor"), headers.corrupted("s0>s1"), packets.corrupted("tor>h0")]
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let sizes = sizes();
    let kinds = [("packet", sizes.full()), ("header", sizes.dummy), ("ACK", sizes.answer)];
    let alphas: &[f64] = results.effort().choose(&[1e-6, 1e-5], &[1e-7, 1e-6, 1e-5]);
    let loss = |alpha: f64, bytes: u32| bits::frame_loss(alpha, f64::from(bytes));
    for &alpha in alphas {
        for ((kind, bytes), share) in kinds.iter().zip(counted(results, alpha, Operation::Write)) {
            let what = format!("{kind}s of {bytes} B at α = {}", shown(alpha));
            judgement.must(what, share.expected(loss(alpha, *bytes)));
        }
    }
    // The highest rate has the most corrupted frames and so the most precise ratios. At β = 0.08 they still
    // equal the ratios of the sizes within 5 %.
    let highest = alphas[alphas.len() - 1];
    let [(beta, gamma, delta), (send_beta, send_gamma, send_delta)] = [Operation::Write, Operation::Send]
        .map(|operation| {
            let [beta, gamma, delta] =
                counted(results, highest, operation).map(|share| number(share.value()));
            (beta, gamma, delta)
        });
    let frames = [("ACKs", delta), ("headers", gamma), ("packets", beta)];
    judgement.must("corrupted shares rise with the frame size", ascending(&frames, 0.0));
    let cause = "A zero-length WRITE carries a RETH: it has 78 B and not 62, and the packet before it 1102 B";
    let ratios = [
        ("δ/β", delta, sizes.answer, send_delta / send_beta),
        ("γ/β", gamma, sizes.dummy, send_gamma / send_beta),
    ];
    let printed = ratios.map(|(name, small, bytes, with_send)| {
        let test = (small / beta).near(SMALL_FRAME_RATIO, PAPER_TOLERANCE);
        let exact = loss(highest, bytes) / loss(highest, sizes.full());
        (judgement.derived(name, test, cause, exact, 0.05), with_send)
    });
    judgement.explain(NO_RETH, 0, &printed);
    let line: Vec<f64> = (0..=24).map(|step| 10_f64.powf(-8.0 + f64::from(step) / 6.0)).collect();
    let mut curves = Vec::new();
    for (kind, (name, bytes)) in kinds.into_iter().enumerate() {
        curves.push(computed(format!("{name}, {bytes} B"), &line, |alpha| loss(alpha, bytes)));
        let points =
            alphas.iter().map(|&alpha| (alpha, counted(results, alpha, Operation::Write)[kind].value()));
        curves.push(Curve::marked(format!("{name}, measured"), points));
    }
    let (x, y) = (probability("bit error rate α"), probability("corrupted frames"));
    let title = "Corrupted frames against the bit error rate";
    judgement.plot("j1", &Plot::new(title, "Share of corrupted frames, by kind.", x, y, curves));
}
