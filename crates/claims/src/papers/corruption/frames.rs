//! J1: from bit errors to lost packets, headers and acknowledgements.

use wiremend_model::bits;
use wiremend_report::plot::Plot;

use super::{PAPER_TOLERANCE, SMALL_FRAME_RATIO, computed, measured, probability};
use crate::ledger::number::{Share, ascending, number, share, shown};
use crate::ledger::{Claim, Effort, Judgement, Results, Run};
use crate::papers::gao::{sizes, source};

pub(super) const CLAIM: Claim = Claim {
    id: "J1",
    title: "the corruption probability of a frame grows with its size",
    source: source("theorems 1 and 2"),
    paper: "If each bit is wrong with probability α, a packet of S bytes is corrupted with probability β = 1 − (1 − \
           α)^(8S). For a header γ ≈ 0.06 β, and for an ACK or NAK δ ≈ 0.06 β (62 and 68 of 1086 bytes)",
    method: "Packets and their ACKs over one link, and header-only frames over another, at several α. The share of \
             corrupted frames is counted for each kind",
    note: "",
    runs,
    judge,
};

/// Random variation of a ratio of two shares.
const EXACT_TOLERANCE: f64 = 0.05;
/// Bit error rates.
const QUICK: &[f64] = &[1e-6, 1e-5];
const FULL: &[f64] = &[1e-7, 1e-6, 1e-5];

fn rates(effort: Effort) -> &'static [f64] {
    effort.choose(QUICK, FULL)
}

/// Packets and their ACKs.
fn packets(effort: Effort, alpha: f64) -> Run {
    Run::new("claims/frames")
        .set("impair.0.rate", format!("{alpha:e}"))
        .set("workload.0.count", effort.choose(200_000, 5_000_000))
        .seconds(effort.choose(0.3, 8.0))
}

/// Frames of a zero-length WRITE, which is the format of a dummy header.
fn headers(effort: Effort, alpha: f64) -> Run {
    Run::new("claims/chain")
        .set("topology.switches", 2)
        .set("workload.0.frame", sizes().dummy)
        .set("impair.0.rate", format!("{alpha:e}"))
        .set("stop.after", effort.choose("20ms", "500ms"))
        .seconds(effort.choose(0.5, 9.0))
}

fn runs(effort: Effort) -> Vec<Run> {
    rates(effort).iter().flat_map(|&alpha| [packets(effort, alpha), headers(effort, alpha)]).collect()
}

/// Share of corrupted packets, headers and ACKs.
fn counted(results: &Results<'_>, alpha: f64) -> [Share; 3] {
    let of = |run: &Run, lane: &str| {
        let lane = results.outcome(run).lane(lane);
        share(lane.corrupted, lane.tx_frames)
    };
    let (packets, headers) = (packets(results.effort(), alpha), headers(results.effort(), alpha));
    [of(&packets, "h0>tor"), of(&headers, "s0>s1"), of(&packets, "tor>h0")]
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let sizes = sizes();
    let kinds = [("packets", sizes.full()), ("headers", sizes.dummy), ("ACKs", sizes.answer)];
    let alphas = rates(results.effort());
    for &alpha in alphas {
        for ((kind, bytes), share) in kinds.iter().zip(counted(results, alpha)) {
            let what = format!("{kind} of {bytes} B at α = {}", shown(alpha));
            judgement.must(what, share.expected(bits::frame_loss(alpha, f64::from(*bytes))));
        }
    }
    // The highest rate has the most corrupted frames and so the most precise ratios. At β = 0.08 they still
    // equal the ratios of the sizes within 5 %.
    let [beta, gamma, delta] = counted(results, alphas[alphas.len() - 1]).map(Share::value);
    let frames = [("ACKs", number(delta)), ("headers", number(gamma)), ("packets", number(beta))];
    judgement.must("corrupted shares rise with the frame size", ascending(&frames, 0.0));
    let [gamma, delta] = [gamma, delta].map(|small| if beta > 0.0 { small / beta } else { 0.0 });
    let loss = |bytes: u32| bits::frame_loss(alphas[alphas.len() - 1], f64::from(bytes));
    let cause = "A zero-length WRITE carries a RETH: it has 78 B and not 62, and the packet before it 1102 B";
    for (name, ratio, bytes) in [("δ/β", delta, sizes.answer), ("γ/β", gamma, sizes.dummy)] {
        let test = number(ratio).near(SMALL_FRAME_RATIO, PAPER_TOLERANCE);
        judgement.derived(name, test, cause, loss(bytes) / loss(sizes.full()), EXACT_TOLERANCE);
    }
    judgement.plot("j1", &figure(results));
}

fn figure(results: &Results<'_>) -> Plot {
    let alphas = rates(results.effort());
    let line: Vec<f64> = (0..=24).map(|step| 10_f64.powf(-8.0 + f64::from(step) / 6.0)).collect();
    let sizes = sizes();
    let bytes = [("packet", sizes.full()), ("header", sizes.dummy), ("ACK", sizes.answer)];
    let mut curves = Vec::new();
    for (kind, (name, bytes)) in bytes.into_iter().enumerate() {
        curves.push(computed(&format!("{name}, {bytes} B"), &line, |alpha| {
            bits::frame_loss(alpha, f64::from(bytes))
        }));
        let points = alphas.iter().map(|&alpha| (alpha, counted(results, alpha)[kind].value())).collect();
        curves.push(measured(&format!("{name}, measured"), points));
    }
    Plot {
        title: "Corrupted frames against the bit error rate".to_owned(),
        description: "Share of corrupted frames, by kind.".to_owned(),
        x: probability("bit error rate α"),
        y: probability("corrupted frames"),
        curves,
    }
}
