//! Paused ports over time: one row per port with bars for its pauses.

use std::fmt::Write as _;

use crate::human;
use crate::markup::{Coord, Escaped, elide_middle};
use crate::plot::drawing::{Entry, Legend, open};
use crate::plot::{Axis, Drawing, Scale, Unit, Width};

/// Ports that were paused, and when.
#[derive(Clone, PartialEq, Debug)]
pub struct PauseTimeline {
    /// Title.
    pub title: String,
    /// Ports in drawing order; those of the deadlock cycle first.
    pub ports: Vec<PausedPort>,
    /// End of the time axis, in nanoseconds.
    pub end_ns: f64,
    /// When a deadlock cycle closed.
    pub closed_ns: Option<f64>,
}

/// A port that was paused.
#[derive(Clone, PartialEq, Debug)]
pub struct PausedPort {
    /// Direction of the port: `s0>s1`.
    pub name: String,
    /// Start and end of each pause in nanoseconds, ascending.
    pub paused_ns: Vec<(f64, f64)>,
    /// The next port of the deadlock cycle, if the port is in one.
    pub waits_for: Option<String>,
}

/// Left and right of the bars, by width of the drawing.
const MARGINS: [(f64, f64); 2] = [(136.0, 190.0), (104.0, 28.0)];
const ROW: f64 = 22.0;
const THICK: f64 = 12.0;
const COUNT_HEIGHT: f64 = 64.0;
/// Most ports in a drawing.
const PORTS_MAX: usize = 32;
/// Width of a column of the step curve, in SVG units.
const COLUMN: f64 = 0.5;
/// Bars closer than this many SVG units are drawn as one.
const MERGED: f64 = 0.4;

impl PauseTimeline {
    /// The drawing for pages of both widths.
    pub fn drawing(&self) -> Drawing {
        Drawing::new(|width| self.svg_for(width))
    }

    /// A narrow drawing does not say which port waits for which.
    fn svg_for(&self, width: Width) -> String {
        let (left, right) = MARGINS[usize::from(width.is_narrow())];
        let width = width.units();
        let bar = |colour: &str| {
            format!("<rect x=\"2\" y=\"-6\" width=\"22\" height=\"12\" style=\"fill:var({colour})\"/>")
        };
        let mut entries = Vec::new();
        if self.ports.iter().any(|port| port.waits_for.is_some()) {
            entries.push(Entry { name: "paused, in the cycle".to_owned(), sample: bar("--bad") });
        }
        entries.push(Entry { name: "paused by the node at its end".to_owned(), sample: bar("--c0") });
        let legend = Legend::new(entries, width - 32.0);
        let rows = self.ports.len().min(PORTS_MAX);
        let top = 42.0 + legend.height + 26.0;
        let bottom = top + COUNT_HEIGHT + 18.0 + ROW * rows as f64;
        let left_out = self.ports.len() - rows;
        let height = bottom + 44.0 + if left_out > 0 { 18.0 } else { 0.0 };
        let description = format!("Times at which each of {} ports was paused.", self.ports.len());
        let mut canvas = Canvas {
            svg: open(&self.title, &description, width, height),
            end_ns: self.end_ns.max(1.0),
            width,
            left,
            right,
        };
        legend.draw(&mut canvas.svg, 16.0, 42.0);
        canvas.draw_axis(top, bottom);
        canvas.draw_count(&self.ports, top);
        for (row, port) in self.ports.iter().take(rows).enumerate() {
            canvas.draw_port(port, top + COUNT_HEIGHT + 18.0 + ROW * row as f64);
        }
        if let Some(closed) = self.closed_ns {
            canvas.draw_closure(closed, top, bottom);
        }
        if left_out > 0 {
            let text = format!("and {} more ports", human::count(left_out as u64));
            canvas.text("note", 16.0, height - 8.0, "start", &text);
        }
        canvas.svg.push_str("</svg>\n");
        canvas.svg
    }
}

struct Canvas {
    svg: String,
    end_ns: f64,
    width: f64,
    left: f64,
    right: f64,
}

impl Canvas {
    fn x(&self, ns: f64) -> f64 {
        self.left + (self.width - self.left - self.right) * (ns / self.end_ns).clamp(0.0, 1.0)
    }

    fn text(&mut self, class: &str, x: f64, y: f64, anchor: &str, text: &str) {
        let (x, y, text) = (Coord(x), Coord(y), Escaped(text));
        let _ = writeln!(
            self.svg,
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>"
        );
    }

    fn draw_axis(&mut self, top: f64, bottom: f64) {
        let axis = Axis::new("", Scale::Linear, Unit::TimeNs).with_range(0.0, self.end_ns);
        for tick in crate::plot::fitted_ticks(&axis, if self.right < 100.0 { 3 } else { 6 }) {
            let x = Coord(self.x(tick.0));
            let _ = writeln!(
                self.svg,
                "<path class=\"grid\" d=\"M{x} {}V{}\"/>",
                Coord(top),
                Coord(bottom + 4.0)
            );
            self.text("", self.x(tick.0), bottom + 20.0, "middle", &tick.1);
        }
        let below = if self.right < 100.0 { 36.0 } else { 20.0 };
        self.text("note", self.width - 16.0, bottom + below, "end", "simulated time");
    }

    /// Draws the number of paused ports as a filled step curve.
    fn draw_count(&mut self, ports: &[PausedPort], top: f64) {
        let held = ports.iter().flat_map(|port| &port.paused_ns);
        let mut steps: Vec<(f64, i64)> = held.flat_map(|(from, until)| [(*from, 1), (*until, -1)]).collect();
        // At equal times starts come first, so that consecutive pauses leave no gap.
        steps.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let mut count = 0;
        let levels: Vec<(f64, i64)> = steps
            .iter()
            .map(|(ns, step)| {
                count += step;
                (*ns, count)
            })
            .collect();
        let most = levels.iter().map(|level| level.1).max().unwrap_or(0).max(1);
        let base = top + COUNT_HEIGHT;
        let mut path = format!("M{} {}", Coord(self.left), Coord(base));
        let mut last = 0;
        for (column, count) in self.columns(&levels).into_iter().enumerate() {
            if count != last {
                let (x, y) =
                    (self.left + column as f64 * COLUMN, base - COUNT_HEIGHT * count as f64 / most as f64);
                let _ = write!(path, "H{}V{}", Coord(x), Coord(y));
                last = count;
            }
        }
        let (right, bottom) = (Coord(self.x(self.end_ns)), Coord(base));
        let _ = writeln!(
            self.svg,
            "<path d=\"{path}H{right}V{bottom}Z\" style=\"fill:var(--c0);fill-opacity:.25;stroke:var(--c0)\"/>"
        );
        self.text("", self.left - 9.0, top + 10.0, "end", &human::count(most as u64));
        self.text("", self.left - 9.0, base, "end", "0");
        self.text("note", self.left - 9.0, top + COUNT_HEIGHT / 2.0 + 8.0, "end", "paused ports");
    }

    /// Largest number in each column of the drawing.
    fn columns(&self, levels: &[(f64, i64)]) -> Vec<i64> {
        let column = |ns: f64| ((self.x(ns) - self.left) / COLUMN) as usize;
        let mut columns = vec![0; column(self.end_ns) + 1];
        let ends = levels.iter().skip(1).map(|level| level.0).chain([self.end_ns]);
        for ((from, count), until) in levels.iter().zip(ends) {
            for most in &mut columns[column(*from)..=column(until)] {
                *most = (*count).max(*most);
            }
        }
        columns
    }

    fn draw_port(&mut self, port: &PausedPort, y: f64) {
        let middle = y + ROW / 2.0;
        self.text(
            "",
            self.left - 9.0,
            middle + 4.5,
            "end",
            &elide_middle(&port.name, (self.left / 7.0) as usize),
        );
        let (x, y, right) = (Coord(self.left), Coord(middle), Coord(self.width - self.right));
        let _ = writeln!(self.svg, "<path class=\"grid\" d=\"M{x} {y}H{right}\"/>");
        let colour = if port.waits_for.is_some() { "--bad" } else { "--c0" };
        for (from, until) in self.merged(&port.paused_ns) {
            let _ = writeln!(
                self.svg,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" style=\"fill:var({colour})\"/>",
                Coord(from),
                Coord(middle - THICK / 2.0),
                Coord((until - from).max(0.6)),
                Coord(THICK)
            );
        }
        if let Some(next) = port.waits_for.as_ref().filter(|_| self.right > 100.0) {
            let text = format!("waits for {}", elide_middle(next, 18));
            self.text("", self.width - self.right + 14.0, middle + 4.5, "start", &text);
        }
    }

    /// Bars in SVG units, with invisible gaps closed.
    fn merged(&self, paused_ns: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let mut bars: Vec<(f64, f64)> = Vec::new();
        for (from, until) in paused_ns {
            let (from, until) = (self.x(*from), self.x(*until));
            match bars.last_mut() {
                Some(last) if from - last.1 < MERGED => last.1 = last.1.max(until),
                _ => bars.push((from, until)),
            }
        }
        bars
    }

    fn draw_closure(&mut self, closed_ns: f64, top: f64, bottom: f64) {
        let x = self.x(closed_ns);
        let (at, y, bottom) = (Coord(x), Coord(top - 8.0), Coord(bottom + 4.0));
        let _ = writeln!(
            self.svg,
            "<path d=\"M{at} {y}V{bottom}\" style=\"stroke:var(--bad);stroke-width:1.5;stroke-dasharray:5 3;fill:none\"/>"
        );
        let text = format!("the cycle closes at {}", human::time_ns(closed_ns));
        let anchor = if x > self.width / 2.0 { "end" } else { "start" };
        self.text("halo", x, top - 12.0, anchor, &text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::tests::assert_balanced;

    fn port(name: &str, paused_ns: Vec<(f64, f64)>, waits_for: Option<&str>) -> PausedPort {
        PausedPort { name: name.to_owned(), paused_ns, waits_for: waits_for.map(str::to_owned) }
    }

    #[test]
    fn ports_have_bars_and_the_closed_cycle_is_marked() {
        let picture = PauseTimeline {
            title: "Pauses <&>".to_owned(),
            ports: vec![
                port("s0>s1", vec![(1e6, 1.2e6), (2e6, 5e6)], Some("s1>s0")),
                port("s1>s0", vec![(2.5e6, 5e6)], Some("s0>s1")),
                port("h0>s0", vec![(3e6, 5e6)], None),
            ],
            end_ns: 5e6,
            closed_ns: Some(2.5e6),
        };
        let svg = picture.svg_for(Width::Wide);
        assert_balanced(&svg);
        assert_eq!(svg.matches("height=\"12\" style=\"fill:var(--bad)\"").count(), 1 + 3);
        assert_eq!(svg.matches("height=\"12\" style=\"fill:var(--c0)\"").count(), 1 + 1);
        for text in ["waits for s1&gt;s0", "the cycle closes at 2.5 ms", "h0&gt;s0", ">3<"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
    }

    #[test]
    fn thousands_of_pauses_give_a_small_drawing() {
        let many = (0..5_000).map(|i| (f64::from(i) * 1e3, f64::from(i) * 1e3 + 900.0)).collect();
        let ports = (0..40).map(|i| port(&format!("h{i}>s0"), Vec::clone(&many), None)).collect();
        let picture = PauseTimeline { title: "x".to_owned(), ports, end_ns: 5e6, closed_ns: None };
        let svg = picture.svg_for(Width::Wide);
        assert!(svg.len() < 100_000, "{}", svg.len());
        assert!(svg.contains("and 8 more ports"));
    }
}
