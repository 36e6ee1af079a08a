//! J2: a path of several links, each of which may corrupt.

use wiremend_model::{Path, path};
use wiremend_report::plot::{Axis, Plot, Scale, Unit};

use super::{PAPER_TOLERANCE, computed, measured, probability};
use crate::ledger::number::{Share, number, share};
use crate::ledger::{Claim, Effort, Judgement, Results, Run};
use crate::papers::gao::source;

pub(super) const CLAIM: Claim = Claim {
    id: "J2",
    title: "loss on a path of L links",
    source: source("theorem 3"),
    paper: "On a path of L links, each of which is a corrupting one with probability ω, a packet is lost with \
           probability 1 − (1 − βω)^L ≈ Lβω",
    method: "Frames over 1 to 4 links that corrupt 1 % of the frames each; the share of lost frames is counted",
    note: "The approximation holds for small Lβω only",
    runs,
    judge,
};

const BETA: f64 = 0.01;
const LINKS: u32 = 4;
const OMEGAS: [f64; 3] = [0.1, 0.5, 1.0];
/// Tolerance for a mean of measured shares.
const MEAN_TOLERANCE: f64 = 0.05;

/// A path of `links` links that all corrupt.
fn run(effort: Effort, links: u32) -> Run {
    Run::new("claims/chain")
        .set("topology.switches", links + 1)
        .set("stop.after", effort.choose("60ms", "1s"))
        .seconds(effort.choose(0.1, 2.0) * f64::from(links + 2))
}

fn runs(effort: Effort) -> Vec<Run> {
    (1..=LINKS).map(|links| run(effort, links)).collect()
}

/// Share of frames that were lost on the path.
fn lost(results: &Results<'_>, links: u32) -> Share {
    let outcome = results.outcome(&run(results.effort(), links));
    let corrupted = (0..links).map(|link| outcome.lane(&format!("s{link}>s{}", link + 1)).corrupted).sum();
    share(corrupted, outcome.lane("s0>s1").tx_frames)
}

/// Mean of the measured loss over the number of corrupting links.
fn mean(results: &Results<'_>, omega: f64) -> f64 {
    let terms = path::binomial(LINKS, omega);
    (1..=LINKS).map(|links| terms[links as usize] * lost(results, links).value()).sum()
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for links in 1..=LINKS {
        let exact = Path::between_switches(links, 1.0).packet_loss(BETA);
        let corrupting =
            if links == 1 { "1 corrupting link".to_owned() } else { format!("{links} corrupting links") };
        judgement.must(format!("share of frames lost on {corrupting}"), lost(results, links).expected(exact));
    }
    for omega in OMEGAS {
        let (mean, exact) = (mean(results, omega), Path::between_switches(LINKS, omega).packet_loss(BETA));
        judgement.must(format!("mean for ω = {omega}"), number(mean).near(exact, MEAN_TOLERANCE));
        judgement.printed(
            format!("Lβω for ω = {omega}"),
            number(mean).near(f64::from(LINKS) * BETA * omega, PAPER_TOLERANCE),
        );
    }
    judgement.plot("j2", &figure(results));
}

fn figure(results: &Results<'_>) -> Plot {
    let line: Vec<f64> = (1..=20).map(|step| f64::from(step) / 20.0).collect();
    let exact = |omega| Path::between_switches(LINKS, omega).packet_loss(BETA);
    let printed = |omega| f64::from(LINKS) * BETA * omega;
    Plot {
        title: format!("Loss on a path of {LINKS} links, β = {BETA}"),
        description: "Share of lost packets against the probability that a link corrupts.".to_owned(),
        x: Axis::new("probability ω that a link corrupts", Scale::Linear, Unit::Number),
        y: probability("lost packets"),
        curves: vec![
            computed("1 − (1 − βω)^L", &line, exact),
            computed("Lβω", &line, printed),
            measured(
                "measured",
                line.iter().step_by(3).map(|&omega| (omega, mean(results, omega))).collect(),
            ),
        ],
    }
}
