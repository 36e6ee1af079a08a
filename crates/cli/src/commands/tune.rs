//! `wiremend tune`: the cheapest dummies and copies that reach a target.

use std::fmt::Write as _;

use serde_json::{Value, json};
use wiremend_claims::verify::{Prediction, PredictionVerdict, Verified, VerifyEffort};
use wiremend_model::tune::{self, Candidate, TRIED_MAX, Target, TuneResult};
use wiremend_model::{MendCounts, NakReaction, penalty};
use wiremend_report::terminal::Terminal;
use wiremend_report::{human, text_table};

use super::model::{in_words, mend_json, mend_text, share};
use crate::args::explain::{TargetArgs, Tune, VerifyArgs};
use crate::failure::{Answer, Failure};
use crate::model_input::{Grain, ModelInput};
use crate::progress::Progress;
use crate::{signals, terminal};

pub(super) fn run(args: &Tune) -> Result<Answer, Failure> {
    let input = ModelInput::new(&args.link, &args.flows, &args.times, Grain::COARSE, NakReaction::Unknown)?;
    let target = target(&args.target)?;
    let fine = ModelInput::new(&args.link, &args.flows, &args.times, Grain::FINE, NakReaction::Unknown)?;
    if let Target::Fct { quantile, limit } = target {
        check_physics(&fine, quantile, limit)?;
    }
    let holds = holds(&input, target, args.hold_max.as_secs_f64());
    let tuned = tune::tune(&tune::TuneProblem {
        setting: input.setting(MendCounts::NONE),
        path: input.path,
        flows: &input.flows,
        times: input.times,
        next: input.fixed_next(),
        holds: &holds,
        target,
    });
    let prediction = tuned.chosen.as_ref().filter(|_| args.verify.verify);
    let subject = fine.subject(&args.flows);
    let prediction = prediction.map(|choice| Prediction { subject: &subject, choice, target });
    prediction.as_ref().map_or(Ok(()), Prediction::check)?;
    if !args.json {
        // The computed result is printed at once, before the simulation.
        terminal::print(&text(&input, target, &tuned, terminal::stdout()))?;
    }
    let verified = prediction.map(|prediction| verify(&args.verify, &prediction)).transpose()?;
    let is_held = verified.as_ref().is_none_or(|verified| verified.verdict() == PredictionVerdict::Confirmed);
    if args.json {
        let mut json = result_json(target, &tuned);
        if let Some(verified) = verified {
            json["verified"] = verified.json();
        }
        terminal::print(&format!("{json:#}\n"))?;
    } else if let Some(verified) = verified {
        terminal::print(&format!("\n{}", verified.text(terminal::stdout())))?;
    }
    Ok(if tuned.chosen.is_some() && is_held { Answer::Yes } else { Answer::No })
}

fn verify(args: &VerifyArgs, prediction: &Prediction<'_>) -> Result<Verified, Failure> {
    signals::catch()?;
    let (progress, stop) = (Progress::default(), signals::stop());
    let effort = VerifyEffort { seconds: args.duration.as_secs_f64(), seed: args.seed };
    let verified = prediction.verify(&super::runner(None, &progress, &stop), effort)?;
    if let Some(path) = &args.scenario {
        verified.write_scenario(path).map_err(|error| Failure::file(&error))?;
    }
    Ok(verified)
}

fn target(args: &TargetArgs) -> Result<Target, Failure> {
    let fct =
        |quantile: f64, limit: wiremend_units::Span| Target::Fct { quantile, limit: limit.as_secs_f64() };
    match (args.timeout, args.p999, args.p9999) {
        (Some(chance), ..) if chance > 0.0 => Ok(Target::Timeout(chance)),
        (_, Some(limit), _) => Ok(fct(0.999, limit)),
        (.., Some(limit)) => Ok(fct(0.9999, limit)),
        _ => Err(Failure::Input(
            "--target-timeout: a probability of 0 is impossible over links that corrupt; give a small one, such as 1e-9"
                .to_owned(),
        )),
    }
}

/// Checks that the target is possible on a clean link.
fn check_physics(input: &ModelInput, quantile: f64, limit: f64) -> Result<(), Failure> {
    let mut clean = input.path;
    clean.omega = 0.0;
    let setting = input.setting(MendCounts::NONE);
    let alone = penalty::quantile(&setting, &clean, &input.flows, &input.times, quantile);
    if limit >= alone {
        return Ok(());
    }
    let time = |seconds: f64| human::time_ns(seconds * 1e9);
    Err(Failure::Input(format!(
        "--target: {} is below the time of {} on a clean link: p{} is {} at this rate; raise the target or --rate",
        time(limit),
        input.flows_name,
        quantile * 100.0,
        time(alone)
    )))
}

/// Returns the values of T to try: zero and some up to the limit. Without gaps, only zero.
fn holds(input: &ModelInput, target: Target, hold_max: f64) -> Vec<f64> {
    let most = match target {
        Target::Timeout(_) => hold_max,
        Target::Fct { limit, .. } => hold_max.min((limit - 2.0 * input.times.rtt).max(0.0)),
    };
    if most <= 0.0 || input.times.gap.is_none() {
        return vec![0.0];
    }
    [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| part * most).to_vec()
}

fn text(input: &ModelInput, target: Target, tuned: &TuneResult, terminal: Terminal) -> String {
    let mut text = String::new();
    let wanted = match target {
        Target::Timeout(chance) => format!("at most {} of flows with a timeout", share(chance)),
        Target::Fct { quantile, limit } => {
            format!("{} % of flows take at most {}", quantile * 100.0, human::time_ns(limit * 1e9))
        }
    };
    let links = match input.path.links {
        1 => "1 link".to_owned(),
        links => format!("{links} links"),
    };
    let _ =
        writeln!(text, "Target   {wanted}, for {} at β = {:.2e} on {links}", input.flows_name, input.beta);
    let end = tuned.chosen.unwrap_or(tuned.best);
    let held =
        if end.hold > 0.0 { format!(", T = {}", human::time_ns(end.hold * 1e9)) } else { String::new() };
    if tuned.chosen.is_some() {
        let _ = writeln!(text, "Use      {}{held}", mend_text(end.mend));
    } else {
        let _ = writeln!(text, "Result   impossible with up to {TRIED_MAX} of each");
        let _ =
            writeln!(text, "Nearest  {}{held}: {} of flows miss it", mend_text(end.mend), share(end.missed));
    }
    let _ = writeln!(
        text,
        "Costs    {} more bytes, {:.2} work requests per flow",
        share(end.cost),
        end.work_requests
    );
    let _ = writeln!(text, "\nBenefit of each packet");
    text.push_str(&choices(&tuned.steps, target, terminal));
    let _ = writeln!(text, "\nAlternatives");
    text.push_str(&choices(&tuned.frontier, target, terminal));
    text.push('\n');
    let left = format!("Most remaining timeouts are caused by {}.", in_words(end.main_cause()));
    text.push_str(&wiremend_report::terminal::wrap(&left, terminal.width));
    text
}

fn choices(choices: &[Candidate], target: Target, terminal: Terminal) -> String {
    let is_fct = matches!(target, Target::Fct { .. });
    let row = |choice: &Candidate| {
        let mut cells = vec![mend_text(choice.mend), share(choice.timeout)];
        if is_fct {
            cells.push(share(choice.missed));
        }
        cells.push(share(choice.cost));
        cells
    };
    let rows: Vec<_> = choices.iter().map(row).collect();
    let headings: &[&str] = if is_fct {
        &["", "flows with a timeout", "flows over the limit", "added bytes"]
    } else {
        &["", "flows with a timeout", "added bytes"]
    };
    text_table(headings, &rows, terminal)
}

fn result_json(target: Target, tuned: &TuneResult) -> Value {
    let target = match target {
        Target::Timeout(chance) => json!({ "timeout": chance }),
        Target::Fct { quantile, limit } => json!({ "quantile": quantile, "limit_s": limit }),
    };
    let all = |choices: &[Candidate]| choices.iter().map(choice_json).collect::<Vec<_>>();
    json!({
        "target": target,
        "reached": tuned.chosen.is_some(),
        "chosen": tuned.chosen.as_ref().map(choice_json),
        "best": choice_json(&tuned.best),
        "steps": all(&tuned.steps),
        "frontier": all(&tuned.frontier),
    })
}

fn choice_json(choice: &Candidate) -> Value {
    let mut value = mend_json(choice.mend);
    value["hold_s"] = json!(choice.hold);
    value["timeout_probability"] = json!(choice.timeout);
    value["missed"] = json!(choice.missed);
    value["bytes"] = json!(choice.cost);
    value["work_requests"] = json!(choice.work_requests);
    value
}
