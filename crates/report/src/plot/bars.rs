//! Stacked horizontal bars.

use std::fmt::Write as _;

use super::drawing::{Entry, Legend, open};
use super::style::{colour, text_width};
use super::width::{Drawing, Width};
use crate::human;
use crate::markup::{Coord, Escaped, elide_middle};

/// Horizontal bars, each divided into the same parts.
#[derive(Clone, PartialEq, Debug)]
pub struct Bars {
    /// Title.
    pub title: String,
    /// Description for screen readers.
    pub description: String,
    /// Names of the parts, in order.
    pub parts: Vec<String>,
    /// Bars from top to bottom.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Clone, PartialEq, Debug)]
pub struct Bar {
    /// Name of the bar.
    pub name: String,
    /// Count of each part.
    pub counts: Vec<u64>,
}

const LEFT: f64 = 16.0;
const RIGHT: f64 = 96.0;
const ROW: f64 = 52.0;
const THICK: f64 = 24.0;

impl Bars {
    /// The drawing.
    pub fn svg(&self) -> String {
        self.svg_for(Width::Wide)
    }

    /// The drawing for pages of both widths.
    pub fn drawing(&self) -> Drawing {
        Drawing::new(|width| self.svg_for(width))
    }

    fn svg_for(&self, width: Width) -> String {
        let width = width.units();
        let sample =
            |i| format!("<rect x=\"6\" y=\"-7\" width=\"14\" height=\"14\" style=\"fill:{}\"/>", colour(i));
        let entries =
            self.parts.iter().enumerate().map(|(i, name)| Entry { name: name.clone(), sample: sample(i) });
        let legend = Legend::new(entries.collect(), width - 2.0 * LEFT);
        let top = 42.0 + legend.height + 6.0;
        let mut svg = open(&self.title, &self.description, width, top + ROW * self.bars.len() as f64 + 12.0);
        legend.draw(&mut svg, LEFT, 42.0);
        let longest = self.bars.iter().map(|bar| bar.counts.iter().sum::<u64>()).max().unwrap_or(0);
        let scale = (width - LEFT - RIGHT) / longest.max(1) as f64;
        for (i, bar) in self.bars.iter().enumerate() {
            self.draw_bar(&mut svg, bar, (top + ROW * i as f64, (width / 8.4) as usize), scale);
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Draws the name, the parts from left to right with their counts if they fit, and the sum at the end.
    fn draw_bar(&self, svg: &mut String, bar: &Bar, (top, name_chars_max): (f64, usize), scale: f64) {
        let name = elide_middle(&bar.name, name_chars_max);
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\">{}</text>",
            Coord(LEFT),
            Coord(top + 14.0),
            Escaped(&name)
        );
        let (mut x, y) = (LEFT, top + 20.0);
        for (i, &count) in bar.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            // A single timeout among thousands stays visible.
            let width = (count as f64 * scale).max(2.0);
            let part = self.parts.get(i).map_or("", String::as_str);
            let _ = write!(
                svg,
                "<rect class=\"mark\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" style=\"fill:{}\">\
                 <title>{}: {count}</title></rect>",
                Coord(x),
                Coord(y),
                Coord(width),
                Coord(THICK),
                colour(i),
                Escaped(part)
            );
            let text = human::count(count);
            if width > text_width(&text, 13.0) + 8.0 {
                let (middle, y) = (Coord(x + width / 2.0), Coord(y + THICK / 2.0 + 4.5));
                let _ = write!(
                    svg,
                    "<text class=\"ground\" x=\"{middle}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>"
                );
            }
            x += width;
        }
        let sum = bar.counts.iter().sum::<u64>();
        let text = if sum == 0 { "none".to_owned() } else { human::count(sum) };
        let (x, y) = (Coord(x + 8.0), Coord(y + THICK / 2.0 + 4.5));
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" font-weight=\"600\">{text}</text>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::tests::assert_balanced;

    #[test]
    fn bars_show_parts_and_sums() {
        let bars = Bars {
            title: "Timeouts".to_owned(),
            description: "by cause".to_owned(),
            parts: vec!["tail packet".to_owned(), "NAK".to_owned()],
            bars: vec![
                Bar { name: "plain & simple".to_owned(), counts: vec![12_345, 700] },
                Bar { name: "mended".to_owned(), counts: vec![0, 0] },
            ],
        };
        let svg = bars.svg();
        assert_balanced(&svg);
        for text in ["13\u{202f}045", "12\u{202f}345", "none", "plain &amp; simple", "tail packet"] {
            assert!(svg.contains(&format!(">{text}<")), "{text} in {svg}");
        }
        assert_eq!(svg.matches("<rect class=\"mark\"").count(), 2);
    }
}
