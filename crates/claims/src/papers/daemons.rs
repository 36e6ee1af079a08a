//! L20: Joshi et al. (SIGCOMM 2023), appendix C: daemons that find a corrupting link and have it protected.

use serde_json::Value;
use wiremend_monitor::{Detector, Sample, Thresholds};
use wiremend_report::human;
use wiremend_report::lab::Loop;

use super::joshi::source;
use crate::ledger::number::number;
use crate::ledger::{Claim, Finding, Judgement, Results};

pub(super) const CLAIMS: &[Claim] = &[CLAIM];

const CLAIM: Claim = Claim {
    id: "L20",
    title: "daemons that find a corrupting link and protect it",
    source: source!("appendix C"),
    paper: "A daemon at each switch reads the counters of its ports every second, judges the loss over 100 M frames, and from 1e-8 on has the other end protect the link, which it tells by publish and subscribe of Redis",
    method: "The laboratory of wiremend lab auto: kernel TCP over a link that begins to lose 1e-3, real relays, a real Redis and a daemon at each end that knows of nothing. Reproduced if each time both directions are \
             protected within 3 s of the first corrupted frame, each by the sending end 0.5 s after the other saw it, and let be within 3 s of the repair; and if errors that come evenly raise the alarm within the window at 1e-7, and never at 5e-9",
    runs: |_| Vec::new(),
    judge,
};

/// Losses that come evenly, from bad to hardly there.
const LOSSES: [f64; 6] = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 2e-8];
/// Frames of 1518 bytes in a second at 100 Gb/s.
const FRAMES_PER_S: f64 = 8_127_438.0;

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let asked = results.effort().choose(1, 5);
    let seen: Vec<Loop> = (0..asked).filter_map(|_| results.lab(&["auto", "--json"])).collect();
    judgement.must("labs that ran to their end", number(seen.len() as f64).at_least(f64::from(asked)));
    let worst = |of: fn(&Loop) -> Option<f64>| {
        // One that never came is later than all.
        seen.iter().map(|one| of(one).unwrap_or(f64::INFINITY)).fold(0.0, f64::max)
    };
    let noticed = worst(|one| Some(one.noticed_s? - one.corrupts_s));
    let told = worst(told);
    let protected = worst(|one| Some(one.protected_s? - one.corrupts_s));
    let let_be = worst(|one| Some(one.let_be_s? - one.repaired_s));
    judgement.must("seconds from the first corrupted frame to protection", number(protected).at_most(3.0));
    judgement.must("seconds from an end that sees it to the other that protects", number(told).at_most(0.5));
    judgement.must("seconds from the repair until it is let be", number(let_be).at_most(3.0));
    let window = Thresholds::default().window_frames as f64;
    judgement.must(
        "frames until 1e-7 is known",
        number(frames_until(1e-7).unwrap_or(f64::INFINITY)).at_most(window),
    );
    judgement.must("alarms at 5e-9", number(f64::from(u8::from(frames_until(5e-9).is_some()))).at_most(0.0));
    judgement.table("loss | frames until it is known | at 100 Gb/s", LOSSES.map(row).to_vec());
    if let Some(last) = seen.last() {
        judgement.plot("l20", &last.picture().plot());
    }
    judgement.finding(
        format!(
            "noticed after {noticed:.2} s, protected {told:.2} s after an end saw it and {protected:.2} s after the first corrupted frame, let be {let_be:.2} s after the repair; the worst of {asked}"
        ),
        "An alarm that waits for a full window, as printed, would come 12 s late on a full link of 100 Gb/s and hours late on a quiet one; a confidence bound on fewer frames says the same sooner. What is just above 1e-8 is not raised: 100 M frames have too few errors to tell it from what is below",
    )
}

/// From what one end sees to what the other does about it, in the slower direction.
fn told(one: &Loop) -> Option<f64> {
    let first = |node: &str, is_meant: &dyn Fn(&Value) -> bool| {
        let said = one.decisions.iter().find(|said| said.said["node"] == node && is_meant(&said.said));
        said.map(|said| said.at_s)
    };
    let sees = |said: &Value| said["event"] == "saw" && !said["corrupting"].is_null();
    let protects = |said: &Value| said["event"] == "did" && said["doing"].get("protects").is_some();
    let [a, b] = Loop::NODES;
    let from = |sees_it: &str, does_it: &str| Some(first(does_it, &protects)? - first(sees_it, &sees)?);
    Some(from(a, b)?.max(from(b, a)?))
}

fn row(loss: f64) -> Vec<String> {
    let frames = frames_until(loss);
    let shown = frames.map_or_else(|| "never".to_owned(), |frames| human::count(frames as u64));
    let time = frames.map_or_else(|| "–".to_owned(), |frames| format!("{:.1e} s", frames / FRAMES_PER_S));
    vec![format!("{loss:.0e}"), shown, time]
}

/// Frames until the alarm, if errors come evenly; `None` if ten windows pass without.
fn frames_until(loss: f64) -> Option<f64> {
    let thresholds = Thresholds::default();
    let mut detector = Detector::new(thresholds);
    let frames = (1.0 / loss).round() as u64;
    let most = thresholds.window_frames.saturating_mul(10) / frames;
    (1..=most)
        .find(|_| detector.on_sample(Sample { frames, errors: 1 }).is_some())
        .map(|errors| (errors * frames) as f64)
}
