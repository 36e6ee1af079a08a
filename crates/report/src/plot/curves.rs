//! Line plots.

use std::fmt::Write as _;

use super::axis::{Axis, FittedAxis};
use super::drawing::{Entry, Legend, open};
use super::style::{colour, dashes, text_width};
use super::width::{Drawing, Width};
use crate::markup::{Coord, Escaped};

/// Curves over two axes.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// Title.
    pub title: String,
    /// Description for screen readers.
    pub description: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Curves in the order of their colours.
    pub curves: Vec<Curve>,
}

/// A named line through points.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// Name in the legend.
    pub name: String,
    /// Points, ascending in x.
    pub points: Vec<(f64, f64)>,
    /// Line between the points.
    pub line: Line,
}

/// Line between points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line {
    /// Straight lines.
    Straight,
    /// Straight lines with a marker at each point: for few measured points.
    Marked,
    /// Steps: each point holds from itself to the right, as in a cumulative distribution.
    StepAfter,
    /// Steps: each point holds from its left neighbour to itself, as in a table of quantiles.
    StepBefore,
}

const PLOT_HEIGHT: f64 = 300.0;
const MARGIN_LEFT: f64 = 84.0;
const MARGIN_RIGHT: f64 = 30.0;

/// The area of the curves.
struct Area<'a> {
    x: FittedAxis<'a>,
    y: FittedAxis<'a>,
    top: f64,
    left: f64,
    width: f64,
    height: f64,
}

impl Curve {
    /// A curve with marks at its points.
    pub fn marked(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { name: name.into(), points: points.into_iter().collect(), line: Line::Marked }
    }

    /// A curve without marks.
    pub fn straight(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { line: Line::Straight, ..Self::marked(name, points) }
    }

    /// A curve of steps behind its points.
    pub fn steps(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { line: Line::StepAfter, ..Self::marked(name, points) }
    }
}

impl Plot {
    /// Curves over two axes.
    pub fn new(
        title: impl Into<String>,
        description: impl Into<String>,
        x: Axis,
        y: Axis,
        curves: Vec<Curve>,
    ) -> Self {
        Self { title: title.into(), description: description.into(), x, y, curves }
    }

    /// The drawing, for a page or for [a file](super::standalone).
    pub fn svg(&self) -> String {
        self.svg_for(Width::Wide)
    }

    /// The drawing for pages of both widths.
    pub fn drawing(&self) -> Drawing {
        Drawing::new(|width| self.svg_for(width))
    }

    fn svg_for(&self, width: Width) -> String {
        let points = || self.curves.iter().flat_map(|curve| curve.points.iter());
        let narrow = width.is_narrow();
        let (left, right) = if narrow { (72.0, 26.0) } else { (MARGIN_LEFT, MARGIN_RIGHT) };
        let legend_left = if narrow { 16.0 } else { left };
        let legend = Legend::new(self.entries(), width.units() - legend_left - right);
        // A narrow drawing has the label of the vertical axis above it.
        let top = 42.0 + legend.height + if narrow { 26.0 } else { 8.0 };
        let area = Area {
            x: FittedAxis::new(&self.x, points().map(|point| point.0)),
            y: FittedAxis::new(&self.y, points().map(|point| point.1)),
            top,
            left,
            width: width.units() - left - right,
            height: if narrow { 220.0 } else { PLOT_HEIGHT },
        };
        let label = lines(&self.x.label, width.units() - 16.0);
        let height = top + area.height + 40.0 + 18.0 * label.len() as f64;
        let mut svg = open(&self.title, &self.description, width.units(), height);
        legend.draw(&mut svg, legend_left, 42.0);
        area.draw_axes(&mut svg, &label, &self.y.label);
        for (i, curve) in self.curves.iter().enumerate() {
            area.draw_curve(&mut svg, i, curve);
        }
        if points().next().is_none() {
            let (x, y) = (Coord(left + area.width / 2.0), Coord(top + area.height / 2.0));
            let _ = writeln!(
                svg,
                "<text class=\"note\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">no data</text>"
            );
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn entries(&self) -> Vec<Entry> {
        let sample = |i: usize, line: Line| {
            let mark = if line == Line::Marked { marker(i, 13.0, 0.0) } else { String::new() };
            format!("<path class=\"curve\" d=\"M0 0H26\"{}/>{mark}", stroke(i))
        };
        let entry =
            |(i, curve): (usize, &Curve)| Entry { name: curve.name.clone(), sample: sample(i, curve.line) };
        self.curves.iter().enumerate().map(entry).collect()
    }
}

impl Area<'_> {
    fn at(&self, point: (f64, f64)) -> Option<(f64, f64)> {
        let (x, y) = (self.x.place(point.0)?, self.y.place(point.1)?);
        Some((self.left + x * self.width, self.top + (1.0 - y) * self.height))
    }

    /// `x_label`: in lines.
    fn draw_axes(&self, svg: &mut String, x_label: &[String], y_label: &str) {
        let (left, right, bottom) = (self.left, self.left + self.width, self.top + self.height);
        self.draw_x_ticks(svg, bottom);
        for tick in self.y.ticks(7) {
            let Some(place) = self.y.place(tick.value) else { continue };
            let y = self.top + (1.0 - place) * self.height;
            if tick.is_major {
                let _ = writeln!(
                    svg,
                    "<path class=\"grid\" d=\"M{} {}H{}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                    Coord(left),
                    Coord(y),
                    Coord(right),
                    Coord(left - 9.0),
                    Coord(y + 4.5),
                    Escaped(&tick.label)
                );
            } else {
                let _ = writeln!(svg, "<path class=\"axis\" d=\"M{} {}h-3\"/>", Coord(left), Coord(y));
            }
        }
        let (x, y, low, right) = (Coord(left), Coord(self.top), Coord(bottom), Coord(right));
        let _ = writeln!(svg, "<path class=\"axis\" d=\"M{x} {y}V{low}H{right}\"/>");
        let (middle, centre) = (self.top + self.height / 2.0, left + self.width / 2.0);
        for (line, text) in x_label.iter().enumerate() {
            // A long label is centred as far as it stays on the drawing.
            let x = centre.max(text_width(text, 13.0) / 2.0 + 8.0);
            let end = self.left + self.width + MARGIN_RIGHT / 2.0;
            let x = x.min((end - text_width(text, 13.0) / 2.0).max(0.0));
            let (x, y, text) = (Coord(x), Coord(bottom + 44.0 + 18.0 * line as f64), Escaped(text));
            let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>");
        }
        let text = Escaped(y_label);
        if self.left < MARGIN_LEFT {
            let _ =
                writeln!(svg, "<text class=\"note\" x=\"16\" y=\"{}\">{text}</text>", Coord(self.top - 10.0));
        } else {
            let y = Coord(middle);
            let _ = writeln!(
                svg,
                "<text transform=\"translate(18,{y}) rotate(-90)\" text-anchor=\"middle\">{text}</text>"
            );
        }
    }

    /// Draws ticks along the bottom. A label that would overlap its neighbour is left out.
    fn draw_x_ticks(&self, svg: &mut String, bottom: f64) {
        let mut free_from = f64::NEG_INFINITY;
        for tick in self.x.ticks((self.width / 80.0) as usize) {
            let Some(place) = self.x.place(tick.value) else { continue };
            let x = self.left + place * self.width;
            if !tick.is_major {
                let _ = writeln!(svg, "<path class=\"axis\" d=\"M{} {}v3\"/>", Coord(x), Coord(bottom));
                continue;
            }
            let (at, y, low) = (Coord(x), Coord(self.top), Coord(bottom + 5.0));
            let _ = writeln!(svg, "<path class=\"grid\" d=\"M{at} {y}V{low}\"/>");
            let half = text_width(&tick.label, 13.0) / 2.0;
            if x - half >= free_from {
                let (y, label) = (Coord(bottom + 20.0), Escaped(&tick.label));
                let _ =
                    writeln!(svg, "<text x=\"{}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>", Coord(x));
                free_from = x + half + 8.0;
            }
        }
    }

    fn draw_curve(&self, svg: &mut String, i: usize, curve: &Curve) {
        let places: Vec<_> = curve.points.iter().filter_map(|&point| self.at(point)).collect();
        let Some(&(first_x, first_y)) = places.first() else { return };
        let mut path = String::new();
        // A cumulative distribution rises from the bottom at its first value; a table of quantiles starts at
        // the left end.
        let _ = match curve.line {
            Line::StepAfter => {
                let ground = self.at((curve.points[0].0, self.y.low())).map_or(first_y, |at| at.1);
                write!(path, "M{} {}V{}", Coord(first_x), Coord(ground), Coord(first_y))
            }
            Line::StepBefore => write!(path, "M{} {}H{}", Coord(self.left), Coord(first_y), Coord(first_x)),
            Line::Straight | Line::Marked => write!(path, "M{} {}", Coord(first_x), Coord(first_y)),
        };
        for &(x, y) in &places[1..] {
            let _ = match curve.line {
                Line::StepAfter => write!(path, "H{}V{}", Coord(x), Coord(y)),
                Line::StepBefore => write!(path, "V{}H{}", Coord(y), Coord(x)),
                Line::Straight | Line::Marked => write!(path, "L{} {}", Coord(x), Coord(y)),
            };
        }
        let title = Escaped(&curve.name);
        let _ =
            writeln!(svg, "<path class=\"curve\" d=\"{path}\"{}><title>{title}</title></path>", stroke(i));
        if curve.line == Line::Marked {
            for (x, y) in places {
                svg.push_str(&marker(i, x, y));
            }
        }
    }
}

/// Breaks a label into lines of at most `width`.
fn lines(label: &str, width: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in label.split(' ') {
        let last = lines.last_mut().expect("there is a line");
        let longer = if last.is_empty() { word.to_owned() } else { format!("{last} {word}") };
        if last.is_empty() || text_width(&longer, 13.0) <= width {
            *last = longer;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

pub(super) fn stroke(i: usize) -> String {
    let dashes = dashes(i);
    let dashes = if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dashes}\"") };
    format!(" stroke=\"{}\"{dashes}", colour(i))
}

/// A marker whose shape identifies the curve, like its colour.
pub(super) fn marker(i: usize, x: f64, y: f64) -> String {
    let shape =
        ["M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "M-4-4h8v8h-8z", "M0-5l5 9h-10z", "M0-5l5 5l-5 5l-5-5z"]
            [i % 4];
    let (x, y, fill) = (Coord(x), Coord(y), colour(i));
    format!("<path class=\"mark\" transform=\"translate({x},{y})\" d=\"{shape}\" style=\"fill:{fill}\"/>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::tests::assert_balanced;
    use crate::plot::{Scale, Unit};

    fn plot(points: Vec<(f64, f64)>) -> Plot {
        Plot {
            title: "Loss & <delay>".to_owned(),
            description: "two \"axes\"".to_owned(),
            x: Axis::new("corruption", Scale::Log, Unit::Number),
            y: Axis::new("time", Scale::Log, Unit::TimeNs),
            curves: vec![Curve { name: "a<b".to_owned(), points, line: Line::Marked }],
        }
    }

    #[test]
    fn axes_carry_units_and_text_is_escaped() {
        let svg = plot(vec![(1e-8, 900.0), (1e-2, 67e6)]).svg();
        assert_balanced(&svg);
        for label in ["10⁻⁸", "10⁻³", "1 µs", "10 ms", "100 ms", "a&lt;b", "Loss &amp; &lt;delay&gt;"]
        {
            assert!(svg.contains(&format!(">{label}<")), "{label} in {svg}");
        }
        assert_balanced(&super::super::standalone(&svg));
    }

    #[test]
    fn values_outside_the_scale_are_left_out() {
        let svg = plot(vec![(0.0, 5.0), (f64::NAN, 1.0), (1e-3, f64::INFINITY)]).svg();
        assert_balanced(&svg);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(plot(vec![]).svg().contains("no data"));
    }
}
