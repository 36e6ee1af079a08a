//! A ladder diagram as SVG.

use std::fmt::Write as _;

use wiremend_measure::{Fate, PacketKind, TraceEvent, TracePacket, TraceRecord};
use wiremend_units::Time;

use super::labels::{self, Emphasis};
use super::lanes::Lanes;
use super::selection::Step;
use super::timeline::{Break, Timeline};
use crate::human;
use crate::markup::{Coord, Escaped, elide_middle};
use crate::plot::drawing::{Entry, Legend, open};

/// Width of the times at the left, in pixels.
const TIMES_WIDTH: f64 = 92.0;
/// Width of the notes at each side of the lanes, in pixels.
const NOTES_WIDTH: f64 = 236.0;
/// Height of a line of text, in pixels.
const LINE: f64 = 15.0;

pub(super) fn draw(title: &str, lanes: &Lanes, steps: &[Step]) -> String {
    let records: Vec<TraceRecord> = numbered(steps).map(|(_, record)| record).collect();
    let gap = (640.0 / lanes.len().saturating_sub(1).max(1) as f64).clamp(230.0, 420.0);
    let left = TIMES_WIDTH + NOTES_WIDTH;
    let width = left + gap * lanes.len().saturating_sub(1) as f64 + NOTES_WIDTH;
    let legend = Legend::new(entries(&records), width - 32.0);
    let head = 42.0 + legend.height + 34.0;
    let timeline = Timeline::new(steps);
    let height = head + 18.0 + timeline.end() + 40.0;
    let description = format!("Ladder of {} events between {} nodes.", records.len(), lanes.len());
    let mut canvas = Canvas {
        svg: open(title, &description, width, height),
        left,
        gap,
        top: head + 18.0,
        bottom: height - 12.0,
        lanes,
        timeline: &timeline,
    };
    legend.draw(&mut canvas.svg, 16.0, 42.0);
    canvas.draw_lanes(head);
    for cut in &timeline.breaks {
        canvas.draw_break(cut);
    }
    // Arrows first, so that labels are on top.
    for (number, record) in numbered(steps) {
        canvas.draw_step(number, |canvas| canvas.draw_arrow(&record));
    }
    for record in &records {
        canvas.draw_label(record);
    }
    for (number, record) in numbered(steps) {
        let (x, y) = (canvas.x(lanes.position(record.node)), canvas.y(record.time));
        canvas.draw_step(number, |canvas| canvas.draw_mark(&record.event, x, y));
    }
    canvas.draw_notes(&records);
    canvas.draw_times(&records);
    canvas.svg.push_str("</svg>\n");
    canvas.svg
}

/// The records with their numbers in the trace.
fn numbered(steps: &[Step]) -> impl Iterator<Item = (usize, TraceRecord)> {
    let mut next = 0;
    steps.iter().filter_map(move |step| match step {
        Step::Record(record) => {
            next += 1;
            Some((next - 1, *record))
        }
        Step::Elided { count, .. } => {
            next += count;
            None
        }
    })
}

struct Canvas<'a> {
    svg: String,
    left: f64,
    gap: f64,
    top: f64,
    bottom: f64,
    lanes: &'a Lanes,
    timeline: &'a Timeline,
}

/// One packet on one link, with the coordinates of both ends.
struct Arrow {
    from: (f64, f64),
    to: (f64, f64),
    packet: TracePacket,
    fate: Fate,
    from_end: bool,
}

impl Canvas<'_> {
    fn x(&self, lane: usize) -> f64 {
        self.left + self.gap * lane as f64
    }

    fn y(&self, time: Time) -> f64 {
        self.top + self.timeline.place(time)
    }

    fn draw_lanes(&mut self, head: f64) {
        for (i, name) in self.lanes.names().iter().enumerate() {
            let (x, bottom) = (Coord(self.x(i)), Coord(self.bottom));
            let name = elide_middle(name, (self.gap / 8.0) as usize);
            let (y, top, text) = (Coord(head), Coord(head - 8.0), Escaped(&name));
            let _ = writeln!(
                self.svg,
                "<path class=\"axis\" d=\"M{x} {y}V{bottom}\"/><text x=\"{x}\" y=\"{top}\" text-anchor=\"middle\" \
                 font-weight=\"600\">{text}</text>"
            );
        }
    }

    /// Draws a record as one element with its number, so that a page can emphasise it.
    fn draw_step(&mut self, number: usize, draw: impl FnOnce(&mut Self)) {
        let start = self.svg.len();
        let _ = write!(self.svg, "<g data-step=\"{number}\">");
        let content = self.svg.len();
        draw(self);
        if self.svg.len() == content {
            self.svg.truncate(start);
        } else {
            self.svg.push_str("</g>\n");
        }
    }

    /// Draws a band across all lanes, labelled with the time that it replaces.
    fn draw_break(&mut self, cut: &Break) {
        let y = self.top + cut.place;
        let (first, last) = (self.x(0) - 14.0, self.x(self.lanes.len().saturating_sub(1)) + 14.0);
        let span = human::time_ns(cut.span.as_ps() as f64 / 1e3);
        let text = match cut.elided {
            0 => format!("≈ {span}"),
            n => format!("{} records not drawn · {span}", human::count(n as u64)),
        };
        let (x, top, width) = (Coord(first), Coord(y - 10.0), Coord(last - first));
        let _ = writeln!(
            self.svg,
            "<rect class=\"ground\" x=\"{x}\" y=\"{top}\" width=\"{width}\" height=\"20\"/>"
        );
        for y in [y - 10.0, y + 10.0] {
            let (x, y, right) = (Coord(first), Coord(y), Coord(last));
            let _ =
                writeln!(self.svg, "<path class=\"axis\" stroke-dasharray=\"3 4\" d=\"M{x} {y}H{right}\"/>");
        }
        let (x, y) = (Coord(f64::midpoint(first, last)), Coord(y + 4.5));
        let _ = writeln!(self.svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>");
    }

    fn arrow(&self, record: &TraceRecord) -> Option<Arrow> {
        let TraceEvent::Sent { packet, to, arrive, fate, .. } = record.event else { return None };
        let (from, to) = (self.lanes.position(record.node), self.lanes.position(to));
        Some(Arrow {
            from: (self.x(from), self.y(record.time)),
            to: (self.x(to), self.y(arrive)),
            packet,
            fate,
            from_end: self.lanes.is_end(from),
        })
    }

    fn draw_arrow(&mut self, record: &TraceRecord) {
        let Some(arrow) = self.arrow(record) else { return };
        // The arrow of a corrupted packet ends on the way.
        let reach = if arrow.fate == Fate::Pass { 1.0 } else { 0.72 };
        let end = along(arrow.from, arrow.to, reach);
        let dashes = match (arrow.packet.retransmission, arrow.packet.kind) {
            (true, _) => " stroke-dasharray=\"6 3\"",
            (false, PacketKind::Dummy) => " stroke-dasharray=\"2 3\"",
            (false, _) => "",
        };
        let (colour, width) = look(arrow.packet.kind);
        let (x0, y0, x1, y1) = (Coord(arrow.from.0), Coord(arrow.from.1), Coord(end.0), Coord(end.1));
        let title = Escaped(arrow.packet.name);
        let _ = write!(
            self.svg,
            "<path d=\"M{x0} {y0}L{x1} {y1}\" stroke=\"{colour}\" stroke-width=\"{width}\" fill=\"none\"{dashes}>\
             <title>{title} {} at {}</title></path>",
            arrow.packet.psn, record.time
        );
        if arrow.fate == Fate::Pass {
            let angle = (end.1 - arrow.from.1).atan2(end.0 - arrow.from.0).to_degrees();
            let _ = writeln!(
                self.svg,
                "<path transform=\"translate({x1},{y1}) rotate({})\" d=\"M0 0l-9 3.5v-7z\" style=\"fill:{colour}\"/>",
                Coord(angle)
            );
        } else {
            cross(&mut self.svg, end);
        }
    }

    /// Draws the name of a packet along its arrow: on its first link and where it is corrupted, not on every
    /// hop.
    fn draw_label(&mut self, record: &TraceRecord) {
        let Some(arrow) = self.arrow(record) else { return };
        if !arrow.from_end && arrow.fate == Fate::Pass {
            return;
        }
        let rightward = arrow.to.0 > arrow.from.0;
        let (low, high) = if rightward { (arrow.from, arrow.to) } else { (arrow.to, arrow.from) };
        let angle = (high.1 - low.1).atan2(high.0 - low.0).to_degrees();
        let place = along(arrow.from, arrow.to, 0.06);
        let (anchor, (colour, _)) = (if rightward { "start" } else { "end" }, look(arrow.packet.kind));
        let suffix = if arrow.packet.retransmission { " (retx)" } else { "" };
        let _ = writeln!(
            self.svg,
            "<text class=\"halo\" transform=\"translate({},{}) rotate({})\" y=\"-4\" text-anchor=\"{anchor}\" \
             font-size=\"11\" style=\"fill:{colour}\">{}{suffix}</text>",
            Coord(place.0),
            Coord(place.1),
            Coord(angle),
            Escaped(&labels::label(&arrow.packet))
        );
    }

    /// Draws labels of marks beside the outer lanes, below each other.
    fn draw_notes(&mut self, records: &[TraceRecord]) {
        let mut free_from = [f64::NEG_INFINITY; 3];
        let mut last_gap = None;
        for record in records {
            if matches!(record.event, TraceEvent::Sent { .. }) {
                continue;
            }
            let lane = self.lanes.position(record.node);
            let (x, y) = (self.x(lane), self.y(record.time));
            let is_repeated = match record.event {
                TraceEvent::Gap { expected, .. } => last_gap.replace(expected) == Some(expected),
                _ => false,
            };
            let Some((note, emphasis)) = labels::note(&record.event).filter(|_| !is_repeated) else {
                continue;
            };
            let (side, anchor, offset) = match lane {
                0 => (0, "end", -12.0),
                lane if lane + 1 == self.lanes.len() => (1, "start", 12.0),
                _ => (2, "start", 10.0),
            };
            let at = (y + 4.0).max(free_from[side]);
            free_from[side] = at + LINE;
            let style = match emphasis {
                Emphasis::Plain => "",
                Emphasis::Hint => " style=\"fill:var(--hint)\"",
                Emphasis::Bad => " font-weight=\"600\" style=\"fill:var(--bad)\"",
            };
            let (x, y, text) = (Coord(x + offset), Coord(at), Escaped(&note));
            let _ = writeln!(
                self.svg,
                "<text class=\"halo\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-size=\"12\"{style}>{text}</text>"
            );
        }
    }

    fn draw_mark(&mut self, event: &TraceEvent, x: f64, y: f64) {
        let (x, y) = (Coord(x), Coord(y));
        let _ = match event {
            TraceEvent::Sent { .. } | TraceEvent::Paced { .. } | TraceEvent::Window { .. } => Ok(()),
            TraceEvent::Accepted { .. } => writeln!(self.svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"3.5\"/>"),
            TraceEvent::Dropped { .. } => {
                cross(&mut self.svg, (x.0, y.0));
                Ok(())
            }
            TraceEvent::Duplicate { .. } | TraceEvent::Gap { .. } => writeln!(
                self.svg,
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"3.5\" stroke=\"var(--ink)\" stroke-width=\"1.2\" style=\"fill:var(--ground)\"/>"
            ),
            TraceEvent::TimerFired { .. } | TraceEvent::Failed { .. } => {
                writeln!(self.svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"5.5\" style=\"fill:var(--bad)\"/>")
            }
            TraceEvent::NakSent { .. } | TraceEvent::Rewound { .. } => {
                writeln!(self.svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"4.5\" style=\"fill:var(--hint)\"/>")
            }
            TraceEvent::Posted { .. } | TraceEvent::Completed => {
                writeln!(self.svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"5\"/>")
            }
        };
    }

    /// Draws times since the first record at the left side, where they do not overlap.
    fn draw_times(&mut self, records: &[TraceRecord]) {
        let Some(first) = records.first() else { return };
        let mut free_from = f64::NEG_INFINITY;
        for record in records {
            let y = self.y(record.time) + 4.0;
            if y < free_from {
                continue;
            }
            free_from = y + LINE;
            let since = |earlier: Time| record.time.since(earlier).as_ps();
            let since = labels::time(since(first.time), self.timeline.resumed(record.time).map(since));
            let (x, y) = (Coord(TIMES_WIDTH - 16.0), Coord(y));
            let _ = writeln!(
                self.svg,
                "<text class=\"note\" x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{since}</text>"
            );
        }
    }
}

/// Legend entries for the packet kinds that occur, and for retransmissions and corruption.
fn entries(records: &[TraceRecord]) -> Vec<Entry> {
    let sent = || {
        records.iter().filter_map(|record| match record.event {
            TraceEvent::Sent { packet, fate, .. } => Some((packet, fate)),
            _ => None,
        })
    };
    let mut entries = Vec::new();
    for kind in [PacketKind::Data, PacketKind::Dummy, PacketKind::Ack, PacketKind::Nak, PacketKind::Control] {
        if sent().any(|(packet, _)| packet.kind == kind) {
            let (colour, width) = look(kind);
            let dashes = if kind == PacketKind::Dummy { " stroke-dasharray=\"2 3\"" } else { "" };
            let sample =
                format!("<path d=\"M0 0H26\" stroke=\"{colour}\" stroke-width=\"{width}\"{dashes}/>");
            entries.push(Entry { name: labels::kind(kind).to_owned(), sample });
        }
    }
    if sent().any(|(packet, _)| packet.retransmission) {
        let sample =
            "<path d=\"M0 0H26\" stroke=\"var(--ink)\" stroke-width=\"1.6\" stroke-dasharray=\"6 3\"/>";
        entries.push(Entry { name: "retransmission".to_owned(), sample: sample.to_owned() });
    }
    for (lost, name) in [(Fate::Corrupt, "corrupted"), (Fate::Failed, "lost on a failed link")] {
        if sent().any(|(_, fate)| fate == lost) {
            let mut sample = String::new();
            cross(&mut sample, (13.0, 0.0));
            entries.push(Entry { name: name.to_owned(), sample });
        }
    }
    entries
}

/// Colour and width of a kind's arrows.
const fn look(kind: PacketKind) -> (&'static str, f64) {
    match kind {
        PacketKind::Data => ("var(--c0)", 1.6),
        PacketKind::Ack => ("var(--c2)", 1.2),
        PacketKind::Nak => ("var(--hint)", 2.4),
        PacketKind::Dummy => ("var(--c3)", 1.6),
        PacketKind::Control => ("var(--faint)", 1.2),
    }
}

fn cross(svg: &mut String, at: (f64, f64)) {
    let (x, y) = (Coord(at.0), Coord(at.1));
    let _ = writeln!(
        svg,
        "<path transform=\"translate({x},{y})\" d=\"M-6-6L6 6M-6 6L6-6\" stroke=\"var(--bad)\" stroke-width=\"3\" fill=\"none\"/>"
    );
}

fn along(from: (f64, f64), to: (f64, f64), part: f64) -> (f64, f64) {
    (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part)
}
