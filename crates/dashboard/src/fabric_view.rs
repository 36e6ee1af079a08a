//! The table of all links with something to see.

use std::fmt::Write as _;

use serde::Serialize;
use wiremend_monitor::redis::AdvisedAction;

use crate::link_row::{AdviceRow, EndRow, LinkRow};

/// The state of a fabric at a time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FabricView {
    /// Time of the server, in milliseconds since 1970.
    pub at_ms: u64,
    /// Counts.
    pub summary: Summary,
    /// Links with something to see, the highest loss first.
    pub links: Vec<LinkRow>,
}

/// Counts of links.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Summary {
    /// All links of the fabric.
    pub links: usize,
    /// Corrupting links.
    pub corrupting: usize,
    /// Links on which an end protects what it sends.
    pub protected: usize,
    /// Held links.
    pub held: usize,
    /// Links that the planner advises to drain.
    pub drain: usize,
    /// Links without a carrier.
    pub down: usize,
    /// Links with a forecast of loss that do not corrupt yet.
    pub forecast: usize,
    /// Links in the table with a silent daemon: their values are old.
    pub silent: usize,
    /// Why planners are halted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halt: Option<String>,
}

impl FabricView {
    /// Sorts the links and counts them.
    pub fn new(at_ms: u64, link_count: usize, halt: Option<String>, mut links: Vec<LinkRow>) -> Self {
        let loss = |row: &LinkRow| row.loss().map_or(0.0, |loss| loss.loss);
        links.sort_by(|a, b| loss(b).total_cmp(&loss(a)).then_with(|| a.link.cmp(&b.link)));
        let count =
            |is_counted: &dyn Fn(&LinkRow) -> bool| links.iter().filter(|row| is_counted(row)).count();
        let any_end = |row: &LinkRow, of: &dyn Fn(&EndRow) -> bool| row.ends.iter().any(of);
        let is_drain =
            |row: &LinkRow| row.advice.as_ref().is_some_and(|advice| advice.action == AdvisedAction::Drain);
        let summary = Summary {
            links: link_count,
            corrupting: count(&|row| row.loss().is_some()),
            protected: count(&LinkRow::is_protected),
            held: count(&|row| row.hold.is_some()),
            drain: count(&is_drain),
            down: count(&|row| any_end(row, &|end| end.down)),
            forecast: count(&|row| row.loss().is_none() && any_end(row, &|end| end.forecast.is_some())),
            silent: count(&|row| any_end(row, &|end| end.silent_since_ms.is_some())),
            halt,
        };
        Self { at_ms, summary, links }
    }

    /// Returns the table for a terminal, with at most this many links.
    pub fn text(&self, rows_max: usize) -> String {
        let Summary { links, corrupting, protected, held, drain, down, forecast, silent, halt } =
            &self.summary;
        let mut text = format!(
            "{links} links: {corrupting} corrupt, {protected} protected, {drain} to drain, {held} held, {down} down, \
             {forecast} will corrupt, {silent} not reported any more\n"
        );
        if let Some(why) = halt {
            let _ = writeln!(text, "PLANNERS ARE HALTED: {}", plain(why));
        }
        if self.links.is_empty() {
            return text;
        }
        let mut table = vec![HEADINGS.map(str::to_owned)];
        table.extend(self.links.iter().take(rows_max).map(|row| self.cells(row)));
        let widths: Vec<usize> = (0..HEADINGS.len())
            .map(|at| table.iter().map(|cells| cells[at].chars().count()).max().unwrap_or(0))
            .collect();
        text.push('\n');
        for cells in table {
            let line: Vec<String> =
                cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            text.push_str(line.join("  ").trim_end());
            text.push('\n');
        }
        if self.links.len() > rows_max {
            let _ = writeln!(text, "and {} more links", self.links.len() - rows_max);
        }
        text
    }

    fn cells(&self, row: &LinkRow) -> [String; HEADINGS.len()] {
        let none = || "-".to_owned();
        let ago = |at: u64| age_text(self.at_ms.saturating_sub(at));
        let loss = row.loss().map_or_else(
            || if row.ends.iter().any(|end| end.down) { "down".to_owned() } else { none() },
            |loss| format!("{:.1e} ({:.1e} to {:.1e})", loss.loss, loss.low, loss.high),
        );
        let since = row
            .since_ms
            .map_or_else(none, |at| format!("{}{}", if row.since_at_least { "over " } else { "" }, ago(at)));
        let forecast = row.ends.iter().filter_map(|end| end.forecast).max_by(f64::total_cmp);
        let protection = match (&row.hold, row.ends.iter().map(|end| end.copies).max()) {
            (Some(hold), _) => format!("held: {}", plain(&hold.why)),
            (None, Some(copies)) if copies > 0 => format!("{copies} copies"),
            _ => row.ends.iter().find_map(|end| end.declined.as_deref()).map_or_else(none, plain),
        };
        let advice =
            |AdviceRow { action, reason, .. }: &AdviceRow| format!("{}: {}", action.name(), plain(reason));
        let act = row.act.as_ref();
        [
            row.link.clone(),
            row.ends[1].port.clone(),
            loss,
            since,
            forecast.map_or_else(none, |loss| format!("{loss:.1e}")),
            protection,
            row.advice.as_ref().map_or_else(none, advice),
            row.ends.iter().filter_map(|end| end.silent_since_ms).min().map_or_else(
                || {
                    if row.ends.iter().any(|end| end.unmonitored) { "one end unknown" } else { "current" }
                        .to_owned()
                },
                |since| format!("{} old", ago(since)),
            ),
            act.map_or_else(none, |act| {
                format!("{} ago by {}: {}", ago(act.at_ms), plain(&act.by), plain(&act.text))
            }),
        ]
    }
}

const HEADINGS: [&str; 9] =
    ["LINK", "OTHER END", "LOSS", "SINCE", "FORECAST", "PROTECTION", "ADVICE", "AGE OF DATA", "LAST ACT"];

/// Text of a record without control characters, which would change the terminal.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// An age: `12 s`, `5 min`, `3 h`, `2 d`.
fn age_text(ms: u64) -> String {
    match ms / 1_000 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let texts = [0, 119_999, 120_000, 7_200_000, 172_800_000].map(age_text);
        assert_eq!(texts, ["0 s", "119 s", "2 min", "2 h", "2 d"]);
    }

    #[test]
    fn records_cannot_control_a_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\n"), "a\u{fffd}[2Jb\u{fffd}");
    }
}
