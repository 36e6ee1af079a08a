//! What `wiremend peer` shows on a terminal while it runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{IsTerminal, stderr};
use std::ops::AddAssign;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use wiremend_peer::session::Live;
use wiremend_peer::{PairCounters, StallCause};
use wiremend_report::{human, text_table};

use crate::terminal;

/// Text on stderr that changes while a test runs, on a terminal only.
pub(super) struct Shown {
    bar: Option<ProgressBar>,
    updated: Instant,
}

const UPDATE_INTERVAL: Duration = Duration::from_secs(1);

impl Shown {
    pub(super) fn start() -> Self {
        let bar = stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{elapsed}  {msg}").expect("the template is right");
            ProgressBar::new_spinner().with_style(style)
        });
        Self { bar, updated: Instant::now() }
    }

    /// Shows a new text once a second. `text` takes the time since the last one.
    pub(super) fn update(&mut self, text: impl FnOnce(Duration) -> String) {
        let passed = self.updated.elapsed();
        if let Some(bar) = &self.bar
            && passed >= UPDATE_INTERVAL
        {
            self.updated = Instant::now();
            bar.set_message(text(passed));
            bar.tick();
        }
    }

    pub(super) fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A line, and a table of the queue pairs with their rates in the last second.
pub(super) struct LiveTable {
    shown: Shown,
    before: BTreeMap<u32, Row>,
}

/// Queue pairs with a row of their own: those with most bytes.
const ROWS_MAX: usize = 10;

const HEADINGS: [&str; 7] = ["queue pair", "messages/s", "Gb/s", "again", "timeouts", "NAKs", "RNR"];

/// Counters of one or more queue pairs.
#[derive(Clone, Copy, Default)]
struct Row {
    messages: u64,
    bytes: u64,
    again: u64,
    timeouts: u64,
    naks: u64,
    rnr_naks: u64,
}

impl LiveTable {
    pub(super) fn start() -> Self {
        Self { shown: Shown::start(), before: BTreeMap::new() }
    }

    pub(super) fn update(&mut self, line: impl FnOnce() -> String, live: Option<&Live<'_>>) {
        let before = &mut self.before;
        self.shown.update(|passed| {
            let mut text = line();
            if let Some(live) = live {
                let now = live.pairs().map(|(pair, counters)| (pair.number().get(), Row::new(&counters)));
                let now = now.collect();
                let _ = write!(text, "\n{}{}", causes_line(live.causes), table(before, &now, passed));
                *before = now;
            }
            text
        });
    }

    pub(super) fn end(self) {
        self.shown.end();
    }
}

/// Timeouts by cause in one line, empty if there were none.
pub(super) fn causes_line(causes: &BTreeMap<StallCause, u64>) -> String {
    if causes.is_empty() {
        return String::new();
    }
    let parts: Vec<_> = causes.iter().map(|(cause, count)| format!("{cause}: {count}")).collect();
    format!("Timeouts by cause: {}\n", parts.join(", "))
}

/// All queue pairs in one row, the busiest ones, and the others in one row.
fn table(before: &BTreeMap<u32, Row>, now: &BTreeMap<u32, Row>, passed: Duration) -> String {
    let mut pairs: Vec<_> = now
        .iter()
        .map(|(number, row)| (number, *row, row.since(before.get(number).copied().unwrap_or_default())))
        .collect();
    pairs.sort_by_key(|(number, _, new)| (std::cmp::Reverse(new.bytes), *number));
    let shown = if pairs.len() > ROWS_MAX + 1 { ROWS_MAX } else { pairs.len() };
    let (busiest, others) = pairs.split_at(shown);
    let sum = |rows: &[(&u32, Row, Row)]| {
        rows.iter().fold((Row::default(), Row::default()), |(mut all, mut new), row| {
            all += row.1;
            new += row.2;
            (all, new)
        })
    };
    let own = busiest.iter().map(|(number, all, new)| (format!("{number:#08x}"), (*all, *new)));
    let others = (!others.is_empty()).then(|| (format!("{} others", others.len()), sum(others)));
    let total = (pairs.len() > 1).then(|| ("all".to_owned(), sum(&pairs)));
    // A small terminal shows the first rows only.
    let rows: Vec<_> = total
        .into_iter()
        .chain(own)
        .chain(others)
        .map(|(name, (all, new))| [name].into_iter().chain(all.cells(&new, passed)).collect())
        .collect();
    text_table(&HEADINGS, &rows, terminal::stdout())
}

impl Row {
    fn new(counters: &PairCounters) -> Self {
        let PairCounters { requester, responder, messages, bytes, .. } = counters;
        Self {
            messages: *messages,
            bytes: *bytes,
            again: requester.retransmitted_packets,
            timeouts: requester.timeouts.into(),
            naks: u64::from(requester.naks) + u64::from(responder.naks),
            rnr_naks: u64::from(requester.rnr_naks) + u64::from(responder.rnr_naks),
        }
    }

    /// Messages and bytes since `before`.
    fn since(&self, before: Self) -> Self {
        let [messages, bytes] = [self.messages - before.messages, self.bytes - before.bytes];
        Self { messages, bytes, ..Self::default() }
    }

    fn cells(&self, new: &Self, passed: Duration) -> [String; 6] {
        let seconds = passed.as_secs_f64();
        [
            human::count((new.messages as f64 / seconds).round() as u64),
            format!("{:.3}", new.bytes as f64 * 8e-9 / seconds),
            human::count(self.again),
            human::count(self.timeouts),
            human::count(self.naks),
            human::count(self.rnr_naks),
        ]
    }
}

impl AddAssign for Row {
    fn add_assign(&mut self, other: Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.again += other.again;
        self.timeouts += other.timeouts;
        self.naks += other.naks;
        self.rnr_naks += other.rnr_naks;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(bytes: u64) -> Row {
        Row { messages: bytes / 1000, bytes, again: 2, ..Row::default() }
    }

    #[test]
    fn a_table_has_the_rates_of_the_last_second() {
        let [before, now] = [5_000_000, 255_000_000].map(|bytes| BTreeMap::from([(7, counted(bytes))]));
        let text = table(&before, &now, Duration::from_secs(2));
        let cells: Vec<_> = text.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(cells, ["0x000007", "125", "000", "1.000", "2", "0", "0", "0"]);
        assert_eq!(text.lines().count(), 3);
    }

    #[test]
    fn many_queue_pairs_share_a_row() {
        let now: BTreeMap<_, _> =
            (0..1000).map(|number| (number, counted(u64::from(number) * 1000))).collect();
        let text = table(&BTreeMap::new(), &now, Duration::from_secs(1));
        let lines: Vec<_> = text.lines().skip(2).collect();
        assert_eq!(lines.len(), ROWS_MAX + 2, "{text}");
        assert!(lines[0].starts_with("all") && lines[0].contains("2000"), "{text}");
        assert!(lines[1].starts_with("0x0003e7") && lines[ROWS_MAX + 1].starts_with("990 others"), "{text}");
    }
}
