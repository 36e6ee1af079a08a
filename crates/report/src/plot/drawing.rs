//! Title and legend of all drawings.

use std::fmt::Write as _;

use super::style::text_width;
use crate::markup::{Coord, Escaped, elide_middle};

/// A name and its sample, which is drawn around the origin and is 26 wide.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) sample: String,
}

/// Legend entries side by side, in as many lines as necessary.
pub(crate) struct Legend {
    placed: Vec<(f64, f64, Entry)>,
    /// Height of all lines.
    pub(crate) height: f64,
}

const SAMPLE_WIDTH: f64 = 26.0;
const GAP: f64 = 22.0;
const LINE: f64 = 20.0;
const NAME_CHARS_MAX: usize = 48;
/// Drawings of this width have room for every title.
const WIDE: f64 = 600.0;
/// Width of a character of a name.
const CHARACTER: f64 = 7.4;

impl Legend {
    /// Places the entries within `width`.
    pub(crate) fn new(entries: Vec<Entry>, width: f64) -> Self {
        let (mut x, mut y) = (0.0, 0.0);
        let mut placed = Vec::new();
        for entry in entries {
            let chars_max = ((width - SAMPLE_WIDTH - 8.0) / CHARACTER) as usize;
            let name = elide_middle(&entry.name, chars_max.min(NAME_CHARS_MAX));
            let needed = SAMPLE_WIDTH + 8.0 + text_width(&name, 13.0);
            if x > 0.0 && x + needed > width {
                (x, y) = (0.0, y + LINE);
            }
            placed.push((x, y, Entry { name, ..entry }));
            x += needed + GAP;
        }
        let height = if placed.is_empty() { 0.0 } else { y + LINE };
        Self { placed, height }
    }

    /// Draws the legend with its upper left corner at (`left`, `top`).
    pub(crate) fn draw(&self, svg: &mut String, left: f64, top: f64) {
        for (x, y, entry) in &self.placed {
            let (x, y) = (left + x, top + y + LINE / 2.0);
            let _ = writeln!(
                svg,
                "<g transform=\"translate({},{})\">{}<text x=\"{}\" y=\"4\">{}</text></g>",
                Coord(x),
                Coord(y),
                entry.sample,
                Coord(SAMPLE_WIDTH + 8.0),
                Escaped(&entry.name)
            );
        }
    }
}

/// The opening tag with its description for screen readers, and the title.
pub(crate) fn open(title: &str, description: &str, width: f64, height: f64) -> String {
    let chars_max = if width < WIDE { (width / 10.8) as usize } else { usize::MAX };
    let shown = elide_middle(title, chars_max);
    let (title, description, shown) = (Escaped(title), Escaped(description), Escaped(&shown));
    let (w, h) = (Coord(width), Coord(height));
    format!(
        "<svg class=\"fig\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" \
         role=\"img\" aria-label=\"{title}. {description}\">\n<text class=\"title\" x=\"16\" y=\"26\">{shown}</text>\n"
    )
}
