//! The time axis of a ladder diagram without idle times.

use wiremend_measure::{TraceEvent, TraceRecord};
use wiremend_units::{Span, Time};

use super::selection::Step;

/// Positions along the time axis: proportional to time while packets move, cut while nothing happens.
pub(super) struct Timeline {
    /// Times of events in ascending order, with their positions in pixels.
    instants: Vec<(Time, f64)>,
    /// The cuts in ascending order.
    pub(super) breaks: Vec<Break>,
}

/// A cut in the time axis.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Break {
    /// First event after the cut.
    pub(super) until: Time,
    /// Position of the cut.
    pub(super) place: f64,
    /// Length of the cut.
    pub(super) span: Span,
    /// Records in the cut that are not drawn; zero for an idle time.
    pub(super) elided: usize,
}

/// Pixels between two consecutive packets.
const PACKET: f64 = 24.0;
/// Least and most pixels between two events.
const STEP: std::ops::RangeInclusive<f64> = 1.5..=70.0;
/// Pixels of a cut.
const CUT: f64 = 64.0;
/// An idle time longer than this many packets is cut out.
const SILENCE_PACKETS: u64 = 8;
/// Longest flight in the drawing, in packets. Steeper arrows would be hard to label.
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

    /// Position of an event.
    pub(super) fn place(&self, time: Time) -> f64 {
        let found = self.instants.binary_search_by_key(&time, |&(time, _)| time);
        found.map_or(0.0, |i| self.instants[i].1)
    }

    /// End of the last cut before `time`, if there is one.
    pub(super) fn resumed(&self, time: Time) -> Option<Time> {
        self.breaks.iter().map(|cut| cut.until).take_while(|&until| until <= time).last()
    }

    /// Position of the last event.
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
    match record.event {
        TraceEvent::Sent { arrive, .. } => Some(arrive),
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

/// Unit of the drawing: the time between two consecutive packets, or a part of a flight if that is longer.
/// Medians, because a timeout would stretch a mean.
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
