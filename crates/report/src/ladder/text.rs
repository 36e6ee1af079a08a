//! A ladder diagram as text: one line for each packet on each link.

use std::fmt::Write as _;

use wiremend_measure::{Fate, PacketKind, TraceEvent, TracePacket};
use wiremend_units::Time;

use super::labels::{self, Emphasis};
use super::lanes::Lanes;
use super::selection::Step;
use super::timeline::{Break, Timeline};
use crate::human;
use crate::markup::elide_middle;
use crate::terminal::{BOLD, DIM, RED, Terminal, YELLOW, paint};

/// Width of the time at the left, in characters.
const TIME_WIDTH: usize = 10;
/// Width of the notes right of the last lane, in characters.
const NOTES_WIDTH: usize = 28;

pub(super) fn draw(title: &str, lanes: &Lanes, steps: &[Step], terminal: Terminal) -> String {
    let room =
        terminal.width.saturating_sub(TIME_WIDTH + 2 + NOTES_WIDTH) / lanes.len().saturating_sub(1).max(1);
    let rows = Rows { lanes, gap: room.clamp(16, 32), terminal };
    let timeline = Timeline::new(steps);
    let mut breaks = timeline.breaks.iter().peekable();
    let start = steps.iter().find_map(|step| match step {
        Step::Record(record) => Some(record.time),
        Step::Elided { .. } => None,
    });
    let mut text = format!("{}\n{}\n", paint(title, BOLD, terminal), paint(&rows.headings(), BOLD, terminal));
    let mut last_gap = None;
    for step in steps {
        let Step::Record(record) = step else { continue };
        while let Some(cut) = breaks.next_if(|cut| cut.until <= record.time) {
            let _ = writeln!(text, "{}", paint(&rows.cut(cut), DIM, terminal));
        }
        // Of several out-of-order packets with the same expected PSN, only the first gets a line.
        if let TraceEvent::Gap { expected, .. } = record.event
            && last_gap.replace(expected) == Some(expected)
        {
            continue;
        }
        let since = |earlier: Time| record.time.since(earlier).as_ps();
        let lane = lanes.position(record.node);
        let row = match &record.event {
            TraceEvent::Sent { packet, to, fate, .. } => {
                Some(rows.arrow(lane, lanes.position(*to), packet, *fate))
            }
            event => labels::note(event).map(|(note, emphasis)| rows.note(lane, &note, emphasis)),
        };
        if let Some(row) = row {
            let time =
                labels::time(since(start.unwrap_or(Time::ZERO)), timeline.resumed(record.time).map(since));
            let time = format!("{time:>TIME_WIDTH$}");
            let _ = writeln!(text, "{}  {row}", paint(&time, DIM, terminal));
        }
    }
    text
}

struct Rows<'a> {
    lanes: &'a Lanes,
    gap: usize,
    terminal: Terminal,
}

impl Rows<'_> {
    fn column(&self, lane: usize) -> usize {
        lane * self.gap
    }

    /// A line with only the lanes.
    fn empty(&self, lane: char) -> Vec<char> {
        let mut row = vec![' '; self.column(self.lanes.len().saturating_sub(1)) + 1];
        for i in 0..self.lanes.len() {
            row[self.column(i)] = lane;
        }
        row
    }

    fn headings(&self) -> String {
        let mut line = " ".repeat(TIME_WIDTH + 2);
        for (i, name) in self.lanes.names().iter().enumerate() {
            let at = TIME_WIDTH + 2 + self.column(i);
            line.extend(std::iter::repeat_n(' ', at.saturating_sub(line.chars().count())));
            line.push_str(&elide_middle(name, self.gap - 2));
        }
        line
    }

    fn cut(&self, cut: &Break) -> String {
        let span = human::time_ns(cut.span.as_ps() as f64 / 1e3);
        let what = match cut.elided {
            0 => format!("≈ {span}"),
            n => format!("{} records not shown, {span}", human::count(n as u64)),
        };
        let lanes: String = self.empty('┆').into_iter().collect();
        format!("{}{lanes}  {what}", " ".repeat(TIME_WIDTH + 2))
    }

    fn note(&self, lane: usize, note: &str, emphasis: Emphasis) -> String {
        let mut row = self.empty('│');
        row[self.column(lane)] = '●';
        let from = self.column(lane) + 2;
        let mut before: String = row[..from.min(row.len())].iter().collect();
        before.extend(std::iter::repeat_n(' ', from.saturating_sub(row.len())));
        let after: String = row.iter().skip(from + note.chars().count()).collect();
        let note = match emphasis {
            Emphasis::Plain => note.to_owned(),
            Emphasis::Hint => paint(note, YELLOW, self.terminal),
            Emphasis::Bad => paint(note, RED, self.terminal),
        };
        format!("{before}{note}{after}").trim_end().to_owned()
    }

    fn arrow(&self, from: usize, to: usize, packet: &TracePacket, fate: Fate) -> String {
        let rightward = from < to;
        let (left, right) = (self.column(from.min(to)), self.column(from.max(to)));
        let mut row = self.empty('│');
        let dash = if packet.retransmission { '╌' } else { '─' };
        row[left + 1..right].fill(dash);
        row[self.column(from)] = if rightward { '├' } else { '┤' };
        let label = format!(" {} ", labels::fitted_label(packet, right - left - 7));
        let label: Vec<char> = label.chars().collect();
        // The label is at the sender's side, so that it is complete if the packet is lost.
        let at = if rightward { left + 2 } else { right - 1 - label.len() };
        row[at..at + label.len()].copy_from_slice(&label);
        match (fate, rightward) {
            (Fate::Pass, true) => row[right - 1] = '▶',
            (Fate::Pass, false) => row[left + 1] = '◀',
            (Fate::Corrupt | Fate::Failed, true) => {
                let cross = (right - 3).max(at + label.len());
                row[cross + 1..right].fill(' ');
                row[cross] = '✗';
            }
            (Fate::Corrupt | Fate::Failed, false) => {
                let cross = (left + 3).min(at - 1);
                row[left + 1..cross].fill(' ');
                row[cross] = '✗';
            }
        }
        let part = |range: std::ops::Range<usize>| row[range].iter().collect::<String>();
        let arrow = part(left..right + 1);
        let arrow = match (fate, packet.kind) {
            (Fate::Corrupt | Fate::Failed, _) => paint(&arrow, RED, self.terminal),
            (Fate::Pass, PacketKind::Nak) => paint(&arrow, YELLOW, self.terminal),
            (Fate::Pass, _) => arrow,
        };
        format!("{}{arrow}{}", part(0..left), part(right + 1..row.len()))
    }
}
