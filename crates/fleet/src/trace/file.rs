//! Trace files: lines of `time_s,link,loss_rate[,repair_s[,loss_back[,cause]]]`.

use std::fmt;
use std::fmt::Write as _;

use wiremend_fabric::csv_line::{Field, excerpt, fields, is_blank, is_header};
use wiremend_fabric::tiers::Tiers;

use super::{CorruptionCause, CorruptionEvent, Trace};
use crate::trace_time::{TraceSpan, TraceTime};

const COLUMNS: [&str; 6] = ["time_s", "link", "loss_rate", "repair_s", "loss_back", "cause"];
/// Number of mandatory columns.
const NEEDED: usize = 3;

impl Trace {
    /// Parses a trace for a fabric. Blank lines and lines that start with `#` are ignored; the first other
    /// line may name the columns. Links are numbers or ends as `SWITCH:PORT`. Times must not decrease;
    /// events at equal times keep their order.
    pub fn parse(text: &str, tiers: &Tiers) -> Result<Self, BadTrace> {
        let mut events: Vec<CorruptionEvent> = Vec::new();
        for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
            if is_blank(line) || (events.is_empty() && names_columns(line)) {
                continue;
            }
            let refuse = |(column, what)| BadTrace { line: number, column, what };
            let event = parse_event(line, tiers).map_err(refuse)?;
            if let Some(before) = events.last().filter(|before| before.at > event.at) {
                let what = format!(
                    "time {} is before {} of the line above: sort the file by time",
                    event.at, before.at
                );
                return Err(refuse((1, what)));
            }
            events.push(event);
        }
        if events.is_empty() {
            let what = format!("no events: lines of {} are required", COLUMNS[..NEEDED].join(","));
            return Err(BadTrace { line: 1, column: 1, what });
        }
        Ok(Self { events })
    }

    /// Formats the trace for [`parse`](Self::parse). Optional columns are omitted if no event uses them.
    pub fn to_csv(&self) -> String {
        let columns = if self.events.iter().any(|event| event.cause.is_some()) {
            6
        } else if self.events.iter().any(|event| event.loss_back > 0.0) {
            5
        } else if self.events.iter().any(|event| event.repair.is_some()) {
            4
        } else {
            NEEDED
        };
        let mut text = COLUMNS[..columns].join(",") + "\n";
        for event in &self.events {
            let _ = write!(text, "{},{},{}", event.at, event.link.0, event.loss);
            let repair = event.repair.map_or(String::new(), |repair| repair.to_string());
            let back = if event.loss_back > 0.0 { event.loss_back.to_string() } else { String::new() };
            let cause = event.cause.map_or("", CorruptionCause::key);
            for value in [repair.as_str(), back.as_str(), cause].iter().take(columns - NEEDED) {
                let _ = write!(text, ",{value}");
            }
            text.push('\n');
        }
        text
    }
}

/// Returns whether a line names the mandatory and some of the optional columns.
fn names_columns(line: &str) -> bool {
    (NEEDED..=COLUMNS.len()).any(|count| is_header(line, &COLUMNS[..count]))
}

fn parse_event(line: &str, tiers: &Tiers) -> Result<CorruptionEvent, (usize, String)> {
    let values: Vec<Field<'_>> = fields(line).collect();
    if !(NEEDED..=COLUMNS.len()).contains(&values.len()) {
        let what = format!(
            "{} values instead of {} to {}: {}",
            values.len(),
            NEEDED,
            COLUMNS.len(),
            COLUMNS.join(",")
        );
        return Err((1, what));
    }
    let text = |index: usize| values.get(index).map(|value| value.text).filter(|text| !text.is_empty());
    let fault = |index: usize, allowed: &str| {
        let Field { column, text } = values[index];
        (column, format!("{} `{}` is not {allowed}", COLUMNS[index], excerpt(text)))
    };
    let number = |index: usize| text(index).and_then(|text| text.parse::<f64>().ok());
    let time = |index: usize| number(index).and_then(TraceTime::from_s);
    let loss = |index: usize| number(index).filter(|loss| *loss > 0.0 && *loss < 1.0);
    let at = time(0).ok_or_else(|| fault(0, "a time in seconds from 0"))?;
    let link = text(1).and_then(|name| tiers.link_by_name(name));
    let link = link.ok_or_else(|| {
        let last = tiers.link_count() - 1;
        fault(1, &format!("a link of the fabric: a number from 0 to {last}, or SWITCH:PORT"))
    })?;
    let between = "a loss rate between 0 and 1, both excluded";
    let loss_rate = loss(2).ok_or_else(|| fault(2, between))?;
    let duration =
        |index| number(index).and_then(TraceSpan::from_s).filter(|span| *span > TraceSpan::default());
    let repair = match text(3) {
        Some(_) => Some(duration(3).ok_or_else(|| fault(3, "a time in seconds above 0"))?),
        None => None,
    };
    let loss_back = match text(4) {
        Some(_) => loss(4).ok_or_else(|| fault(4, between))?,
        None => 0.0,
    };
    let known = |name| CorruptionCause::ALL.into_iter().find(|cause| cause.key() == name);
    let cause = match text(5) {
        Some(name) => Some(
            known(name)
                .ok_or_else(|| fault(5, &CorruptionCause::ALL.map(CorruptionCause::key).join(", ")))?,
        ),
        None => None,
    };
    Ok(CorruptionEvent { at, link, loss: loss_rate, loss_back, repair, cause })
}

/// Why a trace is invalid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadTrace {
    /// Line number, from 1.
    pub line: u64,
    /// Column in characters, from 1.
    pub column: usize,
    /// Reason.
    pub what: String,
}

impl fmt::Display for BadTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.what)
    }
}

impl std::error::Error for BadTrace {}
