//! Track events and their tracks, as `TracePacket`s of the Perfetto schema
//! (`protos/perfetto/trace/trace_packet.proto`, `track_event.proto`, `track_descriptor.proto`).

use wiremend_units::Time;

use super::protobuf::Message;

/// A track: a line of the viewer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Track(pub(super) u64);

/// An event on a track.
pub(super) enum Event {
    Begin { name: String, category: &'static str, notes: Vec<(&'static str, String)>, arrow: Option<Arrow> },
    End,
    Instant { name: String, arrow: Option<Arrow> },
    Counter(u64),
}

/// An event that arrows connect with others of the same number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Arrow {
    pub(super) number: u64,
    pub(super) is_last: bool,
}

/// Unit of a counter.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    Count = 2,
    Bytes = 3,
}

/// All packets come from one writer.
const SEQUENCE: u64 = 1;

/// A trace under construction.
#[derive(Default)]
pub(super) struct TraceFile {
    trace: Message,
}

impl TraceFile {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.trace.into_bytes()
    }

    /// Adds a track with its place among those of the same parent.
    pub(super) fn track(&mut self, track: Track, parent: Option<Track>, rank: u64, name: &str) {
        self.descriptor(&described(track, parent, name).varint(12, rank));
    }

    /// Adds a track whose children are in the order of their ranks.
    pub(super) fn group(&mut self, track: Track, rank: u64, name: &str) {
        const EXPLICIT: u64 = 3;
        self.descriptor(&described(track, None, name).varint(11, EXPLICIT).varint(12, rank));
    }

    pub(super) fn counter(&mut self, track: Track, parent: Track, rank: u64, name: &str, unit: Unit) {
        let counter = Message::default().varint(3, unit as u64);
        self.descriptor(&described(track, Some(parent), name).message(8, &counter).varint(12, rank));
    }

    fn descriptor(&mut self, descriptor: &Message) {
        let packet = Message::default().message(60, descriptor).varint(10, SEQUENCE);
        self.push(&packet);
    }

    /// Adds an event. Perfetto has nanoseconds; picoseconds are rounded down.
    pub(super) fn event(&mut self, at: Time, track: Track, event: &Event) {
        const BEGIN: u64 = 1;
        const END: u64 = 2;
        const INSTANT: u64 = 3;
        const COUNTER: u64 = 4;
        let of_type = |number: u64| Message::default().varint(9, number).varint(11, track.0);
        let event = match event {
            Event::Begin { name, category, notes, arrow } => {
                let named = of_type(BEGIN).text(22, category).text(23, name);
                let noted = notes.iter().fold(named, |event, (name, value)| {
                    event.message(4, &Message::default().text(10, name).text(6, value))
                });
                with_arrow(noted, *arrow)
            }
            Event::End => of_type(END),
            Event::Instant { name, arrow } => with_arrow(of_type(INSTANT).text(23, name), *arrow),
            Event::Counter(value) => of_type(COUNTER).varint(30, *value),
        };
        let packet = Message::default().varint(8, at.as_ns()).message(11, &event).varint(10, SEQUENCE);
        self.push(&packet);
    }

    fn push(&mut self, packet: &Message) {
        self.trace = std::mem::take(&mut self.trace).message(1, packet);
    }
}

fn described(track: Track, parent: Option<Track>, name: &str) -> Message {
    let named = Message::default().varint(1, track.0).text(2, name);
    match parent {
        Some(parent) => named.varint(5, parent.0),
        None => named,
    }
}

fn with_arrow(event: Message, arrow: Option<Arrow>) -> Message {
    match arrow {
        None => event,
        Some(Arrow { number, is_last: false }) => event.fixed64(47, number),
        Some(Arrow { number, is_last: true }) => event.fixed64(48, number),
    }
}
