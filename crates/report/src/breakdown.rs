//! Where the time of a flow went, as text.

use std::fmt::Write as _;

use wiremend_measure::Breakdown;

use crate::human;
use crate::terminal::{BOLD, DIM, Terminal, paint};

/// Characters of the longest bar.
const BAR: f64 = 24.0;

/// Returns a line for each part of a flow's time, the longest first.
pub fn breakdown_text(breakdown: &Breakdown, terminal: Terminal) -> String {
    let total = breakdown.total().as_ps() as f64;
    let heading = format!("Where the {} went", human::time_ns(total / 1e3));
    let mut text = format!("{}\n", paint(&heading, BOLD, terminal));
    for (part, span) in breakdown.longest_first() {
        let share = span.as_ps() as f64 / total;
        let bar = "█".repeat((share * BAR).round() as usize);
        let (time, percent) = (human::time_ns(span.as_ps() as f64 / 1e3), human::percent(share));
        let what = paint(part.describe(), DIM, terminal);
        let _ = writeln!(text, "  {:<14} {time:>8} {percent:>9} %  {bar:<24}  {what}", part.key());
    }
    text
}
