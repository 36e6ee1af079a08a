//! A trace for ui.perfetto.dev: hosts and links as tracks, packets as slices, arrows from a lost packet to the timer
//! and to the retransmission, and counters of queues and windows.

mod arrows;
mod events;
mod protobuf;

use std::collections::{BTreeMap, BTreeSet};

use wiremend_measure::{Fate, FlowTrace, TraceEvent, TracePacket, TraceRecord};
use wiremend_units::{NodeId, Time};

use crate::ladder::labels;
use arrows::Arrows;
use events::{Event, TraceFile, Track, Unit};

/// One direction of a link: its two ends.
type Lane = (NodeId, NodeId);

/// Returns the trace in the protobuf format of Perfetto; `name` returns the name of a node.
pub fn perfetto_trace(title: &str, trace: &FlowTrace, name: impl Fn(NodeId) -> String) -> Vec<u8> {
    let timeline = Timeline::new(trace, &name);
    let mut file = TraceFile::default();
    let tracks = Tracks::new(&timeline);
    tracks.describe(&mut file, title, &name);
    let mut events = timeline.events;
    events.sort_by_key(|(at, ..)| *at);
    for (at, place, event) in &events {
        file.event(*at, tracks.track(*place), event);
    }
    file.into_bytes()
}

/// Where an event is drawn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Node(NodeId),
    Lane(Lane),
    /// Bytes that wait for a lane.
    Queue(Lane),
    /// Packets of the flow that are on their way.
    InFlight,
    /// The window that congestion control allows.
    Window,
}

/// The events of a trace.
struct Timeline {
    requester: NodeId,
    events: Vec<(Time, Place, Event)>,
}

impl Timeline {
    fn new(trace: &FlowTrace, name: &impl Fn(NodeId) -> String) -> Self {
        let requester = trace.records.first().map_or(NodeId(0), |record| record.node);
        let mut timeline = Self { requester, events: Vec::new() };
        let mut arrows = Arrows::new(trace, requester);
        let mut queues = Queues::default();
        let own = trace.records.iter().map(|record| (record, true));
        let mut all: Vec<(&TraceRecord, bool)> =
            own.chain(trace.others.iter().map(|record| (record, false))).collect();
        all.sort_by_key(|(record, _)| record.time);
        for (record, is_own) in all {
            match &record.event {
                TraceEvent::Sent { packet, to, arrive, wire, fate, .. } => {
                    let lane = (record.node, *to);
                    queues.on_sent(record.time, lane, packet, (*arrive, *fate));
                    let arrow = is_own.then(|| arrows.of_packet(record, packet, *fate)).flatten();
                    timeline.slice(
                        record.time,
                        lane,
                        record.time + *wire,
                        slice(packet, *fate, is_own, arrow, name),
                    );
                    if is_own {
                        timeline.count_in_flight(trace.hosts, record, *to, *arrive, *fate);
                    }
                }
                TraceEvent::Window { packets } => {
                    let shown = Event::Counter(u64::from(*packets));
                    timeline.events.push((record.time, Place::Window, shown));
                }
                event => {
                    if let Some((name, _)) = labels::note(event) {
                        let arrow = arrows.of_event(record);
                        let place = Place::Node(record.node);
                        timeline.events.push((record.time, place, Event::Instant { name, arrow }));
                    }
                }
            }
        }
        timeline.events.append(&mut queues.counters());
        timeline.add_up_in_flight();
        timeline
    }

    fn slice(&mut self, from: Time, lane: Lane, until: Time, begin: Event) {
        self.events.push((from, Place::Lane(lane), begin));
        self.events.push((until, Place::Lane(lane), Event::End));
    }

    /// Counts a packet when it leaves a host, and when it arrives at one or is lost. `u64::MAX` counts down, until the
    /// changes are added up.
    fn count_in_flight(&mut self, hosts: u32, record: &TraceRecord, to: NodeId, arrive: Time, fate: Fate) {
        if record.node.0 < hosts {
            self.events.push((record.time, Place::InFlight, Event::Counter(1)));
        }
        if to.0 < hosts || fate != Fate::Pass {
            self.events.push((arrive, Place::InFlight, Event::Counter(u64::MAX)));
        }
    }

    fn add_up_in_flight(&mut self) {
        self.events.sort_by_key(|(at, ..)| *at);
        let mut in_flight = 0_u64;
        for (_, _, event) in self.events.iter_mut().filter(|(_, place, _)| *place == Place::InFlight) {
            if let Event::Counter(value) = event {
                in_flight = if *value == u64::MAX { in_flight.saturating_sub(1) } else { in_flight + *value };
                *value = in_flight;
            }
        }
    }
}

/// The slice of a packet on a link.
fn slice(
    packet: &TracePacket,
    fate: Fate,
    is_own: bool,
    arrow: Option<events::Arrow>,
    name: &impl Fn(NodeId) -> String,
) -> Event {
    let ends = [packet.src, packet.dst].map(|host| name(NodeId(host.0)));
    let lost = match fate {
        Fate::Pass => "",
        Fate::Corrupt => " ✗ corrupted",
        Fate::Failed => " ✗ lost on a failed link",
    };
    let again = if packet.retransmission { " again" } else { "" };
    Event::Begin {
        name: format!("{}{again}{lost}", labels::label(packet)),
        category: if is_own { "flow" } else { "other" },
        notes: vec![("from", ends[0].clone()), ("to", ends[1].clone()), ("bytes", packet.bytes.to_string())],
        arrow,
    }
}

/// Bytes that wait for each lane, from the arrivals of frames at a switch and their departures.
#[derive(Default)]
struct Queues {
    /// Arrivals of frames at a node that have not left it.
    arrived: BTreeMap<(NodeId, u32, u16, u32), Time>,
    /// By lane and time: bytes that were added and removed.
    changes: BTreeMap<Lane, BTreeMap<Time, i64>>,
}

impl Queues {
    fn on_sent(&mut self, start: Time, lane: Lane, packet: &TracePacket, (arrive, fate): (Time, Fate)) {
        let key = |node| (node, packet.src.0, packet.number, packet.psn.get());
        if let Some(since) = self.arrived.remove(&key(lane.0)).filter(|since| *since < start) {
            let changes = self.changes.entry(lane).or_default();
            *changes.entry(since).or_default() += i64::from(packet.bytes);
            *changes.entry(start).or_default() -= i64::from(packet.bytes);
        }
        if fate == Fate::Pass {
            self.arrived.insert(key(lane.1), arrive);
        }
    }

    fn counters(&self) -> Vec<(Time, Place, Event)> {
        let mut counters = Vec::new();
        for (lane, changes) in &self.changes {
            let mut bytes = 0;
            for (at, change) in changes {
                bytes += change;
                let shown = Event::Counter(u64::try_from(bytes).unwrap_or(0));
                counters.push((*at, Place::Queue(*lane), shown));
            }
        }
        counters
    }
}

/// The numbers of tracks.
struct Tracks {
    numbers: BTreeMap<Place, u64>,
    requester: NodeId,
}

const HOSTS: Track = Track(1);
const LINKS: Track = Track(2);
const QUEUES: Track = Track(3);
/// First number of the tracks below them.
const FIRST: u64 = 16;

impl Tracks {
    fn new(timeline: &Timeline) -> Self {
        let places: BTreeSet<Place> = timeline.events.iter().map(|(_, place, _)| *place).collect();
        let numbers = places.into_iter().zip(FIRST..).collect();
        Self { numbers, requester: timeline.requester }
    }

    fn track(&self, place: Place) -> Track {
        Track(self.numbers[&place])
    }

    fn describe(&self, file: &mut TraceFile, title: &str, name: &impl Fn(NodeId) -> String) {
        file.group(HOSTS, 1, &format!("hosts and switches: {title}"));
        file.group(LINKS, 2, "links");
        file.group(QUEUES, 3, "queues");
        let between = |lane: &Lane| format!("{} → {}", name(lane.0), name(lane.1));
        for (place, number) in &self.numbers {
            let track = Track(*number);
            match place {
                Place::Node(node) => file.track(track, Some(HOSTS), *number, &name(*node)),
                Place::Lane(lane) => file.track(track, Some(LINKS), *number, &between(lane)),
                Place::Queue(lane) => {
                    file.counter(track, QUEUES, *number, &format!("queue {}", between(lane)), Unit::Bytes);
                }
                Place::InFlight => {
                    let what = format!("packets in flight, flow of {}", name(self.requester));
                    file.counter(track, HOSTS, 1, &what, Unit::Count);
                }
                Place::Window => {
                    let what = format!("window, flow of {}", name(self.requester));
                    file.counter(track, HOSTS, 2, &what, Unit::Count);
                }
            }
        }
    }
}
