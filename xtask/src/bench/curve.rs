//! `cargo xtask bench scale --plot FILE`: speed by size of the network, as a drawing.

use std::fmt::Write;

use super::Pair;
use super::plan::hosts;
use super::sample::Spread;

/// A network: its hosts, and packet-hops per second on one thread and on two.
struct Point {
    hosts: f64,
    one: Spread,
    two: Spread,
}

const SIZE: (f64, f64) = (760.0, 420.0);
/// The drawing area: left, top, right, bottom.
const AREA: (f64, f64, f64, f64) = (70.0, 84.0, 736.0, 368.0);

const STYLE: &str = "\
:root{color-scheme:light dark;--ground:#fff;--ink:#1b1f24;--faint:#667;--grid:#dfe2e8;--c0:#0067a5;--c1:#d1480b}\
@media (prefers-color-scheme:dark){:root{--ground:#14171c;--ink:#e6e9ef;--faint:#98a1b0;--grid:#313844;--c0:#5db8f5;\
--c1:#ff8f5a}}text{font:13px system-ui,sans-serif;fill:var(--ink)}.title{font-size:16px;font-weight:600}\
.note{fill:var(--faint);font-size:12px}.grid{stroke:var(--grid)}.curve{fill:none;stroke-width:2}";

/// Draws the networks among the cases whose number of hosts is known; `None` if they are fewer than two.
pub(super) fn draw(pairs: &[Pair]) -> Option<String> {
    let point = |pair: &Pair| {
        let per_s = |wall: Spread| {
            let hops = pair.one.packet_hops as f64;
            Spread { median: hops / wall.median, least: hops / wall.greatest, greatest: hops / wall.least }
        };
        let [one, two] = [&pair.one, &pair.two].map(|sample| per_s(sample.spread(|usage| usage.wall_s)));
        Some(Point { hosts: f64::from(hosts(&pair.one.case)?), one, two })
    };
    let mut points: Vec<_> = pairs.iter().filter_map(point).collect();
    points.sort_by(|a, b| a.hosts.total_cmp(&b.hosts));
    (points.len() > 1).then(|| drawing(&points))
}

fn drawing(points: &[Point]) -> String {
    let greatest = points.iter().map(|point| point.one.greatest.max(point.two.greatest)).fold(0.0, f64::max);
    let top = (greatest / 10e6).ceil() * 10e6;
    let (first, last) = (points[0].hosts.ln(), points[points.len() - 1].hosts.ln());
    let x = |hosts: f64| AREA.0 + 24.0 + (hosts.ln() - first) / (last - first) * (AREA.2 - AREA.0 - 48.0);
    let y = |speed: f64| AREA.3 - speed / top * (AREA.3 - AREA.1);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" \
         aria-label=\"Packet-hops per second by number of hosts, on one thread and on two.\">\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"var(--ground)\"/>\n\
         <text class=\"title\" x=\"16\" y=\"26\">Speed of a permutation by size of the network</text>\n\
         <text class=\"note\" x=\"16\" y=\"48\">million packet-hops per second of wall time; bars: all runs</text>\n",
        w = SIZE.0,
        h = SIZE.1
    );
    let mut line = |text: String| svg.push_str(&(text + "\n"));
    for step in 0..=(top / 10e6) as u32 {
        let (value, at) = (step * 10, y(f64::from(step) * 10e6));
        line(format!("<path class=\"grid\" d=\"M{:.1} {at:.1}H{:.1}\"/>", AREA.0, AREA.2));
        line(format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
            AREA.0 - 8.0,
            at + 4.0
        ));
    }
    for (index, point) in points.iter().enumerate() {
        // Neighbours on a logarithmic axis may be close: every other label is a line lower.
        let (at, below) = (x(point.hosts), AREA.3 + 20.0 + 16.0 * (index % 2) as f64);
        line(format!("<text x=\"{at:.1}\" y=\"{below:.1}\" text-anchor=\"middle\">{}</text>", point.hosts));
    }
    line(format!(
        "<text class=\"note\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">hosts</text>",
        AREA.2,
        SIZE.1 - 8.0
    ));
    for (number, name) in ["one thread", "two threads"].into_iter().enumerate() {
        let colour = format!("var(--c{number})");
        let mut path = String::new();
        for (index, point) in points.iter().enumerate() {
            let (at, speed) = (x(point.hosts), if number == 0 { point.one } else { point.two });
            let mark = if index == 0 { 'M' } else { 'L' };
            write!(path, "{mark}{at:.1} {:.1}", y(speed.median)).expect("text grows");
            line(format!(
                "<path stroke=\"{colour}\" d=\"M{at:.1} {:.1}V{:.1}\"/><circle cx=\"{at:.1}\" cy=\"{:.1}\" r=\"3\" \
                 fill=\"{colour}\"/>",
                y(speed.least),
                y(speed.greatest),
                y(speed.median)
            ));
        }
        line(format!("<path class=\"curve\" stroke=\"{colour}\" d=\"{path}\"/>"));
        let left = AREA.0 + 140.0 * number as f64;
        line(format!("<path class=\"curve\" stroke=\"{colour}\" d=\"M{left:.1} 66h24\"/>"));
        line(format!("<text x=\"{:.1}\" y=\"70\">{name}</text>", left + 30.0));
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn higher_speeds_are_higher_up_and_larger_networks_further_right() {
        let even = |median: f64| Spread { median, least: median, greatest: median };
        let point = |hosts, speed| Point { hosts, one: even(speed), two: even(2.0 * speed) };
        let svg = drawing(&[point(16.0, 20e6), point(1024.0, 10e6)]);
        assert!(svg.contains("d=\"M94.0 226.0L712.0 297.0\""), "{svg}");
        assert!(svg.contains("d=\"M94.0 84.0L712.0 226.0\""), "{svg}");
    }
}
