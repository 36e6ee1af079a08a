//! The steps of a trace as JSON.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use wiremend_measure::{
    Breakdown, Fate, FlowTrace, TimePart, TimeoutCause, TraceEvent, TracePacket, TraceRecord,
};
use wiremend_units::{NodeId, Span, Time};

use crate::ladder::labels;

/// The steps of a flow: what happened at one node at one time. A packet that waited before it was sent says how long
/// for what; if the trace has frames of other connections, also behind how many frames.
pub fn trace_steps(trace: &FlowTrace, name: impl Fn(NodeId) -> String) -> Vec<Value> {
    let waits = Breakdown::waits(trace);
    let lanes = Lanes::new(trace);
    let steps = trace.records.iter().enumerate().map(|(number, record)| {
        let mut step = step(record, &name);
        if let Some(waited) = waits.get(&number).filter(|waited| waited.total().as_ps() > 0) {
            step.insert("waited_ps".to_owned(), parts_json(waited.longest_first()));
            lanes.add_frames_before(&mut step, record, waited);
        }
        Value::Object(step)
    });
    steps.collect()
}

/// All parts of a flow's time, in picoseconds.
pub fn breakdown_json(breakdown: &Breakdown) -> Value {
    parts_json(TimePart::ALL.map(|part| (part, breakdown.get(part))))
}

fn parts_json(parts: impl IntoIterator<Item = (TimePart, Span)>) -> Value {
    let parts = parts.into_iter().map(|(part, span)| (part.key().to_owned(), span.as_ps().into()));
    Value::Object(parts.collect())
}

/// When each direction of a link began and ended to send each frame, in order.
type Sent = BTreeMap<(NodeId, NodeId), Vec<(Time, Time)>>;

struct Lanes {
    own: Sent,
    /// `None` if the trace was not asked for them or does not hold all.
    others: Option<Sent>,
}

impl Lanes {
    fn new(trace: &FlowTrace) -> Self {
        let has_others = !trace.others.is_empty() && trace.others_left_out == 0;
        Self { own: sent(&trace.records), others: has_others.then(|| sent(&trace.others)) }
    }

    /// Adds how many frames the port sent while a packet was queued.
    fn add_frames_before(&self, step: &mut Map<String, Value>, record: &TraceRecord, waited: &Breakdown) {
        let TraceEvent::Sent { to, .. } = record.event else { return };
        let queued = waited.get(TimePart::Queueing) + waited.get(TimePart::Pauses);
        let (Some(others), true) = (&self.others, queued.as_ps() > 0) else { return };
        let from = Time::from_ps(record.time.as_ps() - waited.total().as_ps());
        let count = |lanes: &Sent| {
            lanes.get(&(record.node, to)).map_or(0, |frames| {
                let begun = frames.partition_point(|(start, _)| *start < record.time);
                begun - frames[..begun].partition_point(|(_, end)| *end <= from)
            })
        };
        step.insert("behind".to_owned(), json!({ "own": count(&self.own), "others": count(others) }));
    }
}

fn sent(records: &[TraceRecord]) -> Sent {
    let mut lanes = Sent::new();
    for record in records {
        if let TraceEvent::Sent { to, wire, .. } = record.event {
            lanes.entry((record.node, to)).or_default().push((record.time, record.time + wire));
        }
    }
    for frames in lanes.values_mut() {
        frames.sort_unstable();
    }
    lanes
}

/// Renders a step as JSON.
fn step(record: &TraceRecord, name: &impl Fn(NodeId) -> String) -> Map<String, Value> {
    let packet = |packet: &TracePacket| json!({ "name": packet.name, "psn": packet.psn.get(), "retransmission": packet.retransmission, "number": packet.number });
    let (what, details) = match &record.event {
        TraceEvent::Posted { bytes } => ("posted", json!({ "bytes": bytes })),
        TraceEvent::Sent { packet: sent, to, arrive, wire, fate, .. } => (
            "sent",
            json!({
                "packet": packet(sent),
                "to": name(*to),
                "wire_ps": wire.as_ps(),
                "arrive_ps": arrive.as_ps(),
                "corrupted": *fate == Fate::Corrupt,
                "lost_on_failed_link": *fate == Fate::Failed,
            }),
        ),
        TraceEvent::Dropped { packet: dropped, reason } => {
            ("dropped", json!({ "packet": packet(dropped), "why": reason.describe() }))
        }
        TraceEvent::Accepted { psn } => ("accepted", json!({ "psn": psn.get() })),
        TraceEvent::Duplicate { psn } => ("duplicate", json!({ "psn": psn.get() })),
        TraceEvent::Gap { psn, expected } => ("gap", json!({ "psn": psn.get(), "expected": expected.get() })),
        TraceEvent::NakSent { expected } => ("nak", json!({ "expected": expected.get() })),
        TraceEvent::Rewound { psn } => ("rewound", json!({ "psn": psn.get() })),
        TraceEvent::TimerFired { oldest, cause } => {
            ("timer", json!({ "oldest": oldest.get(), "cause": cause.map(TimeoutCause::key) }))
        }
        TraceEvent::Window { packets } => ("window", json!({ "packets": packets })),
        TraceEvent::Paced { until } => ("paced", json!({ "until_ps": until.as_ps() })),
        TraceEvent::Completed => ("completed", json!({})),
        TraceEvent::Failed { outcome } => ("failed", json!({ "why": outcome.reason() })),
    };
    let mut step = Map::from_iter([
        ("time_ps".to_owned(), record.time.as_ps().into()),
        ("node".to_owned(), name(record.node).into()),
        ("what".to_owned(), what.into()),
        ("text".to_owned(), text(&record.event, name).into()),
    ]);
    if let Value::Object(details) = details {
        step.extend(details);
    }
    step
}

/// The event in words, without its time and node.
fn text(event: &TraceEvent, name: &impl Fn(NodeId) -> String) -> String {
    match event {
        TraceEvent::Sent { packet, to, fate, .. } => {
            let again = if packet.retransmission { " again" } else { "" };
            let lost = match fate {
                Fate::Pass => "",
                Fate::Corrupt => "; the link corrupts it",
                Fate::Failed => "; the link has failed, and it is lost",
            };
            format!("sends {}{again} to {}{lost}", labels::label(packet), name(*to))
        }
        TraceEvent::Accepted { psn } => format!("accepts {psn}"),
        TraceEvent::Window { packets } => format!("sets its window to {packets} packets"),
        TraceEvent::Paced { until } => format!("waits because of its rate, until {until}"),
        event => labels::note(event).map(|(note, _)| note).unwrap_or_default(),
    }
}
