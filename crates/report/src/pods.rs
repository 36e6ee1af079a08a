//! Drawing of pods: switches in rows by tier, and the state of their links.

use std::fmt::Write as _;

use crate::markup::{Coord, Escaped, elide_middle};
use crate::plot::drawing::{Entry, Legend, open};

/// Some pods of a fabric, one below the other.
#[derive(Clone, PartialEq, Debug)]
pub struct Pods {
    /// Title.
    pub title: String,
    /// Description for screen readers.
    pub description: String,
    /// Pods from top to bottom.
    pub pods: Vec<Pod>,
}

/// One pod.
#[derive(Clone, PartialEq, Debug)]
pub struct Pod {
    /// Name of the pod.
    pub name: String,
    /// Switches by tier, the lowest first.
    pub tiers: Vec<Vec<PodSwitch>>,
    /// Links of the pod.
    pub links: Vec<PodLink>,
}

/// A switch of a pod.
#[derive(Clone, PartialEq, Debug)]
pub struct PodSwitch {
    /// Name of the switch.
    pub name: String,
    /// Tooltip.
    pub note: String,
    /// Whether the switch has fewer paths or less capacity than required.
    pub is_short: bool,
}

/// An uplink of a switch.
#[derive(Clone, PartialEq, Debug)]
pub struct PodLink {
    /// Tier and position of the lower end.
    pub from: (usize, usize),
    /// Tier and position of the upper end; `None` if it is outside the pod.
    pub to: Option<(usize, usize)>,
    /// Tooltip.
    pub note: String,
    /// State of the link.
    pub mark: LinkMark,
}

/// State of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LinkMark {
    /// Healthy.
    Plain,
    /// Down, or being drained.
    Out,
    /// Corrupts and should be drained.
    Drain,
    /// Corrupts and has to stay in service.
    Keep,
}

const WIDTH: f64 = 920.0;
const LEFT: f64 = 16.0;
const ROW: f64 = 110.0;
const STUB: f64 = 34.0;
const NAMES_CHARS: usize = 18;

impl LinkMark {
    const ALL: [Self; 4] = [Self::Drain, Self::Keep, Self::Out, Self::Plain];

    fn name(self) -> &'static str {
        match self {
            Self::Plain => "healthy",
            Self::Out => "down or draining",
            Self::Drain => "drain now",
            Self::Keep => "corrupts, stays in service",
        }
    }

    fn style(self) -> &'static str {
        match self {
            Self::Plain => "stroke:var(--grid);stroke-width:1",
            Self::Out => "stroke:var(--faint);stroke-width:2;stroke-dasharray:2 4",
            Self::Drain => "stroke:var(--c2);stroke-width:3;stroke-dasharray:8 3",
            Self::Keep => "stroke:var(--bad);stroke-width:3",
        }
    }
}

impl Pods {
    /// The drawing, for a page or for [a file](crate::plot::standalone).
    pub fn svg(&self) -> String {
        let sample =
            |mark: LinkMark| format!("<path class=\"curve\" d=\"M0 0H26\" style=\"{}\"/>", mark.style());
        let entries = LinkMark::ALL.map(|mark| Entry { name: mark.name().to_owned(), sample: sample(mark) });
        let legend = Legend::new(entries.into(), WIDTH - 2.0 * LEFT);
        let first = 42.0 + legend.height + 14.0;
        let height = |pod: &Pod| 34.0 + STUB + ROW * pod.tiers.len().saturating_sub(1) as f64 + 40.0;
        let all: f64 = self.pods.iter().map(height).sum();
        let mut svg = open(&self.title, &self.description, WIDTH, first + all + 6.0);
        legend.draw(&mut svg, LEFT, 42.0);
        let mut top = first;
        for pod in &self.pods {
            pod.draw(&mut svg, top);
            top += height(pod);
        }
        svg.push_str("</svg>\n");
        svg
    }
}

impl Pod {
    fn draw(&self, svg: &mut String, top: f64) {
        let name = elide_middle(&self.name, 90);
        let (x, y, text) = (Coord(LEFT), Coord(top + 14.0), Escaped(&name));
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" font-weight=\"600\">{text}</text>");
        let mut links: Vec<&PodLink> = self.links.iter().collect();
        // Links that need attention are drawn last.
        links.sort_by_key(|link| link.mark);
        for link in links {
            self.draw_link(svg, top, link);
        }
        for (tier, row) in self.tiers.iter().enumerate() {
            for (place, switch) in row.iter().enumerate() {
                let (x, y) = self.at(top, (tier, place));
                draw_switch(svg, x, y, switch, row.len());
            }
        }
    }

    fn draw_link(&self, svg: &mut String, top: f64, link: &PodLink) {
        let (x, y) = self.at(top, link.from);
        let (to_x, to_y) = if let Some(to) = link.to { self.at(top, to) } else { self.outside(top, link) };
        let _ = writeln!(
            svg,
            "<path d=\"M{} {}L{} {}\" style=\"fill:none;{}\"><title>{}</title></path>",
            Coord(x),
            Coord(y),
            Coord(to_x),
            Coord(to_y),
            link.mark.style(),
            Escaped(&link.note)
        );
    }

    /// End of a link that leaves the pod: spread out, so that several links of one switch are visible.
    fn outside(&self, top: f64, link: &PodLink) -> (f64, f64) {
        let (x, y) = self.at(top, link.from);
        let is_beside = |other: &&PodLink| other.to.is_none() && other.from == link.from;
        let beside: Vec<_> = self.links.iter().filter(is_beside).collect();
        let place = beside.iter().position(|other| std::ptr::eq(*other, link)).unwrap_or(0);
        let spread = (WIDTH / self.tiers[link.from.0].len() as f64 * 0.8).min(150.0);
        let step = spread / beside.len().max(1) as f64;
        (x + (place as f64 + 0.5) * step - spread / 2.0, y - STUB)
    }

    fn at(&self, top: f64, (tier, place): (usize, usize)) -> (f64, f64) {
        let step = (WIDTH - 2.0 * LEFT) / self.tiers[tier].len() as f64;
        let below = (self.tiers.len() - 1 - tier) as f64;
        (LEFT + step * (place as f64 + 0.5), top + 34.0 + STUB + ROW * below)
    }
}

fn draw_switch(svg: &mut String, x: f64, y: f64, switch: &PodSwitch, row_len: usize) {
    let fill = if switch.is_short { "var(--bad)" } else { "var(--ink)" };
    let _ = writeln!(
        svg,
        "<circle cx=\"{}\" cy=\"{}\" r=\"5\" style=\"fill:{fill}\"><title>{}: {}</title></circle>",
        Coord(x),
        Coord(y),
        Escaped(&switch.name),
        Escaped(&switch.note)
    );
    // Names of many switches would overlap; the tooltip still has them.
    if row_len <= 8 || switch.is_short {
        let (x, y, text) = (Coord(x), Coord(y + 20.0), Escaped(&elide_middle(&switch.name, NAMES_CHARS)));
        let _ = writeln!(
            svg,
            "<text class=\"note halo\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::tests::assert_balanced;

    #[test]
    fn links_have_the_style_of_their_state_and_names_are_escaped() {
        let switch = |name: &str| PodSwitch {
            name: name.to_owned(),
            note: "2 of 4".to_owned(),
            is_short: name == "<t>",
        };
        let link = |to, mark| PodLink { from: (0, 0), to, note: "a & b".to_owned(), mark };
        let pod = Pod {
            name: "pod".to_owned(),
            tiers: vec![vec![switch("<t>")], vec![switch("f")]],
            links: vec![
                link(Some((1, 0)), LinkMark::Drain),
                PodLink { from: (1, 0), ..link(None, LinkMark::Keep) },
            ],
        };
        let svg = Pods { title: "Pods".to_owned(), description: "of two".to_owned(), pods: vec![pod] }.svg();
        assert_balanced(&svg);
        assert!(svg.contains("&lt;t&gt;") && svg.contains("a &amp; b"));
        assert_eq!(svg.matches("var(--c2)").count(), 2, "once in the legend, once in the drawing");
        assert!(svg.contains("fill:var(--bad)"));
    }
}
