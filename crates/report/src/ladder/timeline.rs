//! Time without its silences.

use wiremend_measure::{TraceRecord, TraceWhat};
use wiremend_units::{Span, Time};

use super::selection::Step;

/// Places along the time axis: in proportion where packets move, cut short where nothing does.
pub(super) struct Timeline {
    /// Times at which something happens, ascending, with their places in pixels.
    instants: Vec<(Time, f64)>,
    /// The cuts, ascending.
    pub(super) breaks: Vec<Break>,
}

/// A cut in the time axis.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Break {
    /// The first instant after it.
    pub(super) until: Time,
    /// Its place.
    pub(super) place: f64,
    /// How long it was.
    pub(super) span: Span,
    /// Records in it that are not drawn; zero for a silence.
    pub(super) elided: usize,
}

/// Pixels between two packets that follow each other.
const PACKET: f64 = 24.0;
/// Pixels between two instants at least, and at most.
const STEP: std::ops::RangeInclusive<f64> = 1.5..=70.0;
/// Pixels for a cut.
const CUT: f64 = 64.0;
/// A silence is cut out when it lasts longer than this many packets.
const SILENCE_PACKETS: u64 = 8;
/// A flight is drawn at most as long as this many packets, so that arrows do not become too steep to be read along.
const FLIGHT_PACKETS: u64 = 13;

impl Timeline {
    pub(super) fn new(steps: &[Step]) -> Self {
        let records: Vec<TraceRecord> = steps.iter().filter_map(record).collect();
        let mut times: Vec<Time> =
            records.iter().flat_map(|r| [Some(r.time), arrival(r)]).flatten().collect();
        times.sort_unstable();
        times.dedup();
        let packet = packet_span(&records);
        let mut timeline = Self { instants: Vec::with_capacity(times.len()), breaks: Vec::new() };
        let mut place = 0.0;
        for (i, &time) in times.iter().enumerate() {
            if i > 0 {
                let before = times[i - 1];
                let gap = time.since(before);
                let elided = elided_at(steps, time);
                let in_flight =
                    records.iter().any(|r| r.time <= before && arrival(r).is_some_and(|at| at >= time));
                let silent = !in_flight && gap.as_ps() > packet.as_ps() * SILENCE_PACKETS;
                if elided > 0 || silent {
                    timeline.breaks.push(Break { until: time, place: place + CUT / 2.0, span: gap, elided });
                    place += CUT;
                } else {
                    let proportional = gap.as_ps() as f64 / packet.as_ps() as f64 * PACKET;
                    place += proportional.clamp(*STEP.start(), *STEP.end());
                }
            }
            timeline.instants.push((time, place));
        }
        timeline
    }

    /// The place of an instant at which something happens.
    pub(super) fn place(&self, time: Time) -> f64 {
        let found = self.instants.binary_search_by_key(&time, |&(time, _)| time);
        found.map_or(0.0, |i| self.instants[i].1)
    }

    /// The end of the last cut before `time`, if there is one.
    pub(super) fn resumed(&self, time: Time) -> Option<Time> {
        self.breaks.iter().map(|cut| cut.until).take_while(|&until| until <= time).last()
    }

    /// The place of the last instant.
    pub(super) fn end(&self) -> f64 {
        self.instants.last().map_or(0.0, |&(_, place)| place)
    }
}

fn record(step: &Step) -> Option<TraceRecord> {
    match step {
        Step::Record(record) => Some(*record),
        Step::Elided { .. } => None,
    }
}

pub(super) const fn arrival(record: &TraceRecord) -> Option<Time> {
    match record.what {
        TraceWhat::Sent { arrive, .. } => Some(arrive),
        _ => None,
    }
}

/// Records left out just before `time`.
fn elided_at(steps: &[Step], time: Time) -> usize {
    let counts = steps.iter().map(|step| match step {
        Step::Elided { count, until } if until.time == time => *count,
        _ => 0,
    });
    counts.sum()
}

/// How far apart two packets are that follow each other, or a part of a flight where that is longer: the unit of the
/// drawing. Medians, so that a timeout among them does not stretch it.
fn packet_span(records: &[TraceRecord]) -> Span {
    let sent: Vec<_> = records.iter().filter(|record| arrival(record).is_some()).collect();
    let mut last = std::collections::BTreeMap::new();
    let mut spacings = Vec::new();
    for record in &sent {
        if let Some(before) = last.insert(record.node, record.time) {
            spacings.push(record.time.since(before));
        }
    }
    let flights =
        sent.iter().filter_map(|record| Some(arrival(record)?.since(record.time) / FLIGHT_PACKETS)).collect();
    let unit = median(spacings).max(median(flights));
    if unit == Span::ZERO { Span::from_us(1) } else { unit }
}

fn median(mut spans: Vec<Span>) -> Span {
    spans.sort_unstable();
    spans.get(spans.len().saturating_sub(1) / 2).copied().unwrap_or(Span::ZERO)
}
