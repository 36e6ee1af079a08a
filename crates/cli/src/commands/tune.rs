//! `wiremend tune`: the cheapest dummies and copies that reach a target.

use std::fmt::Write as _;

use serde_json::{Value, json};
use wiremend_claims::verify::{Effort, Promise, Verdict, Verified};
use wiremend_model::tune::{self, Choice, TRIED_MAX, Target, Tuned};
use wiremend_model::{Mend, Rewind, penalty};
use wiremend_report::terminal::Terminal;
use wiremend_report::{grid, human};

use super::model::{in_words, mend_json, mend_text, share};
use crate::args::explain::{TargetArgs, Tune, VerifyArgs};
use crate::failure::{Answer, Failure};
use crate::progress::Progress;
use crate::question::{Grain, Question};
use crate::{signals, terminal};

pub(super) fn run(asked: &Tune) -> Result<Answer, Failure> {
    let question = Question::new(&asked.link, &asked.flows, &asked.times, Grain::COARSE, Rewind::Unknown)?;
    let target = target(&asked.target)?;
    let fine = Question::new(&asked.link, &asked.flows, &asked.times, Grain::FINE, Rewind::Unknown)?;
    if let Target::Fct { quantile, limit } = target {
        check_physics(&fine, quantile, limit)?;
    }
    let holds = holds(&question, target, asked.hold_max.as_secs_f64());
    let tuned = tune::tune(&tune::Question {
        setting: question.setting(Mend::NONE),
        path: question.path,
        flows: &question.flows,
        times: question.times,
        next: question.fixed_next(),
        holds: &holds,
        target,
    });
    let promise = tuned.chosen.as_ref().filter(|_| asked.verify.verify);
    let subject = fine.subject(&asked.flows);
    let promise = promise.map(|choice| Promise { subject: &subject, choice, target });
    promise.as_ref().map_or(Ok(()), Promise::check)?;
    if !asked.json {
        // What is reckoned is there at once, what is simulated later.
        terminal::print(&text(&question, target, &tuned, terminal::stdout()))?;
    }
    let verified = promise.map(|promise| verify(&asked.verify, &promise)).transpose()?;
    let is_held = verified.as_ref().is_none_or(|verified| verified.verdict() == Verdict::Confirmed);
    if asked.json {
        let mut json = json_of(target, &tuned);
        if let Some(verified) = verified {
            json["verified"] = verified.json();
        }
        terminal::print(&format!("{json:#}\n"))?;
    } else if let Some(verified) = verified {
        terminal::print(&format!("\n{}", verified.text(terminal::stdout())))?;
    }
    Ok(if tuned.chosen.is_some() && is_held { Answer::Yes } else { Answer::No })
}

fn verify(asked: &VerifyArgs, promise: &Promise<'_>) -> Result<Verified, Failure> {
    signals::catch()?;
    let (progress, stop) = (Progress::default(), signals::stop());
    let effort = Effort { seconds: asked.duration.as_secs_f64(), seed: asked.seed };
    let verified = promise.verify(&super::runner(None, &progress, &stop), effort)?;
    if let Some(path) = &asked.scenario {
        verified.write_scenario(path).map_err(|error| Failure::file(&error))?;
    }
    Ok(verified)
}

fn target(asked: &TargetArgs) -> Result<Target, Failure> {
    let fct =
        |quantile: f64, limit: wiremend_units::Span| Target::Fct { quantile, limit: limit.as_secs_f64() };
    match (asked.timeout, asked.p999, asked.p9999) {
        (Some(chance), ..) if chance > 0.0 => Ok(Target::Timeout(chance)),
        (_, Some(limit), _) => Ok(fct(0.999, limit)),
        (.., Some(limit)) => Ok(fct(0.9999, limit)),
        _ => Err(Failure::Input(
            "--target-timeout: no timeout at all cannot be promised over links that corrupt; ask for a small probability, \
             such as 1e-9"
                .to_owned(),
        )),
    }
}

/// No mechanism makes a flow faster than the link carries it.
fn check_physics(question: &Question, quantile: f64, limit: f64) -> Result<(), Failure> {
    let mut clean = question.path;
    clean.omega = 0.0;
    let setting = question.setting(Mend::NONE);
    let alone = penalty::quantile(&setting, &clean, &question.flows, &question.times, quantile);
    if limit >= alone {
        return Ok(());
    }
    let time = |seconds: f64| human::time_ns(seconds * 1e9);
    Err(Failure::Input(format!(
        "--target: {} is below what {} need on a perfect link: p{} is {} at this rate; ask for more time, or raise --rate",
        time(limit),
        question.flows_name,
        quantile * 100.0,
        time(alone)
    )))
}

/// Values of T worth trying: none, and some up to what may be waited. Without gaps there is nothing to save.
fn holds(question: &Question, target: Target, hold_max: f64) -> Vec<f64> {
    let most = match target {
        Target::Timeout(_) => hold_max,
        Target::Fct { limit, .. } => hold_max.min((limit - 2.0 * question.times.rtt).max(0.0)),
    };
    if most <= 0.0 || question.times.gap.is_none() {
        return vec![0.0];
    }
    [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| part * most).to_vec()
}

fn text(question: &Question, target: Target, tuned: &Tuned, terminal: Terminal) -> String {
    let mut text = String::new();
    let wanted = match target {
        Target::Timeout(chance) => format!("at most {} of the flows wait for a timer", share(chance)),
        Target::Fct { quantile, limit } => {
            format!("{} % of the flows take at most {}", quantile * 100.0, human::time_ns(limit * 1e9))
        }
    };
    let links = match question.path.links {
        1 => "1 link".to_owned(),
        links => format!("{links} links"),
    };
    let _ = writeln!(
        text,
        "Wanted   {wanted}, for {} at β = {:.2e} on {links}",
        question.flows_name, question.beta
    );
    let end = tuned.chosen.unwrap_or(tuned.best);
    let held =
        if end.hold > 0.0 { format!(", T = {}", human::time_ns(end.hold * 1e9)) } else { String::new() };
    if tuned.chosen.is_some() {
        let _ = writeln!(text, "Take     {}{held}", mend_text(end.mend));
    } else {
        let _ = writeln!(text, "Result   not possible with up to {TRIED_MAX} of each");
        let _ = writeln!(text, "Nearest  {}{held}: {} miss it", mend_text(end.mend), share(end.missed));
    }
    let _ = writeln!(
        text,
        "Costs    {} of the bytes, {:.2} work requests per flow",
        share(end.cost),
        end.work_requests
    );
    let _ = writeln!(text, "\nWhat each packet buys");
    text.push_str(&choices(&tuned.steps, target, terminal));
    let _ = writeln!(text, "\nWhat more or less money gets");
    text.push_str(&choices(&tuned.frontier, target, terminal));
    text.push('\n');
    let left = format!("What is left of timeouts comes mostly from {}.", in_words(end.main_cause()));
    text.push_str(&wiremend_report::terminal::wrapped(&left, terminal.width));
    text
}

fn choices(choices: &[Choice], target: Target, terminal: Terminal) -> String {
    let is_fct = matches!(target, Target::Fct { .. });
    let row = |choice: &Choice| {
        let mut cells = vec![mend_text(choice.mend), share(choice.timeout)];
        if is_fct {
            cells.push(share(choice.missed));
        }
        cells.push(share(choice.cost));
        cells
    };
    let rows: Vec<_> = choices.iter().map(row).collect();
    let headings: &[&str] = if is_fct {
        &["", "flows with a timeout", "flows too late", "bytes added"]
    } else {
        &["", "flows with a timeout", "bytes added"]
    };
    grid(headings, &rows, terminal)
}

fn json_of(target: Target, tuned: &Tuned) -> Value {
    let target = match target {
        Target::Timeout(chance) => json!({ "timeout": chance }),
        Target::Fct { quantile, limit } => json!({ "quantile": quantile, "limit_s": limit }),
    };
    let all = |choices: &[Choice]| choices.iter().map(choice_json).collect::<Vec<_>>();
    json!({
        "target": target,
        "reached": tuned.chosen.is_some(),
        "chosen": tuned.chosen.as_ref().map(choice_json),
        "best": choice_json(&tuned.best),
        "steps": all(&tuned.steps),
        "frontier": all(&tuned.frontier),
    })
}

fn choice_json(choice: &Choice) -> Value {
    let mut value = mend_json(choice.mend);
    value["hold_s"] = json!(choice.hold);
    value["timeout_probability"] = json!(choice.timeout);
    value["missed"] = json!(choice.missed);
    value["bytes"] = json!(choice.cost);
    value["work_requests"] = json!(choice.work_requests);
    value
}
