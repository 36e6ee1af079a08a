//! Goodput over time, as a picture.

use std::fmt::Write as _;

use wiremend_report::human;
use wiremend_report::plot::{Axis, Curve, Line, Plot, Scale, Unit};
use wiremend_report::terminal::Terminal;

use super::bulk::STEP;
use super::outcome::{Outcome, Timeline};

const ROWS: usize = 8;
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const LABEL_CHARS: usize = 10;

/// On a terminal: a column for each tenth of a second, or for several where there is less room.
pub(crate) fn text(timeline: &Timeline, rate_bps: u64, terminal: Terminal) -> String {
    let room = terminal.width.saturating_sub(LABEL_CHARS + 2).max(20);
    let together = timeline.stream.tenths.len().div_ceil(room).max(1);
    let columns: Vec<f64> = timeline.stream.tenths.chunks(together).map(mean_bps).collect();
    let column_s = STEP.as_secs_f64() * together as f64;
    let top = rate_bps as f64;
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
    let mut axis: Vec<char> = vec!['─'; columns.len()];
    let mut below: Vec<char> = vec![' '; columns.len() + 40];
    let marks = [(0.0, "0 s"), (timeline.corrupts_s, "corrupts"), (timeline.protects_s, "protected")];
    for (at_s, name) in marks {
        let place = (at_s / column_s).round() as usize;
        if let Some(tick) = axis.get_mut(place) {
            *tick = '┬';
            let name = if at_s > 0.0 { format!("{at_s:.0} s {name}") } else { name.to_owned() };
            for (slot, c) in below[place..].iter_mut().zip(name.chars()) {
                *slot = c;
            }
        }
    }
    let _ = writeln!(text, "{:LABEL_CHARS$} └{}", "", axis.into_iter().collect::<String>());
    let _ = writeln!(text, "{:LABEL_CHARS$}  {}", "", below.into_iter().collect::<String>().trim_end());
    text
}

/// As a drawing.
pub(crate) fn plot(outcome: &Outcome) -> Plot {
    let timeline = &outcome.timeline;
    let step_s = STEP.as_secs_f64();
    let points = timeline.stream.tenths.iter().enumerate();
    let points = points.map(|(i, &bytes)| ((i as f64 + 0.5) * step_s, bytes as f64 * 8e-6 / step_s));
    let top = outcome.rate_bps as f64 * 1.05e-6;
    let moment = |name: &str, at: f64| Curve {
        name: name.to_owned(),
        points: vec![(at, 0.0), (at, top)],
        line: Line::Straight,
    };
    Plot {
        title: format!("TCP {} over a link that corrupts {} of its frames", timeline.control, outcome.loss),
        description: format!(
            "Goodput collapses when corruption begins, at {:.1} s, and is back after protection begins, at {:.1} s.",
            timeline.corrupts_s, timeline.protects_s
        ),
        x: Axis::new("time in s", Scale::Linear, Unit::Number)
            .with_range(0.0, timeline.stream.tenths.len() as f64 * step_s),
        y: Axis::new("goodput in Mb/s", Scale::Linear, Unit::Number).with_range(0.0, top),
        curves: vec![
            Curve { name: "goodput".to_owned(), points: points.collect(), line: Line::Straight },
            moment("the link corrupts", timeline.corrupts_s),
            moment("it is protected", timeline.protects_s),
        ],
    }
}

fn mean_bps(tenths: &[u64]) -> f64 {
    tenths.iter().sum::<u64>() as f64 * 8.0 / (tenths.len() as f64 * STEP.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::super::bulk::Stream;
    use super::*;

    #[test]
    fn columns_are_as_high_as_the_goodput() {
        let tenths = [[2_500_000; 20], [625_000; 20]].concat();
        let stream = Stream { tenths, retransmitted: 0 };
        let timeline = Timeline { control: "cubic".into(), corrupts_s: 2.0, protects_s: 3.0, stream };
        let text = text(&timeline, 200_000_000, Terminal { width: 80, colour: false });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], format!("  200 Mb/s ┤{}", "█".repeat(20)), "{text}");
        assert_eq!(lines[6], format!("           ┤{}{}", "█".repeat(40), ""), "{text}");
        assert_eq!(lines[5], format!("           ┤{}", "█".repeat(20)), "{text}");
        assert!(lines[9].contains("0 s") && lines[9].contains("2 s corrup"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
