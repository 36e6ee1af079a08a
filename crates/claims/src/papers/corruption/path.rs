//! J2: a path of several links, each of which may corrupt.

use wiremend_model::{Path, path};

use crate::papers::gao::{PAPER_TOLERANCE, computed, probability, source};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J2",
    title: "loss on a path of L links",
    source: source("theorem 3"),
    paper: "On a path of L links, each of which is a corrupting one with probability ω, a packet is lost with \
           probability 1 − (1 − βω)^L ≈ Lβω",
    method: "Frames over 1 to 4 links that corrupt 1 % of the frames each; the share of lost frames is counted",
    note: "The approximation holds for small Lβω only",
    judge,
    ..Claim::FORM
};

const BETA: f64 = 0.01;
const LINKS: u32 = 4;

/// Share of frames that were lost on a path of `links` links that all corrupt.
fn lost(results: &Results<'_>, links: u32) -> Share {
    let effort = results.effort();
    let run = Run::new("claims/chain")
        .set("topology.switches", links + 1)
        .set("stop.after", effort.choose("60ms", "1s"))
        .seconds(effort.choose(0.1, 2.0) * f64::from(links + 2));
    let outcome = results.outcome(&run);
    let corrupted = (0..links).map(|link| outcome.lane(&format!("s{link}>s{}", link + 1)).corrupted).sum();
    share(corrupted, outcome.lane("s0>s1").tx_frames)
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let lost = [1, 2, 3, LINKS].map(|links| lost(results, links));
    for (lost, links) in lost.into_iter().zip(1..) {
        let corrupting =
            if links == 1 { "1 corrupting link".to_owned() } else { format!("{links} corrupting links") };
        let exact = Path::between_switches(links, 1.0).packet_loss(BETA);
        judgement.must(format!("share of frames lost on {corrupting}"), lost.expected(exact));
    }
    // Mean of the measured loss over the number of corrupting links.
    let mean = |omega: f64| {
        let terms = path::binomial(LINKS, omega);
        lost.iter().zip(&terms[1..]).map(|(lost, term)| term * lost.value()).sum::<f64>()
    };
    let exact = |omega| Path::between_switches(LINKS, omega).packet_loss(BETA);
    let printed = |omega| f64::from(LINKS) * BETA * omega;
    for omega in [0.1, 0.5, 1.0] {
        judgement.must(format!("mean for ω = {omega}"), number(mean(omega)).near(exact(omega), 0.05));
        let test = number(mean(omega)).near(printed(omega), PAPER_TOLERANCE);
        judgement.printed(format!("Lβω for ω = {omega}"), test);
    }
    let line: Vec<f64> = (1..=20).map(|step| f64::from(step) / 20.0).collect();
    let curves = vec![
        computed("1 − (1 − βω)^L", &line, exact),
        computed("Lβω", &line, printed),
        Curve::marked("measured", line.iter().step_by(3).map(|&omega| (omega, mean(omega)))),
    ];
    let title = format!("Loss on a path of {LINKS} links, β = {BETA}");
    let description = "Share of lost packets against the probability that a link corrupts.";
    let x = Axis::new("probability ω that a link corrupts", Scale::Linear, Unit::Number);
    judgement.plot("j2", &Plot::new(title, description, x, probability("lost packets"), curves));
}
