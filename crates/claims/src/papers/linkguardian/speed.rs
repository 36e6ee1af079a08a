//! L2: effective speed of a protected link.

use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::{HARDENED, LG, LG_NB, MEASURED, RATES, Stress, counted, frames, per, speed_bps};

pub(super) const CLAIM: Claim = Claim {
    id: "L2",
    title: "effective link speed",
    source: source("section 4.1, Fig. 8, and the table of its fleet simulator"),
    paper: "At 100G in the ordered mode 98.76, 98.74 and 90.88 Gb/s at a loss rate of 1.43e-5, 9.16e-5 and 1.16e-3: 8 \
           % less at the last; in the non-blocking mode 98.74 Gb/s even there",
    method: "The stress test: delivered frames times 1538 B per second. The latencies of the switch come from the \
             resume time and the longest retransmission, not from this claim. Order must cost more at 100G than at \
             25G, and the hardened protocol must keep 98 % at 100G and at 400G. The same registers in a switch with \
             memory (LG, ideal) separate the cost of recirculation from that of the protocol, and must keep 98 % at \
             100G. At 400G, for which nothing was published, they have the timeout of 100G and its thresholds, \
             unchanged and multiplied by four",
    note: "For each loss the sender is paused several times: frames that arrived meanwhile are queued between \
           recirculating ones. Order costs the time for which the sender is paused while frames recirculate until the \
           missing one has arrived and all are in order again. Recirculation causes all of this cost: with the same \
           registers and memory the retransmission arrives before the buffer reaches its pause threshold, and only \
           headers and copies cost speed. If retransmissions took only as long as path and turns together, 3.7 µs at \
           most, the pause would be 7.8 µs and the speed 92.5 Gb/s: the printed speed needs them faster than printed",
    judge,
    ..Claim::FORM
};

const PAPER_BPS: [f64; 3] = [98.76e9, 98.74e9, 90.88e9];
const HIGH_LOSS: f64 = MEASURED[2];
/// The protocol of the prototype in a switch with memory instead of recirculation.
const IDEAL: &str = "LG, ideal";

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let speed = |stress: Stress| rate_bps(speed_bps(counted(results, stress).0));
    let at = |gbps, mode| Stress::new(gbps, HIGH_LOSS, mode);
    for (loss, ordered) in MEASURED.into_iter().zip(PAPER_BPS) {
        for (mode, name, paper) in [(LG, "ordered", ordered), (LG_NB, "non-blocking", 98.74e9)] {
            let what = format!("speed, {name} mode, 100G, {}", shown(loss));
            let print = judgement.printed(what, speed(Stress::new(100, loss, mode)).near(paper, 0.02));
            if loss == HIGH_LOSS && mode == LG {
                let in_memory = [(print, speed(at(100, IDEAL)))];
                judgement.explain("the same registers in a switch with memory", 0, &in_memory);
            }
        }
    }
    let lost = |gbps| fraction(1.0 - speed(at(gbps, LG)).value / speed(at(gbps, LG_NB)).value.max(1.0));
    let by_rate = ascending(&[("25G", lost(25)), ("100G", lost(100))], 0.0);
    judgement.must("speed lost by the ordered mode", by_rate);
    for stress in [at(100, HARDENED), at(400, HARDENED), at(100, IDEAL)] {
        let bound = 0.98e9 * f64::from(stress.gbps);
        judgement.must(format!("speed, {}", stress.name()), speed(stress).at_least(bound));
    }
    rows(judgement, results);
    let point = |mode| move |loss| (loss, speed(Stress::new(100, loss, mode)).value);
    let curve = |mode| Curve::marked(mode, MEASURED.map(point(mode)));
    let ideal = Curve::marked(IDEAL, [(HIGH_LOSS, speed(at(100, IDEAL)).value)]);
    let paper = Curve::marked("LG, paper", MEASURED.into_iter().zip(PAPER_BPS));
    let x = Axis::new("loss rate of the link", Scale::Log, Unit::Number);
    let y = Axis::new("effective speed", Scale::Linear, Unit::RateBps).with_range(80e9, 100e9);
    let curves = [LG, LG_NB, HARDENED].map(curve).into_iter().chain([ideal, paper]);
    let description = "Effective link speed against the loss rate of the link.";
    let title = "Effective speed of a protected link of 100 Gb/s";
    judgement.plot("l2", &Plot::new(title, description, x, y, curves.collect()));
}

fn rows(judgement: &mut Judgement, results: &Results<'_>) {
    let at = |gbps| {
        let at = move |loss| [LG, LG_NB, HARDENED].map(|mode| Stress::new(gbps, loss, mode));
        MEASURED.into_iter().flat_map(at)
    };
    let [fast, ideal] =
        [(400, HARDENED), (100, IDEAL)].map(|(gbps, mode)| Stress::new(gbps, HIGH_LOSS, mode));
    for stress in RATES.into_iter().flat_map(at).chain([fast, ideal]) {
        row(judgement, stress.name(), stress.gbps, counted(results, stress).0);
    }
    // At 400 Gb/s, with the prototype's thresholds for 100 Gb/s and a buffer for the frames on the link.
    let stress = Stress::new(400, HIGH_LOSS, IDEAL);
    let run = stress.run(frames(results.effort(), HIGH_LOSS)).set("protect.0.give_up", "7us");
    for factor in [1, 4] {
        let run = run.clone().set("protect.0.pause_at", format!("{}B", factor * 40_000));
        let run = run.set("protect.0.resume_at", format!("{}B", factor * 36_800));
        let outcome = results.outcome(&run.set("protect.0.rx_buffer", "300kB"));
        row(judgement, format!("{}, thresholds × {factor}", stress.name()), 400, outcome);
    }
    judgement.columns(
        "| speed | speed lost | pauses per loss | paused time per loss | recirculations per loss | copies per frame",
    );
}

fn row(judgement: &mut Judgement, name: String, gbps: u32, outcome: &Outcome) {
    let sum = outcome.summary.protection;
    let bps = speed_bps(outcome);
    let lost = (1.0 - bps / (f64::from(gbps) * 1e9)).max(0.0);
    let speed = format!("{:.2} Gb/s", bps / 1e9);
    let paused = time_ns(per(sum.paused_ns, sum.missed));
    let [pauses, turns] = [sum.pauses, sum.rx_recirculations].map(|count| number(per(count, sum.missed)));
    let copies = fraction(per(sum.resent.frames, sum.protected));
    judgement.row(name, [&speed, &fraction(lost), &pauses, &paused, &turns, &copies]);
}
