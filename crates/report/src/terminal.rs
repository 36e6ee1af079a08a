//! Results on a terminal: the table of variants and a plot of their completion times.

use std::fmt::Write as _;

use wiremend_measure::{Headline, VariantSummary};

use crate::comparison::{self, Column};
use crate::human;
use crate::markup::elide_middle;

/// Properties of the terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terminal {
    /// Width in characters.
    pub width: usize,
    /// Whether to use colours. The caller checks `NO_COLOR` and whether the output is a terminal.
    pub colour: bool,
}

const GAP: &str = "  ";
const NAME_CHARS_MAX: usize = 32;

/// The variants as a table. Columns that do not fit follow below, with the names repeated.
pub fn table(variants: &[VariantSummary], terminal: Terminal) -> String {
    let mut columns = comparison::columns(variants);
    let mut names = columns.remove(0);
    for cell in &mut names.cells {
        *cell = elide_middle(cell, NAME_CHARS_MAX);
    }
    let mut text = String::new();
    let mut block: Vec<&Column> = vec![&names];
    let mut used = width(&names);
    for column in &columns {
        let needed = GAP.len() + width(column);
        if used + needed > terminal.width && block.len() > 1 {
            draw_block(&mut text, &block, terminal);
            text.push('\n');
            (block, used) = (vec![&names], width(&names));
        }
        block.push(column);
        used += needed;
    }
    draw_block(&mut text, &block, terminal);
    for line in comparison::failures(variants) {
        let _ = writeln!(text, "{}", paint(&line, RED, terminal));
    }
    text
}

/// Most rows of the table of seeds; `summary.json` has all.
const SEED_ROWS_MAX: usize = 60;

/// Headline numbers of each variant and seed; empty for one seed.
pub fn seed_table(variants: &[VariantSummary], terminal: Terminal) -> String {
    if variants.iter().all(|variant| variant.seeds.len() < 2) {
        return String::new();
    }
    let mut columns = comparison::seed_columns(variants);
    let rows = columns[0].cells.len();
    for column in &mut columns {
        column.cells.truncate(SEED_ROWS_MAX);
    }
    for cell in &mut columns[0].cells {
        *cell = elide_middle(cell, NAME_CHARS_MAX);
    }
    let mut text = String::new();
    // Columns that do not fit are left out: each row is for one seed.
    let mut used = 0;
    let fitting = columns.iter().take_while(|column| {
        used += width(column) + GAP.len();
        used <= terminal.width + GAP.len()
    });
    draw_block(&mut text, &fitting.collect::<Vec<_>>(), terminal);
    if rows > SEED_ROWS_MAX {
        let _ = writeln!(text, "and {} more rows; summary.json has all", rows - SEED_ROWS_MAX);
    }
    text
}

fn draw_block(text: &mut String, columns: &[&Column], terminal: Terminal) {
    let headings: Vec<_> = columns.iter().map(|column| pad(column.heading, column)).collect();
    let _ = writeln!(text, "{}", paint(headings.join(GAP).trim_end(), BOLD, terminal));
    let rules: Vec<_> = columns.iter().map(|column| "─".repeat(width(column))).collect();
    let _ = writeln!(text, "{}", paint(&rules.join(GAP), DIM, terminal));
    for row in 0..columns[0].cells.len() {
        let cells: Vec<_> = columns.iter().map(|column| pad(&column.cells[row], column)).collect();
        let _ = writeln!(text, "{}", cells.join(GAP).trim_end());
    }
}

fn width(column: &Column) -> usize {
    let cells = column.cells.iter().map(|cell| cell.chars().count());
    cells.chain([column.heading.chars().count()]).max().unwrap_or(0)
}

fn pad(cell: &str, column: &Column) -> String {
    let width = width(column);
    if column.is_number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
}

/// Completion times, one line per variant on a logarithmic time axis: solid up to the median, then lighter up
/// to the 99th percentile, the 99.9th percentile and the slowest flow. Percentiles that the flows do not carry
/// are left out.
pub fn tail_plot(variants: &[VariantSummary], terminal: Terminal) -> String {
    let names = variants.iter().map(|variant| elide_middle(&variant.name, NAME_CHARS_MAX));
    let bar = |(name, variant): (String, &VariantSummary)| Some((name, Bar::new(variant)?));
    let drawn: Vec<_> = names.zip(variants).filter_map(bar).collect();
    if drawn.is_empty() {
        return String::new();
    }
    let name_width = drawn.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let ends = drawn.iter().map(|(_, bar)| (bar.start, bar.max));
    let (low, high) =
        ends.fold((f64::INFINITY, 1.0_f64), |(low, high), (p50, max)| (low.min(p50), high.max(max)));
    // From a decade below the fastest median, so that every bar is visible, to the next decade.
    let low = (low.max(1e-3).log10() - 0.7).floor();
    let high = high.log10().ceil().max(low + 1.0);
    // Room for the label of the longest bar.
    let room = terminal.width.saturating_sub(name_width + 2 + 9).clamp(20, 100);
    let axis = LogAxis { low, high, room };
    let mut text = String::new();
    let _ = writeln!(text, "{:name_width$}  {}", "", paint(axis.labels().trim_end(), DIM, terminal));
    let _ = writeln!(text, "{:name_width$}  {}", "", paint(&axis.rule(), DIM, terminal));
    for (i, (name, bar)) in drawn.iter().enumerate() {
        let _ = writeln!(
            text,
            "{name:<name_width$}  {}",
            paint(&axis.bar(bar), COLOURS[i % COLOURS.len()], terminal)
        );
    }
    let has = |shade| drawn.iter().any(|(_, bar)| bar.steps.iter().any(|(_, used)| *used == shade));
    let parts =
        SHADES.into_iter().filter(|(shade, _)| has(*shade)).map(|(shade, end)| format!("{shade} to {end}"));
    let legend = format!("{:name_width$}  {}", "", parts.collect::<Vec<_>>().join("  "));
    let _ = writeln!(text, "{}", paint(&legend, DIM, terminal));
    text
}

/// A logarithmic time axis in nanoseconds, `room` characters wide.
struct LogAxis {
    low: f64,
    high: f64,
    room: usize,
}

impl LogAxis {
    fn place(&self, ns: f64) -> usize {
        let along = (ns.max(1e-3).log10() - self.low) / (self.high - self.low);
        ((along.clamp(0.0, 1.0) * self.room as f64).round() as usize).min(self.room)
    }

    fn decades(&self) -> impl Iterator<Item = (usize, f64)> {
        (self.low as i32..=self.high as i32).map(|exponent| {
            let ns = 10_f64.powi(exponent);
            (self.place(ns), ns)
        })
    }

    fn labels(&self) -> String {
        let mut line = vec![' '; self.room + 8];
        let mut free_from = 0;
        for (place, ns) in self.decades() {
            let label: Vec<char> = human::time_ns(ns).chars().collect();
            if place >= free_from && place + label.len() <= line.len() {
                line[place..place + label.len()].copy_from_slice(&label);
                free_from = place + label.len() + 2;
            }
        }
        line.into_iter().collect()
    }

    fn rule(&self) -> String {
        let mut line = vec!['─'; self.room + 1];
        for (place, _) in self.decades() {
            line[place] = '┬';
        }
        line.into_iter().collect()
    }

    fn bar(&self, bar: &Bar) -> String {
        let mut drawn = String::new();
        let mut from = 0;
        for (ns, shade) in &bar.steps {
            let to = self.place(*ns).max(from);
            drawn.extend(std::iter::repeat_n(*shade, to - from));
            from = to;
        }
        let _ = write!(drawn, " {}", human::time_ns(bar.max));
        drawn
    }
}

/// Shades of a bar, and where each ends.
const SHADES: [(char, &str); 4] = [('█', "p50"), ('▓', "p99"), ('▒', "p99.9"), ('░', "the slowest")];

/// The completion times of a variant: the percentiles that its flows carry, and the slowest flow.
struct Bar {
    steps: Vec<(f64, char)>,
    start: f64,
    max: f64,
}

impl Bar {
    fn new(variant: &VariantSummary) -> Option<Self> {
        let shown = [Headline::FctP50, Headline::FctP99, Headline::FctP999, Headline::FctMax];
        let steps = shown.into_iter().zip(SHADES);
        let steps: Vec<_> = steps
            .filter_map(|(headline, (shade, _))| {
                Some((variant.headline(headline).or_else(|| variant.pooled(headline))?, shade))
            })
            .collect();
        Some(Self { start: steps.first()?.0, max: steps.last()?.0, steps })
    }
}

pub(crate) const BOLD: &str = "1";
pub(crate) const DIM: &str = "2";
pub(crate) const RED: &str = "31";
pub(crate) const YELLOW: &str = "33";
const COLOURS: [&str; 6] = ["34", "31", "32", "35", "33", "36"];

/// Colours `text` if the terminal shows colours.
pub(crate) fn paint(text: &str, code: &str, terminal: Terminal) -> String {
    if terminal.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// Wraps text at `width` characters. Words and numbers with thin spaces are not split.
pub fn wrap(text: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut used = 0;
    for word in text.split([' ', '\n']).filter(|word| !word.is_empty()) {
        let len = word.chars().count();
        if used > 0 && used + 1 + len > width {
            lines.push('\n');
            used = 0;
        } else if used > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += len;
    }
    if used > 0 {
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::sample;

    const PLAIN: Terminal = Terminal { width: 200, colour: false };

    #[test]
    fn every_line_of_the_table_fits() {
        let variants = sample::summary().variants;
        for width in [80, 100, 120, 160] {
            let text = table(&variants, Terminal { width, ..PLAIN });
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
            for heading in ["finished", "p99.9", "timeouts", "goodput", "extra"] {
                assert!(text.contains(heading), "{heading} at {width}:\n{text}");
            }
        }
    }

    #[test]
    fn a_wide_table_is_one_block() {
        let text = table(&sample::summary().variants, PLAIN);
        assert_eq!(text.lines().count(), 2 + 3, "{text}");
        assert!(text.contains("20\u{202f}000/20\u{202f}000"), "{text}");
        assert!(!text.contains('\u{1b}'));
        let coloured = table(&sample::summary().variants, Terminal { colour: true, ..PLAIN });
        assert!(coloured.contains("\u{1b}[1m"));
    }

    #[test]
    fn failures_are_shown_with_their_reason() {
        let mut variants = sample::summary().variants;
        variants[1].failed = BTreeMap::from([("retry_exceeded", 4)]);
        let text = table(&variants, PLAIN);
        assert!(text.contains("go-back-N, timeout 1 ms: failed: 4 retries exhausted"), "{text}");
    }

    #[test]
    fn bars_of_the_tail_grow_with_time() {
        let text = tail_plot(&sample::summary().variants, Terminal { width: 80, colour: false });
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let length = |line: usize| text.lines().nth(line).unwrap().chars().count();
        assert!(length(2) > length(3) + 10, "{text}");
        assert!(text.contains("10 µs") && text.contains("100 ms"), "{text}");
        assert_eq!(tail_plot(&[], PLAIN), "");
    }

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrap("one two\nthree  µs", 8), "one two\nthree µs\n");
        assert_eq!(wrap("longer than that", 4), "longer\nthan\nthat\n");
        assert_eq!(wrap(" \n", 10), "");
        assert_eq!(wrap("a 350\u{202f}650×", 8), "a\n350\u{202f}650×\n");
    }
}
