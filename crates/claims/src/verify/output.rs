//! Output of a verification.

use serde_json::{Value, json};
use wiremend_measure::interval::Interval;
use wiremend_model::Cause;
use wiremend_report::terminal::{Terminal, wrap};
use wiremend_report::{human, text_table};

use super::counted::TrialCounts;
use super::estimate::{Estimate, LateFlows};
use super::{PredictionVerdict, RUNS, TargetResult, Verified};
use crate::ledger::number::shown;

impl PredictionVerdict {
    const fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::NotConfirmed => "not confirmed",
            Self::Undecided => "undecided",
        }
    }
}

impl Verified {
    /// Renders a table and a sentence.
    pub fn text(&self, screen: Terminal) -> String {
        let rows: Vec<_> = self.counted.iter().map(row).collect();
        let headings = [
            "counted (expected)",
            "flows",
            "tail packet",
            "tail ACK",
            "NAK",
            "retransmission",
            "all, 95 %",
            "agrees",
        ];
        let mut text = "Timeouts in simulation\n".to_owned();
        text.push_str(&text_table(&headings, &rows, screen));
        text.push('\n');
        let sentence = match &self.finding {
            TargetResult::Timeouts { estimate, allowed } => self.on_timeouts(estimate, *allowed),
            TargetResult::Late(late) => on_late(late),
        };
        text.push_str(&wrap(&sentence, screen.width.min(100)));
        text
    }

    fn on_timeouts(&self, estimate: &Estimate, allowed: f64) -> String {
        let found = format!(
            "{} of the flows have a timeout ({})",
            shown(estimate.probability),
            range(estimate.interval, shown)
        );
        let original = &self.counted[0];
        let seen = format!(
            "{} flows at the original rate had {} timeouts, which alone gives an upper bound of {}.",
            human::count(original.flows),
            human::count(original.total()),
            shown(original.direct().high)
        );
        let how = if self.counted.len() == 1 {
            String::new()
        } else {
            " This is the prediction of the model, scaled by counts at raised corruption.".to_owned()
        };
        let off = |counted: &TrialCounts| {
            let causes = counted.unexplained().join(", ");
            format!("at {} the counts contradict the model: {causes}", counted.trial.name)
        };
        let off: Vec<_> = self.counted.iter().filter(|counted| !counted.agrees()).map(off).collect();
        match self.verdict() {
            PredictionVerdict::Confirmed => {
                format!("Confirmed: {found}; the target is {}.{how} {seen}", shown(allowed))
            }
            _ if off.is_empty() => {
                format!("Not confirmed: {found}; the target is {}.{how} {seen}", shown(allowed))
            }
            _ => format!("Not confirmed: {}.", off.join("; ")),
        }
    }

    /// Renders JSON.
    pub fn json(&self) -> Value {
        let mut value = json!({
            "verdict": self.verdict().name(),
            "trials": self.counted.iter().map(trial_json).collect::<Vec<_>>(),
            "repeat": { "scenario": self.scenario, "seed": self.seed, "seeds": RUNS },
        });
        match &self.finding {
            TargetResult::Timeouts { estimate, .. } => {
                value["timeout_probability"] = json!(estimate.probability);
                value["interval"] = json!([estimate.interval.low, estimate.interval.high]);
                let direct = self.counted[0].direct();
                value["direct"] = json!({ "flows": self.counted[0].flows, "timeouts": self.counted[0].total(),
                    "interval": [direct.low, direct.high] });
            }
            TargetResult::Late(late) => {
                // Infinity becomes `null`.
                value["quantile_s"] = json!(late.reached);
                value["interval_s"] = json!([late.interval.low, late.interval.high]);
                value["late"] = json!({ "flows": late.flows, "late": late.missed,
                    "interval": [late.share().low, late.share().high] });
            }
        }
        value
    }
}

fn on_late(late: &LateFlows) -> String {
    let time = |seconds: f64| {
        if seconds.is_finite() { human::time_ns(seconds * 1e9) } else { "no end".to_owned() }
    };
    let found = format!(
        "p{} of {} flows is {} ({}); {} take longer than {}; the target allows {}",
        (late.quantile * 1e4).round() / 100.0,
        human::count(late.flows),
        time(late.reached),
        range(late.interval, time),
        human::count(late.missed),
        time(late.limit),
        human::count(((1.0 - late.quantile) * late.flows as f64).round() as u64),
    );
    match late.verdict() {
        PredictionVerdict::Confirmed => format!("Confirmed: {found}."),
        PredictionVerdict::NotConfirmed => format!("Not confirmed: {found}."),
        PredictionVerdict::Undecided => {
            format!(
                "Undecided: {found}. The interval includes the target; a longer --verify-for simulates more flows."
            )
        }
    }
}

fn row(counted: &TrialCounts) -> Vec<String> {
    let expected = counted.expected();
    let cell = |cause: Cause| {
        let number = cause as usize;
        format!("{} ({})", human::count(counted.timeouts[number]), count_text(expected[number]))
    };
    let mut row = vec![counted.trial.name.clone(), human::count(counted.flows)];
    row.extend(Cause::ALL.map(cell));
    row.push(range(counted.interval(), count_text));
    row.push(if counted.agrees() { "yes" } else { "no" }.to_owned());
    row
}

fn trial_json(counted: &TrialCounts) -> Value {
    let expected = counted.expected();
    let causes = Cause::ALL.map(|cause| {
        let number = cause as usize;
        let both = json!({ "counted": counted.timeouts[number], "expected": expected[number] });
        (cause.key().to_owned(), both)
    });
    let interval = counted.interval();
    json!({
        "name": counted.trial.name, "beta": counted.trial.beta, "flows": counted.flows,
        "requested": counted.trial.is_original,
        "timeouts": Value::Object(causes.into_iter().collect()),
        "other": counted.other, "all": counted.total(), "interval": [interval.low, interval.high],
        "agrees": counted.agrees(), "unexplained": counted.unexplained(),
    })
}

fn range(interval: Interval, show: impl Fn(f64) -> String) -> String {
    format!("{}…{}", show(interval.low), show(interval.high))
}

/// An expected count with a sensible number of digits.
fn count_text(value: f64) -> String {
    if value >= 10.0 {
        human::count(value.round() as u64)
    } else if value >= 0.05 || value == 0.0 {
        format!("{value:.1}")
    } else {
        shown(value)
    }
}
