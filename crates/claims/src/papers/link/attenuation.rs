//! L21: the faster and the denser, the sooner fading light loses frames.

use wiremend_model::phy::{Generation, Optics, Point};
use wiremend_report::plot::{Axis, Curve, Line, Plot, Scale, Unit};

use crate::ledger::number::{ascending, number, share};
use crate::ledger::{Claim, Effort, Finding, Judgement, Results, Run};

pub(super) const CLAIM: Claim = Claim {
    id: "L21",
    title: "faster and denser links break sooner",
    source: "Joshi et al., Masking Corruption Packet Losses in Datacenter Networks with Link-local Retransmission, SIGCOMM 2023, Fig. 1",
    paper: "With growing attenuation a 25G link loses frames of 1518 B sooner than a 10G link, FEC helps it less than enough, and a 50G link \
            with PAM4 breaks first although it has the stronger FEC",
    method: "The attenuation at which one frame in 10^8, 10^5 and 10^3 is lost, by the physics of direct detection: light halves, the eye halves; \
             noise grows with the symbol rate; four levels divide the eye by three; Reed–Solomon corrects 7 or 15 of its symbols. \
             Reproduced if at each loss the order is 50G with FEC, 25G without, 25G with FEC, 10G, each gap at least 0.5 dB, and a simulated \
             link at the bit error rate of 10G and of 25G without FEC loses the share of frames that follows. Where the curves stand along the \
             axis depends on the transceivers, which the paper does not give",
    runs,
    judge,
};

const FRAME_BYTES: f64 = 1518.0;
const LOSSES: [f64; 3] = [1e-8, 1e-5, 1e-3];
const GAP_DB: f64 = 0.5;
/// From the first to break to the last.
const ORDER: [Generation; 4] = [Generation::G50_FEC, Generation::G25, Generation::G25_FEC, Generation::G10];
/// Links without FEC lose the frames whose bits are wrong: that can be watched.
const WATCHED: [Generation; 2] = [Generation::G10, Generation::G25];
const WATCHED_LOSS: f64 = 1e-2;

fn attenuation(generation: &Generation, loss: f64) -> f64 {
    Optics::default().attenuation_for(generation, loss, FRAME_BYTES)
}

/// A link at the attenuation at which it loses one frame in a hundred.
fn watched(generation: &Generation) -> Point {
    Optics::default().at(generation, attenuation(generation, WATCHED_LOSS), FRAME_BYTES)
}

fn run(generation: &Generation, effort: Effort) -> Run {
    Run::of("claims/attenuation")
        .set("impair.0.rate", format!("{:e}", watched(generation).bit_error_rate))
        .set("workload.0.stop", effort.choose("200ms", "2s"))
        .set("stop.after", "3s")
        .seconds(effort.choose(0.1, 1.0))
}

fn runs(effort: Effort) -> Vec<Run> {
    WATCHED.iter().map(|generation| run(generation, effort)).collect()
}

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    for loss in LOSSES {
        let db = ORDER.map(|generation| (generation.name, attenuation(&generation, loss)));
        let spaced: Vec<_> = db
            .iter()
            .zip(0..)
            .map(|((name, db), step)| (*name, number(db - GAP_DB * f64::from(step))))
            .collect();
        judgement.must(format!("dB at a loss of {loss:e}, less 0.5 dB a step"), ascending(&spaced, 0.0));
    }
    for generation in &WATCHED {
        let lane = results.of(&run(generation, results.effort())).lane("h0>tor");
        let lost = share(lane.corrupted, lane.tx_frames);
        let what =
            format!("frames lost, {}, at {:.1} dB", generation.name, attenuation(generation, WATCHED_LOSS));
        judgement.must(what, lost.expected(watched(generation).frame_loss));
    }
    judgement.plot("l21", &figure());
    let shows: Vec<_> = ORDER
        .iter()
        .map(|generation| format!("{} at {:.1} dB", generation.name, attenuation(generation, 1e-5)))
        .collect();
    judgement.finding(
        format!("one frame in 100 000 is lost by {}", shows.join(", by ")),
        "Noise grows with the symbol rate, and four levels share the swing of two; FEC gives back less than that",
    )
}

fn figure() -> Plot {
    let steps = || (0..=180).map(|step| f64::from(step) / 10.0);
    let curve = |generation: &Generation| {
        let point = |db: f64| (db, Optics::default().at(generation, db, FRAME_BYTES).frame_loss);
        let points = steps().map(point).filter(|(_, loss)| *loss > 1e-10).collect();
        Curve { name: generation.name.to_owned(), points, line: Line::Straight }
    };
    Plot {
        title: "Frames of 1518 B lost as light fades".to_owned(),
        description:
            "Probability that a frame is lost against optical attenuation, for four generations of links."
                .to_owned(),
        x: Axis::new("attenuation in dB", Scale::Linear, Unit::Number),
        y: Axis::new("frames lost", Scale::Log, Unit::Number),
        curves: Generation::ALL.iter().map(curve).collect(),
    }
}
