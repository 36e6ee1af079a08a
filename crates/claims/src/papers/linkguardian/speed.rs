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
/// Pause and resume thresholds of the prototype at 100G, in bytes.
const THRESHOLDS: (u32, u32) = (40_000, 36_800);
/// Factors for the thresholds at 400G.
const FACTORS: [u32; 2] = [1, 4];

fn fast(loss: f64) -> Stress {
    Stress::new(400, loss, HARDENED)
}

fn all() -> Vec<Stress> {
    let runs_at = |gbps| {
        MEASURED
            .into_iter()
            .flat_map(move |loss| [LG, LG_NB, HARDENED].map(|mode| Stress::new(gbps, loss, mode)))
    };
    RATES.into_iter().flat_map(runs_at).chain([fast(HIGH_LOSS)]).collect()
}

fn ideal() -> Stress {
    Stress::new(100, HIGH_LOSS, IDEAL)
}

/// The registers of the prototype at 400 Gb/s in a switch with memory. The buffer holds the frames in flight
/// on the link.
fn ideal_fast(factor: u32, effort: Effort) -> Run {
    let (pause, resume) = THRESHOLDS;
    Stress::new(400, HIGH_LOSS, IDEAL)
        .run(frames(effort, HIGH_LOSS))
        .set("protect.0.give_up", "7us")
        .set("protect.0.pause_at", format!("{}B", factor * pause))
        .set("protect.0.resume_at", format!("{}B", factor * resume))
        .set("protect.0.rx_buffer", "300kB")
}

fn speed(results: &Results<'_>, stress: Stress) -> f64 {
    speed_bps(counted(results, stress).0)
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for (loss, paper) in MEASURED.into_iter().zip(PAPER_BPS) {
        for (mode, name, paper) in [(LG, "ordered", paper), (LG_NB, "non-blocking", 98.74e9)] {
            let what = format!("speed, {name} mode, 100G, {}", shown(loss));
            let speed = rate_bps(speed(results, Stress::new(100, loss, mode)));
            let print = judgement.printed(what, speed.near(paper, 0.02));
            if loss == HIGH_LOSS && mode == LG {
                let in_memory = rate_bps(self::speed(results, ideal()));
                judgement.explain("the same registers in a switch with memory", 0, &[(print, in_memory)]);
            }
        }
    }
    let lost = |gbps: u32| {
        let speed_in = |mode| speed(results, Stress::new(gbps, HIGH_LOSS, mode));
        1.0 - speed_in(LG) / speed_in(LG_NB).max(1.0)
    };
    judgement.must(
        "speed lost by the ordered mode",
        ascending(&[("25G", fraction(lost(25))), ("100G", fraction(lost(100)))], 0.0),
    );
    for (stress, gbps) in
        [(Stress::new(100, HIGH_LOSS, HARDENED), 100e9), (fast(HIGH_LOSS), 400e9), (ideal(), 100e9)]
    {
        let what = format!("speed, {}", stress.name());
        judgement.must(what, rate_bps(speed(results, stress)).at_least(0.98 * gbps));
    }
    judgement.table(
        "| speed | speed lost | pauses per loss | paused time per loss | recirculations per loss | copies per frame",
        rows(results),
    );
    judgement.plot("l2", &figure(results));
}

fn rows(results: &Results<'_>) -> Vec<Vec<String>> {
    let stressed = |stress: Stress| row(stress.name(), stress.gbps, counted(results, stress).0);
    let faster = |factor| {
        let name = format!("{}, thresholds × {factor}", Stress::new(400, HIGH_LOSS, IDEAL).name());
        row(name, 400, results.outcome(&ideal_fast(factor, results.effort())))
    };
    all().into_iter().chain([ideal()]).map(stressed).chain(FACTORS.map(faster)).collect()
}

fn row(name: String, gbps: u32, outcome: &Outcome) -> Vec<String> {
    let sum = outcome.summary.protection;
    let rate = f64::from(gbps) * 1e9;
    let bps = speed_bps(outcome);
    vec![
        name,
        format!("{:.2} Gb/s", bps / 1e9),
        format!("{} %", human::percent((1.0 - bps / rate).max(0.0))),
        shown(per(sum.pauses, sum.missed)),
        human::time_ns(per(sum.paused_ns, sum.missed)),
        shown(per(sum.rx_recirculations, sum.missed)),
        format!("{} %", human::percent(per(sum.resent.frames, sum.protected))),
    ]
}

fn figure(results: &Results<'_>) -> Plot {
    let line = |name: String, points: Vec<(f64, f64)>| Curve::marked(name, points);
    let curve = |mode: &'static str| {
        let point = |loss| (loss, speed(results, Stress::new(100, loss, mode)));
        line(mode.to_owned(), MEASURED.map(point).to_vec())
    };
    let paper = line("LG, paper".to_owned(), MEASURED.into_iter().zip(PAPER_BPS).collect());
    Plot::new(
        "Effective speed of a protected link of 100 Gb/s",
        "Effective link speed against the loss rate of the link.",
        Axis::new("loss rate of the link", Scale::Log, Unit::Number),
        Axis::new("effective speed", Scale::Linear, Unit::RateBps).with_range(80e9, 100e9),
        [LG, LG_NB, HARDENED]
            .map(curve)
            .into_iter()
            .chain([line(IDEAL.to_owned(), vec![(HIGH_LOSS, speed(results, ideal()))]), paper])
            .collect(),
    )
}
