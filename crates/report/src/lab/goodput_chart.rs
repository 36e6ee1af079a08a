//! Goodput over time as text and as a plot.

use std::fmt::Write as _;

use super::Transfer;
use crate::human;
use crate::plot::{Axis, Curve, Line, Plot, Scale, Unit};
use crate::terminal::Terminal;

const ROWS: usize = 8;
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const LABEL_CHARS: usize = 10;

/// A transfer over time, with labelled events.
pub struct GoodputChart<'a> {
    /// Title.
    pub title: String,
    /// Description for screen readers.
    pub description: String,
    /// Rate of the link.
    pub rate_bps: u64,
    /// Bytes in each tenth of a second.
    pub tenths: &'a [u64],
    /// Seconds after the start, label on the terminal, label in the drawing.
    pub moments: Vec<(f64, &'static str, &'static str)>,
}

impl GoodputChart<'_> {
    /// Text for the terminal: one column per tenth of a second, or per several if the terminal is narrow.
    pub fn text(&self, terminal: Terminal) -> String {
        let room = terminal.width.saturating_sub(LABEL_CHARS + 2).max(20);
        let together = self.tenths.len().div_ceil(room).max(1);
        let columns: Vec<f64> = self.tenths.chunks(together).map(mean_bps).collect();
        let top = self.rate_bps as f64;
        let mut text = String::new();
        for row in (0..ROWS).rev() {
            let label = match row {
                _ if row == ROWS - 1 => human::rate_bps(top),
                0 => "0".to_owned(),
                _ => String::new(),
            };
            let cell = |bps: &f64| {
                let eighths = (bps / top * (ROWS * 8) as f64).round() - (row * 8) as f64;
                BLOCKS[eighths.clamp(0.0, 8.0) as usize]
            };
            let cells: String = columns.iter().map(cell).collect();
            let _ = writeln!(text, "{label:>LABEL_CHARS$} ┤{}", cells.trim_end());
        }
        text + &self.axis(columns.len(), Transfer::STEP_S * together as f64)
    }

    /// The time axis with its events. If two labels are close, the later one goes one line lower.
    fn axis(&self, columns: usize, column_s: f64) -> String {
        let mut axis: Vec<char> = vec!['─'; columns];
        let mut names: Vec<(usize, String)> = vec![(0, "0 s".to_owned())];
        for (at_s, name, _) in &self.moments {
            names.push(((at_s / column_s).round() as usize, format!("{at_s:.1} s {name}")));
        }
        let mut lines: Vec<String> = Vec::new();
        for (place, name) in names {
            let Some(tick) = axis.get_mut(place) else { continue };
            *tick = '┬';
            // A long label near the right end is placed to the left.
            let start = place.min((columns + LABEL_CHARS).saturating_sub(name.chars().count()));
            let free = lines.iter().position(|line| line.chars().count() < start || line.is_empty());
            let line = free.unwrap_or_else(|| {
                lines.push(String::new());
                lines.len() - 1
            });
            let gap = start - lines[line].chars().count();
            lines[line] += &" ".repeat(gap);
            lines[line] += &name;
        }
        let mut text = format!("{:LABEL_CHARS$} └{}\n", "", axis.into_iter().collect::<String>());
        for line in lines {
            let _ = writeln!(text, "{:LABEL_CHARS$}  {line}", "");
        }
        text
    }

    /// The chart as a plot.
    pub fn plot(&self) -> Plot {
        let step_s = Transfer::STEP_S;
        let points = self.tenths.iter().enumerate();
        let points = points.map(|(i, &bytes)| ((i as f64 + 0.5) * step_s, bytes as f64 * 8e-6 / step_s));
        let top = self.rate_bps as f64 * 1.05e-6;
        let goodput = Curve { name: "goodput".to_owned(), points: points.collect(), line: Line::Straight };
        let moments = self.moments.iter().map(|(at, _, name)| Curve {
            name: (*name).to_owned(),
            points: vec![(*at, 0.0), (*at, top)],
            line: Line::Straight,
        });
        Plot {
            title: self.title.clone(),
            description: self.description.clone(),
            x: Axis::new("time in s", Scale::Linear, Unit::Number)
                .with_range(0.0, self.tenths.len() as f64 * step_s),
            y: Axis::new("goodput in Mb/s", Scale::Linear, Unit::Number).with_range(0.0, top),
            curves: std::iter::once(goodput).chain(moments).collect(),
        }
    }
}

fn mean_bps(tenths: &[u64]) -> f64 {
    tenths.iter().sum::<u64>() as f64 * 8.0 / (tenths.len() as f64 * Transfer::STEP_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_height_is_the_goodput() {
        let tenths = [[2_500_000; 20], [625_000; 20]].concat();
        let chart = GoodputChart {
            title: String::new(),
            description: String::new(),
            rate_bps: 200_000_000,
            tenths: &tenths,
            moments: vec![(2.0, "corrupts", ""), (3.0, "protected", "")],
        };
        let text = chart.text(Terminal { width: 80, colour: false });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], format!("  200 Mb/s ┤{}", "█".repeat(20)), "{text}");
        assert_eq!(lines[6], format!("           ┤{}{}", "█".repeat(40), ""), "{text}");
        assert_eq!(lines[5], format!("           ┤{}", "█".repeat(20)), "{text}");
        assert_eq!(lines[9], format!("{}0 s{}2.0 s corrupts", " ".repeat(12), " ".repeat(17)), "{text}");
        assert_eq!(lines[10], format!("{}3.0 s protected", " ".repeat(12 + 30)), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
