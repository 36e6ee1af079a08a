//! L2: what is left of the link's speed.

use wiremend_report::human;
use wiremend_report::plot::{Axis, Curve, Line, Plot, Scale, Unit};

use super::stress::{FORWARD, HARDENED, LG, LG_NB, MEASURED, RATES, Stress, counted, frames, per, speed_bps};
use crate::claims::joshi::source;
use crate::ledger::number::{ascending, fraction, rate_bps, shown};
use crate::ledger::{Claim, Effort, Finding, Judgement, Results, Run};

pub(super) const CLAIM: Claim = Claim {
    id: "L2",
    title: "effective link speed",
    source: source!("section 4.1, Fig. 8, and the table of its fleet simulator"),
    paper: "At 100G in order 98.76, 98.74 and 90.88 Gb/s at a loss of 1.43e-5, 9.16e-5 and 1.16e-3: 8 % less at the last; without order 98.74 Gb/s even \
            there",
    method: "The stress test: frames handed on times 1538 B over time. The switch's latencies come from the resume flight and the longest \
             retransmission, not from this. Reproduced if all speeds at 100G are those of the paper within 2 %; if only the one in order at 1.16e-3 is not, \
             it differs, provided that it lies between 80 and 95.5 Gb/s: a buffer without turns still idles 5.5 µs for each loss, which is 4.5 %. \
             Order must cost more at 100G than at 25G, and ours must keep 98 % at 100G and at 400G",
    runs,
    judge,
};

const PAPER_BPS: [f64; 3] = [98.76e9, 98.74e9, 90.88e9];
const PAPER_NB_BPS: f64 = 98.74e9;
const CLOSE: f64 = 0.02;
const HIGH: f64 = MEASURED[2];

fn fast(loss: f64) -> Stress {
    Stress::new(400, loss, HARDENED)
}

fn all() -> Vec<Stress> {
    let of = |gbps| {
        MEASURED
            .into_iter()
            .flat_map(move |loss| [LG, LG_NB, HARDENED].map(|mode| Stress::new(gbps, loss, mode)))
    };
    RATES.into_iter().flat_map(of).chain([fast(HIGH)]).collect()
}

/// What a link of 400 Gb/s has under way needs room.
fn run(stress: &Stress, effort: Effort) -> Run {
    stress.run(frames(effort, stress.loss))
}

fn runs(effort: Effort) -> Vec<Run> {
    all().iter().map(|stress| run(stress, effort)).collect()
}

fn speed(results: &Results<'_>, stress: Stress) -> f64 {
    speed_bps(counted(results, stress).0)
}

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    for (loss, paper) in MEASURED.into_iter().zip(PAPER_BPS) {
        let bps = speed(results, Stress::new(100, loss, LG));
        let what = format!("speed in order, 100G, {}", shown(loss));
        if loss < HIGH {
            judgement.must(what, rate_bps(bps).near(paper, CLOSE));
        } else {
            judgement.must(what.clone(), rate_bps(bps).between(80e9, 95.5e9));
            judgement.printed(what, rate_bps(bps).near(paper, CLOSE), &reason(results));
        }
        let bps = speed(results, Stress::new(100, loss, LG_NB));
        judgement.must(
            format!("speed without order, 100G, {}", shown(loss)),
            rate_bps(bps).near(PAPER_NB_BPS, CLOSE),
        );
    }
    let lost = |gbps: u32| {
        let of = |mode| speed(results, Stress::new(gbps, HIGH, mode));
        1.0 - of(LG) / of(LG_NB).max(1.0)
    };
    judgement.must(
        "what order costs",
        ascending(&[("25G", fraction(lost(25))), ("100G", fraction(lost(100)))], 0.0),
    );
    for (stress, gbps) in [(Stress::new(100, HIGH, HARDENED), 100e9), (fast(HIGH), 400e9)] {
        judgement.must(
            format!("speed, {}", stress.name()),
            rate_bps(speed(results, stress)).at_least(0.98 * gbps),
        );
    }
    judgement.table(
        &["", "speed", "lost", "pauses per loss", "paused per loss", "turns per loss", "sent again"],
        all().into_iter().map(|stress| row(results, stress)).collect(),
    );
    judgement.plot("l2", &figure(results));
    let speeds = |gbps, mode| {
        MEASURED.map(|loss| format!("{:.2}", speed(results, Stress::new(gbps, loss, mode)) / 1e9)).join(", ")
    };
    judgement.finding(
        format!(
            "100G in order {} Gb/s, without {}; 25G in order {}, without {}; ours in order at 100G {}, and {:.1} Gb/s of 400G at 1.16e-3",
            speeds(100, LG),
            speeds(100, LG_NB),
            speeds(25, LG),
            speeds(25, LG_NB),
            speeds(100, HARDENED),
            speed(results, fast(HIGH)) / 1e9
        ),
        "Order costs what the sender waits while frames turn until the missing one is there and all are in order again",
    )
}

/// Where the speed goes at the highest loss, in measured numbers.
fn reason(results: &Results<'_>) -> String {
    let ordered = Stress::new(100, HIGH, LG);
    let (outcome, sum) = counted(results, ordered);
    let frames = outcome.lane(FORWARD).tx_frames.max(1) as f64;
    let nb = speed(results, Stress::new(100, HIGH, LG_NB));
    format!(
        "Our loop loses more than the paper's. Of each loss the sender waits {} in {} pauses, since frames that came in \
         meanwhile stand between those that turn, so that it takes {} turns of a frame until all are in order again, where a buffer in memory would wait for \
         the 5.5 µs of the retransmission alone; headers cost {} %, copies {} %, and without order nothing but these is missing ({}). \
         What the prototype's loop does between two turns was not published",
        human::time_ns(per(sum.paused_ns, sum.missed)),
        shown(per(sum.pauses, sum.missed)),
        shown(per(sum.rx_passes, sum.missed)),
        human::percent(3.0 / 1541.0),
        human::percent(sum.resent.frames as f64 / frames),
        human::rate_bps(nb)
    )
}

fn row(results: &Results<'_>, stress: Stress) -> Vec<String> {
    let (outcome, sum) = counted(results, stress);
    let rate = f64::from(stress.gbps) * 1e9;
    let bps = speed_bps(outcome);
    vec![
        stress.name(),
        format!("{:.2} Gb/s", bps / 1e9),
        format!("{} %", human::percent((1.0 - bps / rate).max(0.0))),
        shown(per(sum.pauses, sum.missed)),
        human::time_ns(per(sum.paused_ns, sum.missed)),
        shown(per(sum.rx_passes, sum.missed)),
        format!("{} %", human::percent(per(sum.resent.frames, sum.protected))),
    ]
}

fn figure(results: &Results<'_>) -> Plot {
    let line = |name: String, points: Vec<(f64, f64)>| Curve { name, points, line: Line::Marked };
    let of = |mode: &'static str| {
        let point = |loss| (loss, speed(results, Stress::new(100, loss, mode)));
        line(mode.to_owned(), MEASURED.map(point).to_vec())
    };
    let paper = line("LG, paper".to_owned(), MEASURED.into_iter().zip(PAPER_BPS).collect());
    Plot {
        title: "Effective speed of a protected link of 100 Gb/s".to_owned(),
        description: "Effective link speed against the loss of the link.".to_owned(),
        x: Axis::new("loss of the link", Scale::Log, Unit::Number),
        y: Axis::new("effective speed", Scale::Linear, Unit::RateBps).with_range(80e9, 100e9),
        curves: [LG, LG_NB, HARDENED].map(of).into_iter().chain([paper]).collect(),
    }
}
