//! L20: Joshi et al. (SIGCOMM 2023), appendix C: daemons that detect a corrupting link and start its
//! protection.

use wiremend_monitor::{Detector, FrameSample, Thresholds};
use wiremend_report::lab::{AutoRun, Decision};

use super::joshi::source;
use crate::prelude::*;

pub(super) const CLAIMS: &[Claim] = &[CLAIM];

const CLAIM: Claim = Claim {
    id: "L20",
    title: "daemons detect a corrupting link and protect it",
    source: source("appendix C"),
    paper: "A daemon at each switch reads the counters of its ports every second and computes the loss rate over 100 M \
           frames. From 1e-8 on it asks the daemon at the other end to protect the link, by publish and subscribe of \
           Redis",
    method: "wiremend lab auto runs kernel TCP over a link that starts to lose 1e-3 of its frames, real relays, a \
             real Redis and a daemon at each end",
    note: "An alarm that waits for a full window, as printed, would come 12 s late on a full link of 100 Gb/s \
           and hours late on a nearly idle one; a confidence bound over fewer frames detects the same loss rate \
           earlier. Loss rates just above 1e-8 raise no alarm: 100 M frames have too few errors to distinguish \
           them from rates below 1e-8. The printed rule, a plain ratio over 100 M frames, alarms at a single \
           error: in 86 % of windows at 2e-8, but also in 39 % at 5e-9, where this daemon must not alarm",
    judge,
    ..Claim::FORM
};

/// Loss rates of evenly spaced errors.
const LOSSES: [f64; 6] = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 2e-8];
/// Frames of 1518 bytes in a second at 100 Gb/s.
const FRAMES_PER_S: f64 = 8_127_438.0;

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    if results.is_listing() {
        return;
    }
    let repetitions = results.effort().choose(1, 5);
    let labs: Vec<AutoRun> = (0..repetitions).filter_map(|_| results.lab(&["auto", "--json"])).collect();
    judgement.must("completed lab runs", number(labs.len() as f64).at_least(f64::from(repetitions)));
    let worst = |delay: fn(&AutoRun) -> Option<f64>| {
        // A missing event counts as infinitely late.
        labs.iter().map(|one| delay(one).unwrap_or(f64::INFINITY)).fold(0.0, f64::max)
    };
    let reaction = worst(reaction_s);
    let protected = worst(|one| Some(one.protected_s? - one.corrupts_s));
    let released = worst(|one| Some(one.unprotected_s? - one.repaired_s));
    judgement.must("seconds from the first corrupted frame to protection", number(protected).at_most(3.0));
    judgement.must(
        "seconds from the detection at one end to protection by the other",
        number(reaction).at_most(0.5),
    );
    judgement.must("seconds from the repair until protection ends", number(released).at_most(3.0));
    let window = Thresholds::default().window_frames as f64;
    judgement.must(
        "frames until 1e-7 is detected",
        number(frames_until(1e-7).unwrap_or(f64::INFINITY)).at_most(window),
    );
    judgement.printed(
        "frames until 2e-8 is detected",
        number(frames_until(2e-8).unwrap_or(f64::INFINITY)).at_most(window),
    );
    judgement.must("alarms at 5e-9", number(f64::from(u8::from(frames_until(5e-9).is_some()))).at_most(0.0));
    judgement.table("loss rate | frames until detection | at 100 Gb/s", LOSSES.map(row).to_vec());
    if let Some(last) = labs.last() {
        judgement.plot("l20", &last.goodput_chart().plot());
    }
}

/// Time from the detection at one end to the reaction of the other, in the slower direction.
fn reaction_s(run: &AutoRun) -> Option<f64> {
    let first = |node: &str, matches: &dyn Fn(&Decision) -> bool| {
        let decision = run.decisions.iter().find(|one| one.entry["node"] == node && matches(one));
        decision.map(|decision| decision.at_s)
    };
    let protects = |decision: &Decision| decision.copies().is_some_and(|copies| copies > 0);
    let [a, b] = AutoRun::NODES;
    let from = |detector: &str, actor: &str| {
        Some(first(actor, &protects)? - first(detector, &Decision::is_detection)?)
    };
    Some(from(a, b)?.max(from(b, a)?))
}

fn row(loss: f64) -> Vec<String> {
    let frames = frames_until(loss);
    let shown = frames.map_or_else(|| "never".to_owned(), |frames| human::count(frames as u64));
    let time = frames.map_or_else(|| "–".to_owned(), |frames| format!("{:.1e} s", frames / FRAMES_PER_S));
    vec![format!("{loss:.0e}"), shown, time]
}

/// Frames until the alarm with evenly spaced errors; `None` if ten windows pass without an alarm.
fn frames_until(loss: f64) -> Option<f64> {
    let thresholds = Thresholds::default();
    let mut detector = Detector::new(thresholds);
    let frames = (1.0 / loss).round() as u64;
    let most = thresholds.window_frames.saturating_mul(10) / frames;
    (1..=most)
        .find(|_| detector.on_sample(FrameSample { frames, errors: 1 }).is_some())
        .map(|errors| (errors * frames) as f64)
}
