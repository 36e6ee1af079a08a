//! Small multiples: the same plot for each value of a parameter, on equal axes.

use std::fmt::Write as _;

use super::axis::{Axis, FittedAxis};
use super::curves::{marker, stroke};
use super::drawing::{Entry, Legend, open};
use super::style::text_width;
use crate::markup::{Coord, Escaped, elide_middle};

/// Panels side by side.
#[derive(Clone, PartialEq, Debug)]
pub struct Multiples {
    /// Title.
    pub title: String,
    /// Description for screen readers.
    pub description: String,
    /// Horizontal axis of all panels.
    pub x: Axis,
    /// Labels of the positions 0, 1, 2, … if the horizontal axis has names and not numbers.
    pub names: Vec<String>,
    /// Vertical axis of all panels.
    pub y: Axis,
    /// Names of the curves, equal in all panels.
    pub curves: Vec<String>,
    /// Panels in reading order.
    pub panels: Vec<Panel>,
}

/// One panel.
#[derive(Clone, PartialEq, Debug)]
pub struct Panel {
    /// Title of the panel.
    pub title: String,
    /// By curve: its points from left to right.
    pub points: Vec<Vec<Measured>>,
}

/// A mean with its interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// Position on the horizontal axis.
    pub x: f64,
    /// The mean.
    pub mean: f64,
    /// Ends of the interval, if there is one.
    pub interval: Option<(f64, f64)>,
}

const WIDTH: f64 = 920.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 20.0;
const GAP: f64 = 44.0;
const COLUMNS_MAX: usize = 3;
const PANEL_HEIGHT: f64 = 190.0;
/// Height of a row besides its panels: titles above, tick labels below.
const ROW_EXTRA: f64 = 58.0;
/// Half the width of the ends of an interval.
const CAP: f64 = 3.5;

/// The places of the panels.
struct Layout<'a> {
    x: FittedAxis<'a>,
    y: FittedAxis<'a>,
    names: &'a [String],
    columns: usize,
    width: f64,
    top: f64,
}

impl Multiples {
    /// The drawing.
    pub fn svg(&self) -> String {
        let sample =
            |i| format!("<path class=\"curve\" d=\"M0 0H26\"{}/>{}", stroke(i), marker(i, 13.0, 0.0));
        let entry = |(i, name): (usize, &String)| Entry { name: name.clone(), sample: sample(i) };
        let entries = if self.curves.len() > 1 {
            self.curves.iter().enumerate().map(entry).collect()
        } else {
            Vec::new()
        };
        let legend = Legend::new(entries, WIDTH - LEFT - RIGHT);
        let layout = self.layout(42.0 + legend.height + 8.0);
        let rows = self.panels.len().div_ceil(layout.columns);
        let height = layout.top + rows as f64 * (PANEL_HEIGHT + ROW_EXTRA) + 26.0;
        // On a narrow screen the drawing scrolls, so that its text stays readable.
        let svg = open(&self.title, &self.description, WIDTH, height);
        let mut svg = svg.replacen("<svg ", "<svg style=\"min-width:640px\" ", 1);
        legend.draw(&mut svg, LEFT, 42.0);
        for (number, panel) in self.panels.iter().enumerate() {
            layout.draw(&mut svg, number, panel);
        }
        let (x, y) = (Coord(LEFT + (WIDTH - LEFT - RIGHT) / 2.0), Coord(height - 12.0));
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{}</text>",
            Escaped(&self.x.label)
        );
        let y = Coord(layout.top + (height - layout.top - 26.0) / 2.0);
        let text = Escaped(&self.y.label);
        let _ = writeln!(
            svg,
            "<text transform=\"translate(16,{y}) rotate(-90)\" text-anchor=\"middle\">{text}</text>"
        );
        svg.push_str("</svg>\n");
        svg
    }

    fn layout(&self, top: f64) -> Layout<'_> {
        let points = || self.panels.iter().flat_map(|panel| panel.points.iter().flatten());
        let ys = points().flat_map(|point| {
            let (low, high) = point.interval.unwrap_or((point.mean, point.mean));
            [point.mean, low, high]
        });
        let columns = self.panels.len().clamp(1, COLUMNS_MAX);
        let width = (WIDTH - LEFT - RIGHT - GAP * (columns - 1) as f64) / columns as f64;
        Layout {
            x: FittedAxis::new(&self.x, points().map(|point| point.x)),
            y: FittedAxis::new(&self.y, ys),
            names: &self.names,
            columns,
            width,
            top,
        }
    }
}

impl Layout<'_> {
    fn draw(&self, svg: &mut String, number: usize, panel: &Panel) {
        let left = LEFT + (number % self.columns) as f64 * (self.width + GAP);
        let top = self.top + (number / self.columns) as f64 * (PANEL_HEIGHT + ROW_EXTRA) + 20.0;
        let title = elide_middle(&panel.title, (self.width / 7.5) as usize);
        let (x, y) = (Coord(left), Coord(top - 8.0));
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" font-weight=\"600\">{}</text>", Escaped(&title));
        self.draw_axes(svg, left, top, number.is_multiple_of(self.columns));
        for (i, points) in panel.points.iter().enumerate() {
            self.draw_curve(svg, i, points, left, top);
        }
        if panel.points.iter().all(Vec::is_empty) {
            let (x, y) = (Coord(left + self.width / 2.0), Coord(top + PANEL_HEIGHT / 2.0));
            let _ = writeln!(
                svg,
                "<text class=\"note\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">no data</text>"
            );
        }
    }

    /// Draws ticks; only the first panel of a row has labels at its left.
    fn draw_axes(&self, svg: &mut String, left: f64, top: f64, is_first: bool) {
        let (right, bottom) = (left + self.width, top + PANEL_HEIGHT);
        for tick in self.y.ticks(5).into_iter().filter(|tick| tick.is_major) {
            let Some(place) = self.y.place(tick.value) else { continue };
            let y = top + (1.0 - place) * PANEL_HEIGHT;
            let _ =
                writeln!(svg, "<path class=\"grid\" d=\"M{} {}H{}\"/>", Coord(left), Coord(y), Coord(right));
            if is_first {
                let (x, y, label) = (Coord(left - 8.0), Coord(y + 4.5), Escaped(&tick.label));
                let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{label}</text>");
            }
        }
        let mut free_from = f64::NEG_INFINITY;
        for (value, label) in self.x_labels() {
            let Some(place) = self.x.place(value) else { continue };
            let x = left + place * self.width;
            let _ = writeln!(svg, "<path class=\"axis\" d=\"M{} {}v4\"/>", Coord(x), Coord(bottom));
            let half = text_width(&label, 12.0) / 2.0;
            if x - half >= free_from {
                let (at, y, label) = (Coord(x), Coord(bottom + 18.0), Escaped(&label));
                let _ = writeln!(
                    svg,
                    "<text x=\"{at}\" y=\"{y}\" text-anchor=\"middle\" font-size=\"12\">{label}</text>"
                );
                free_from = x + half + 6.0;
            }
        }
        let (x, y, low, right) = (Coord(left), Coord(top), Coord(bottom), Coord(right));
        let _ = writeln!(svg, "<path class=\"axis\" d=\"M{x} {y}V{low}H{right}\"/>");
    }

    fn x_labels(&self) -> Vec<(f64, String)> {
        if self.names.is_empty() {
            let ticks = self.x.ticks(4).into_iter().filter(|tick| tick.is_major);
            return ticks.map(|tick| (tick.value, tick.label)).collect();
        }
        let room = (self.width / self.names.len() as f64 / 7.0) as usize;
        let label = |(number, name): (usize, &String)| (number as f64, elide_middle(name, room.max(3)));
        self.names.iter().enumerate().map(label).collect()
    }

    fn draw_curve(&self, svg: &mut String, i: usize, points: &[Measured], left: f64, top: f64) {
        let x = |value: f64| self.x.place(value).map(|place| left + place * self.width);
        let y = |value: f64| self.y.place(value).map(|place| top + (1.0 - place) * PANEL_HEIGHT);
        let places: Vec<_> =
            points.iter().filter_map(|point| Some((x(point.x)?, y(point.mean)?, point.interval))).collect();
        let path: Vec<String> =
            places.iter().map(|(x, y, _)| format!("{} {}", Coord(*x), Coord(*y))).collect();
        if path.len() > 1 {
            let _ = writeln!(svg, "<path class=\"curve\" d=\"M{}\"{}/>", path.join("L"), stroke(i));
        }
        for (at, mean, interval) in places {
            if let Some((low, high)) = interval {
                // The lower end may lie below a logarithmic axis.
                let (low, high) = (y(low).unwrap_or(top + PANEL_HEIGHT), y(high).unwrap_or(mean));
                let (start, end, low, high, wide) =
                    (Coord(at - CAP), Coord(at), Coord(low), Coord(high), Coord(2.0 * CAP));
                let colour = super::style::colour(i);
                let _ = writeln!(
                    svg,
                    "<path class=\"curve\" style=\"stroke-width:1.2\" stroke=\"{colour}\" \
                     d=\"M{start} {low}h{wide}M{start} {high}h{wide}M{end} {low}V{high}\"/>"
                );
            }
            svg.push_str(&marker(i, at, mean));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::tests::assert_balanced;
    use crate::plot::{Scale, Unit};

    fn multiples(names: &[&str]) -> Multiples {
        let point = |x: f64, mean: f64| Measured { x, mean, interval: Some((mean / 2.0, mean * 2.0)) };
        let panel = |title: &str| Panel {
            title: title.to_owned(),
            points: vec![vec![point(0.001, 1e4), point(0.01, 1e6)], vec![point(0.001, 0.0)], Vec::new()],
        };
        Multiples {
            title: "p99 & <loss>".to_owned(),
            description: "by load".to_owned(),
            x: Axis::new("loss", Scale::Log, Unit::Number),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            y: Axis::new("time", Scale::Log, Unit::TimeNs),
            curves: vec!["irn".to_owned(), "go-back-n".to_owned(), "none".to_owned()],
            panels: vec![panel("load 0.2"), panel("load 0.4"), panel("load 0.6"), panel("load 0.8")],
        }
    }

    #[test]
    fn panels_share_axes_and_show_intervals() {
        let svg = multiples(&[]).svg();
        assert_balanced(&svg);
        for text in ["load 0.2", "load 0.8", "10⁻³", "go-back-n", "10 µs", "p99 &amp; &lt;loss&gt;"] {
            assert!(svg.contains(&format!(">{text}<")), "{text} in {svg}");
        }
        // Two rows have labels at the left; a mean of zero has no place on a logarithmic axis.
        assert_eq!(svg.matches(">10 µs<").count(), 2);
        assert_eq!(svg.matches("stroke-width:1.2").count(), 8);
    }

    #[test]
    fn names_stand_where_an_axis_has_no_numbers() {
        let mut multiples = multiples(&["irn", "go-back-n"]);
        multiples.x = Axis::new("scheme", Scale::Linear, Unit::Number).with_range(-0.5, 1.5);
        assert!(multiples.svg().contains(">go-back-n<"));
        multiples.panels.clear();
        assert_balanced(&multiples.svg());
    }
}
