//! Goodput over time, as a picture.

use std::fmt::Write as _;

use super::Stream;
use crate::human;
use crate::plot::{Axis, Curve, Line, Plot, Scale, Unit};
use crate::terminal::Terminal;

const ROWS: usize = 8;
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const LABEL_CHARS: usize = 10;

/// A transfer over time, and what happened meanwhile.
pub struct Picture<'a> {
    /// What it shows, in a line.
    pub title: String,
    /// The same in a sentence, for those who cannot see it.
    pub description: String,
    /// Of the link.
    pub rate_bps: u64,
    /// Bytes in each tenth of a second.
    pub tenths: &'a [u64],
    /// Seconds after the start, a word for the terminal, and one for the drawing.
    pub moments: Vec<(f64, &'static str, &'static str)>,
}

impl Picture<'_> {
    /// On a terminal: a column for each tenth of a second, or for several where there is less room.
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
        text + &self.axis(columns.len(), Stream::STEP_S * together as f64)
    }

    /// The axis of time with its moments. Where two are close, the later one's name goes a line below.
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
            // A long name near the end is written to the left of its place.
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

    /// As a drawing.
    pub fn plot(&self) -> Plot {
        let step_s = Stream::STEP_S;
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
    tenths.iter().sum::<u64>() as f64 * 8.0 / (tenths.len() as f64 * Stream::STEP_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_high_as_the_goodput() {
        let tenths = [[2_500_000; 20], [625_000; 20]].concat();
        let picture = Picture {
            title: String::new(),
            description: String::new(),
            rate_bps: 200_000_000,
            tenths: &tenths,
            moments: vec![(2.0, "corrupts", ""), (3.0, "protected", "")],
        };
        let text = picture.text(Terminal { width: 80, colour: false });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], format!("  200 Mb/s ┤{}", "█".repeat(20)), "{text}");
        assert_eq!(lines[6], format!("           ┤{}{}", "█".repeat(40), ""), "{text}");
        assert_eq!(lines[5], format!("           ┤{}", "█".repeat(20)), "{text}");
        assert_eq!(lines[9], format!("{}0 s{}2.0 s corrupts", " ".repeat(12), " ".repeat(17)), "{text}");
        assert_eq!(lines[10], format!("{}3.0 s protected", " ".repeat(12 + 30)), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
