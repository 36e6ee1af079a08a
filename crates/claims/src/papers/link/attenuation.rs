//! L21: faster and denser links lose frames at less attenuation.

use wiremend_model::phy::{Generation, OperatingPoint, Optics};

use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L21",
    title: "faster and denser links fail at less attenuation",
    source: source("Fig. 1"),
    paper: "With growing attenuation a 25G link loses frames of 1518 B sooner than a 10G link, and FEC does not make \
           up for the difference. A 50G link with PAM4 fails first, although it has the strongest FEC",
    method: "The attenuation at which one frame in 10^8, 10^5 and 10^3 is lost, from a model of direct detection: \
             the eye is proportional to the optical power, noise grows with the symbol rate, four levels divide the \
             eye by three, and Reed–Solomon corrects 7 or 15 symbols. The position of the curves on the axis depends \
             on the transceivers, which the paper does not describe",
    note: "Noise grows with the symbol rate, and four levels share the amplitude of two; FEC gains less than this \
           costs",
    judge,
    ..Claim::FORM
};

const FRAME_BYTES: f64 = 1518.0;
const LOSSES: [f64; 3] = [1e-8, 1e-5, 1e-3];
/// In the order in which they fail.
const ORDER: [Generation; 4] = [Generation::G50_FEC, Generation::G25, Generation::G25_FEC, Generation::G10];
/// Links without FEC lose each frame with a bit error, so they can be simulated.
const SIMULATED: [Generation; 2] = [Generation::G10, Generation::G25];
const SIMULATED_LOSS: f64 = 1e-2;

fn attenuation(generation: &Generation, loss: f64) -> f64 {
    Optics::default().attenuation_for(generation, loss, FRAME_BYTES)
}

/// A link at the attenuation at which it loses one frame in a hundred.
fn simulated(generation: &Generation) -> OperatingPoint {
    Optics::default().operating_point(generation, attenuation(generation, SIMULATED_LOSS), FRAME_BYTES)
}

fn run(generation: &Generation, effort: Effort) -> Run {
    Run::new("claims/attenuation")
        .set("impair.0.rate", format!("{:e}", simulated(generation).bit_error_rate))
        .set("workload.0.stop", effort.choose("200ms", "2s"))
        .set("stop.after", "3s")
        .seconds(effort.choose(0.1, 1.0))
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for loss in LOSSES {
        let db = ORDER.map(|generation| (generation.name, attenuation(&generation, loss)));
        let spaced: Vec<_> = db
            .iter()
            .zip(0..)
            .map(|((name, db), step)| (*name, number(db - 0.5 * f64::from(step))))
            .collect();
        judgement.must(
            format!("attenuation in dB at a loss rate of {loss:e}, minus 0.5 dB per step"),
            ascending(&spaced, 0.0),
        );
    }
    for generation in &SIMULATED {
        let lane = results.outcome(&run(generation, results.effort())).lane("h0>tor");
        let lost = share(lane.corrupted, lane.tx_frames);
        let what =
            format!("frames lost, {}, at {:.1} dB", generation.name, attenuation(generation, SIMULATED_LOSS));
        judgement.must(what, lost.expected(simulated(generation).frame_loss));
    }
    judgement.plot("l21", &figure());
}

fn figure() -> Plot {
    let steps = || (0..=180).map(|step| f64::from(step) / 10.0);
    let curve = |generation: &Generation| {
        let point = |db: f64| (db, Optics::default().operating_point(generation, db, FRAME_BYTES).frame_loss);
        let points = steps().map(point).filter(|(_, loss)| *loss > 1e-10);
        Curve::straight(generation.name, points)
    };
    Plot::new(
        "Loss of frames of 1518 B against attenuation",
        "Probability that a frame is lost against optical attenuation, for four generations of links.",
        Axis::new("attenuation in dB", Scale::Linear, Unit::Number),
        Axis::new("frames lost", Scale::Log, Unit::Number),
        Generation::ALL.iter().map(curve).collect(),
    )
}
