//! Who paused whom, over time: a lane for each port with bars for the times in which it had to hold.

use std::fmt::Write as _;

use crate::human;
use crate::markup::{At, Escaped, squeezed};
use crate::plot::drawing::{Entry, Legend, open};
use crate::plot::{Axis, Scale, Unit};

/// Ports that had to hold a class, and when.
#[derive(Clone, PartialEq, Debug)]
pub struct PausePicture {
    /// What is seen.
    pub title: String,
    /// The ports, in the order in which they are drawn; those of the circle first.
    pub ports: Vec<PausedPort>,
    /// Where the drawing ends, in nanoseconds.
    pub end_ns: f64,
    /// When a circle closed.
    pub closed_ns: Option<f64>,
}

/// A port that had to hold.
#[derive(Clone, PartialEq, Debug)]
pub struct PausedPort {
    /// The direction that it sends in: `s0>s1`.
    pub name: String,
    /// From when to when, in nanoseconds; ascending.
    pub held_ns: Vec<(f64, f64)>,
    /// The port that it waits for, if it is one of a circle.
    pub waits_for: Option<String>,
}

const WIDTH: f64 = 760.0;
const LEFT: f64 = 136.0;
const RIGHT: f64 = 190.0;
const ROW: f64 = 22.0;
const THICK: f64 = 12.0;
const COUNT_HEIGHT: f64 = 64.0;
/// Ports that are drawn.
const PORTS_MAX: usize = 32;
/// Units that share a value of the curve.
const COLUMN: f64 = 0.5;
/// Bars nearer than this many units are drawn as one.
const MERGED: f64 = 0.4;

impl PausePicture {
    /// The drawing.
    pub fn svg(&self) -> String {
        let bar = |colour: &str| {
            format!("<rect x=\"2\" y=\"-6\" width=\"22\" height=\"12\" style=\"fill:var({colour})\"/>")
        };
        let mut entries = Vec::new();
        if self.ports.iter().any(|port| port.waits_for.is_some()) {
            entries.push(Entry { name: "must hold, on the circle".to_owned(), sample: bar("--bad") });
        }
        entries.push(Entry {
            name: "must hold: the node at its end told it so".to_owned(),
            sample: bar("--c0"),
        });
        let legend = Legend::new(entries, WIDTH - 32.0);
        let rows = self.ports.len().min(PORTS_MAX);
        let top = 42.0 + legend.height + 26.0;
        let bottom = top + COUNT_HEIGHT + 18.0 + ROW * rows as f64;
        let left_out = self.ports.len() - rows;
        let height = bottom + 44.0 + if left_out > 0 { 18.0 } else { 0.0 };
        let description = format!("Times in which each of {} ports had to hold.", self.ports.len());
        let mut canvas =
            Canvas { svg: open(&self.title, &description, WIDTH, height), end_ns: self.end_ns.max(1.0) };
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
}

impl Canvas {
    fn x(&self, ns: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * (ns / self.end_ns).clamp(0.0, 1.0)
    }

    fn text(&mut self, class: &str, x: f64, y: f64, anchor: &str, text: &str) {
        let (x, y, text) = (At(x), At(y), Escaped(text));
        let _ = writeln!(
            self.svg,
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>"
        );
    }

    fn draw_axis(&mut self, top: f64, bottom: f64) {
        let axis = Axis::new("", Scale::Linear, Unit::TimeNs).with_range(0.0, self.end_ns);
        for tick in crate::plot::fitted_ticks(&axis, 6) {
            let x = At(self.x(tick.0));
            let _ = writeln!(self.svg, "<path class=\"grid\" d=\"M{x} {}V{}\"/>", At(top), At(bottom + 4.0));
            self.text("", self.x(tick.0), bottom + 20.0, "middle", &tick.1);
        }
        self.text("note", WIDTH - 16.0, bottom + 20.0, "end", "simulated time");
    }

    /// How many ports hold, as a filled step curve.
    fn draw_count(&mut self, ports: &[PausedPort], top: f64) {
        let held = ports.iter().flat_map(|port| &port.held_ns);
        let mut steps: Vec<(f64, i64)> = held.flat_map(|(from, until)| [(*from, 1), (*until, -1)]).collect();
        // At one instant those that begin come first: a hold that follows another leaves no gap.
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
        let mut path = format!("M{} {}", At(LEFT), At(base));
        let mut last = 0;
        for (column, count) in self.columns(&levels).into_iter().enumerate() {
            if count != last {
                let (x, y) =
                    (LEFT + column as f64 * COLUMN, base - COUNT_HEIGHT * count as f64 / most as f64);
                let _ = write!(path, "H{}V{}", At(x), At(y));
                last = count;
            }
        }
        let (right, bottom) = (At(self.x(self.end_ns)), At(base));
        let _ = writeln!(
            self.svg,
            "<path d=\"{path}H{right}V{bottom}Z\" style=\"fill:var(--c0);fill-opacity:.25;stroke:var(--c0)\"/>"
        );
        self.text("", LEFT - 9.0, top + 10.0, "end", &human::count(most as u64));
        self.text("", LEFT - 9.0, base, "end", "0");
        self.text("note", LEFT - 9.0, top + COUNT_HEIGHT / 2.0 + 8.0, "end", "ports that hold");
    }

    /// The most that there were in each column of the drawing.
    fn columns(&self, levels: &[(f64, i64)]) -> Vec<i64> {
        let column = |ns: f64| ((self.x(ns) - LEFT) / COLUMN) as usize;
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
        self.text("", LEFT - 9.0, middle + 4.5, "end", &squeezed(&port.name, 20));
        let (x, y, right) = (At(LEFT), At(middle), At(WIDTH - RIGHT));
        let _ = writeln!(self.svg, "<path class=\"grid\" d=\"M{x} {y}H{right}\"/>");
        let colour = if port.waits_for.is_some() { "--bad" } else { "--c0" };
        for (from, until) in self.merged(&port.held_ns) {
            let _ = writeln!(
                self.svg,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" style=\"fill:var({colour})\"/>",
                At(from),
                At(middle - THICK / 2.0),
                At((until - from).max(0.6)),
                At(THICK)
            );
        }
        if let Some(next) = &port.waits_for {
            let text = format!("waits for {}", squeezed(next, 18));
            self.text("", WIDTH - RIGHT + 14.0, middle + 4.5, "start", &text);
        }
    }

    /// Bars in units of the drawing, with hardly visible gaps closed.
    fn merged(&self, held_ns: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let mut bars: Vec<(f64, f64)> = Vec::new();
        for (from, until) in held_ns {
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
        let (at, y, bottom) = (At(x), At(top - 8.0), At(bottom + 4.0));
        let _ = writeln!(
            self.svg,
            "<path d=\"M{at} {y}V{bottom}\" style=\"stroke:var(--bad);stroke-width:1.5;stroke-dasharray:5 3;fill:none\"/>"
        );
        let text = format!("the circle closes at {}", human::time_ns(closed_ns));
        let anchor = if x > WIDTH / 2.0 { "end" } else { "start" };
        self.text("halo", x, top - 12.0, anchor, &text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::tests::assert_balanced;

    fn port(name: &str, held_ns: Vec<(f64, f64)>, waits_for: Option<&str>) -> PausedPort {
        PausedPort { name: name.to_owned(), held_ns, waits_for: waits_for.map(str::to_owned) }
    }

    #[test]
    fn each_port_has_its_bars_and_the_closure_is_marked() {
        let picture = PausePicture {
            title: "Pauses <&>".to_owned(),
            ports: vec![
                port("s0>s1", vec![(1e6, 1.2e6), (2e6, 5e6)], Some("s1>s0")),
                port("s1>s0", vec![(2.5e6, 5e6)], Some("s0>s1")),
                port("h0>s0", vec![(3e6, 5e6)], None),
            ],
            end_ns: 5e6,
            closed_ns: Some(2.5e6),
        };
        let svg = picture.svg();
        assert_balanced(&svg);
        assert_eq!(svg.matches("height=\"12\" style=\"fill:var(--bad)\"").count(), 1 + 3);
        assert_eq!(svg.matches("height=\"12\" style=\"fill:var(--c0)\"").count(), 1 + 1);
        for text in ["waits for s1&gt;s0", "the circle closes at 2.5 ms", "h0&gt;s0", ">3<"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
    }

    #[test]
    fn thousands_of_pauses_stay_a_small_drawing() {
        let many = (0..5_000).map(|i| (f64::from(i) * 1e3, f64::from(i) * 1e3 + 900.0)).collect();
        let ports = (0..40).map(|i| port(&format!("h{i}>s0"), Vec::clone(&many), None)).collect();
        let picture = PausePicture { title: "x".to_owned(), ports, end_ns: 5e6, closed_ns: None };
        let svg = picture.svg();
        assert!(svg.len() < 100_000, "{}", svg.len());
        assert!(svg.contains("and 8 more ports"));
    }
}
