//! Ports and lanes: how a frame leaves a node and reaches the next.
//!
//! A lane's frames wait in one ring, in order, from the moment their departure is settled until they arrive; only
//! the first of them is in the event queue. A plain port (first in, first out) settles a departure when a frame is
//! handed to it: one event a hop. A scheduled port ([`Egress`]) settles it when transmission starts.

use wiremend_impair::{Fate, Impairments};
use wiremend_measure::Trims;
use wiremend_units::{Bytes, LaneId, NodeId, Rate, Span, Time};

use super::{Pool, Port, PortFlags, Ring};
use crate::event::{Queue, Source, Sources};
use crate::frame::{Frame, FrameId, Header, HeaderId, Headers, Kind, Store};
use crate::memory::prefetch;
use crate::network::Notice;
use crate::observe::{Seen, Watch};
use crate::port::{Egress, Hold, Taken, Waiting};
use crate::protect::{Guard, Loopback, Rare, Start};
use crate::switch::{Lossless, Marking, Trimming};

pub(crate) struct Wires {
    pub(crate) queue: Queue,
    pub(crate) sources: Sources,
    pub(crate) ports: Vec<Port>,
    rates: Vec<Rate>,
    rings: Vec<Ring>,
    pool: Pool,
    pub(crate) frames: Store,
    pub(crate) impairments: Vec<Option<Box<Impairments>>>,
    pub(crate) egresses: Vec<Option<Box<Egress>>>,
    /// Ends of protected links, by the lane that they send over.
    pub(crate) guards: Vec<Option<Box<Guard>>>,
    /// Loopback ports, by switch; none without the prototype.
    pub(crate) loopbacks: Vec<Option<Box<Loopback>>>,
    /// Switches that stop their neighbours before they run out of memory.
    pub(crate) lossless: Option<Box<Lossless>>,
    /// Switches that mark frames when queues are long.
    pub(crate) marking: Option<Box<Marking>>,
    /// Switches that cut packets to their headers when queues are long.
    pub(crate) trimming: Option<Box<Trimming>>,
    /// Headers of frames that are on protected links, or have just arrived over one.
    pub(crate) headers: Headers,
    /// Frames that are kept only to be sent again.
    pub(crate) kept: u64,
    /// What protected links have handed on, with the lane it came over; forwarded after each event.
    pub(crate) delivered: Vec<(LaneId, FrameId)>,
    /// What leaves for other parts, by part.
    pub(crate) outbox: Vec<Outbox>,
    /// What hosts have to tell other hosts; handed over after each event.
    pub(crate) notices: Vec<Notice>,
    pub(crate) watch: Watch,
    /// Where losses come in episodes.
    pub(crate) rare: Option<Box<Rare>>,
}

/// A frame on its way to another part, and when its last bit is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    pub(crate) lane: LaneId,
    pub(crate) at: Time,
    pub(crate) frame: Frame,
}

/// What one direction of a link counts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LaneCounters {
    /// Frames that have crossed, corrupted ones included.
    pub tx_frames: u64,
    /// Bytes of these, MAC header to FCS.
    pub tx_bytes: u64,
    /// Frames corrupted.
    pub corrupted: u64,
    /// Frames dropped for want of room before it.
    pub dropped: u64,
    /// Frames marked before it.
    pub marked: u64,
    /// What was trimmed before it.
    pub trims: Trims,
}

#[derive(Default)]
pub(crate) struct Outbox {
    pub(crate) frames: Vec<InFlight>,
    pub(crate) notices: Vec<Notice>,
    /// Ends of protected links that are to start.
    starts: Vec<Start>,
    /// Link headers of those frames that have one.
    headers: Headers,
}

impl Wires {
    pub(crate) fn new(queue: Queue, sources: Sources, parts: usize) -> Self {
        let lanes = sources.lanes();
        Self {
            queue,
            sources,
            ports: Vec::with_capacity(lanes),
            rates: Vec::with_capacity(lanes),
            rings: Vec::with_capacity(lanes),
            pool: Pool::default(),
            frames: Store::default(),
            impairments: (0..lanes).map(|_| None).collect(),
            egresses: (0..lanes).map(|_| None).collect(),
            guards: (0..lanes).map(|_| None).collect(),
            loopbacks: Vec::new(),
            lossless: None,
            marking: None,
            trimming: None,
            headers: Headers::default(),
            kept: 0,
            delivered: Vec::new(),
            outbox: (0..parts).map(|_| Outbox::default()).collect(),
            notices: Vec::new(),
            watch: Watch::default(),
            rare: None,
        }
    }

    pub(crate) fn add_port(&mut self, lane: &crate::network::Lane, to_part: Option<u16>) {
        const PS_BITS: u64 = 8 * 1_000_000_000_000;
        let bits_per_s = lane.rate.bits_per_s();
        let whole =
            PS_BITS.is_multiple_of(bits_per_s).then(|| u32::try_from(PS_BITS / bits_per_s).ok()).flatten();
        self.rings.push(Ring::new(lane.to, lane.ingress));
        self.rates.push(lane.rate);
        self.ports.push(Port {
            busy_until: Time::ZERO,
            delay: lane.delay,
            dropped: 0,
            ps_per_byte: whole.unwrap_or(0),
            flags: PortFlags::new(if to_part.is_some() { PortFlags::REMOTE } else { 0 }),
            to_part: to_part.unwrap_or(0),
        });
    }

    pub(crate) fn impair(&mut self, lane: LaneId, impairments: Impairments) {
        self.ports[lane.index()].flags.set(PortFlags::IMPAIRED);
        self.impairments[lane.index()] = Some(Box::new(impairments));
    }

    pub(crate) fn set_switch(&mut self, lane: LaneId) {
        self.ports[lane.index()].flags.set(PortFlags::SWITCH);
    }

    /// A lossless switch sends over the lane; `lazy`: all frames of the network are of one class.
    pub(crate) fn set_lossless(&mut self, lane: LaneId, lazy: bool) {
        self.ports[lane.index()].flags.set(PortFlags::LOSSLESS | if lazy { PortFlags::LAZY } else { 0 });
    }

    pub(crate) fn set_guarded(&mut self, lane: LaneId) {
        self.ports[lane.index()].flags.set(PortFlags::GUARDED);
    }

    /// Whether a lossless switch sends over a lane.
    #[inline]
    pub(crate) fn is_lossless(&self, lane: LaneId) -> bool {
        self.ports[lane.index()].flags.has(PortFlags::LOSSLESS)
    }

    /// Whether a switch sends over a lane.
    #[inline]
    pub(crate) fn is_switch(&self, lane: LaneId) -> bool {
        self.ports[lane.index()].flags.has(PortFlags::SWITCH)
    }

    pub(crate) fn set_egress(&mut self, lane: LaneId, egress: Egress) {
        let queueing = if egress.is_immediate() { 0 } else { PortFlags::QUEUEING };
        self.ports[lane.index()].flags.set(PortFlags::EGRESS | queueing);
        self.egresses[lane.index()] = Some(Box::new(egress));
    }

    pub(crate) fn set_marking(&mut self, lane: LaneId) {
        self.ports[lane.index()].flags.set(PortFlags::MARKING);
    }

    pub(crate) fn set_trimming(&mut self, lane: LaneId) {
        self.ports[lane.index()].flags.set(PortFlags::TRIMMING);
    }

    pub(crate) fn watch(&mut self, lane: LaneId) {
        self.ports[lane.index()].flags.set(PortFlags::WATCHED);
    }

    /// Fetches the frames that arrive soon: far more are under way than a cache holds.
    #[inline]
    pub(crate) fn warm(&self) {
        let [next, after] = self.queue.upcoming();
        let lanes = self.rings.len();
        for source in self.queue.bucket(after) {
            let number = source.0 as usize;
            if let Some(ring) = self.rings.get(number) {
                prefetch(ring);
            } else if let Some(egress) = self.egresses.get(number - lanes) {
                prefetch(egress);
            }
        }
        for source in self.queue.bucket(next) {
            let number = source.0 as usize;
            if let Some(ring) = self.rings.get(number) {
                ring.prefetch(&self.pool, &self.frames);
            } else if let Some(Some(egress)) = self.egresses.get(number - lanes) {
                prefetch(&**egress);
            }
        }
    }

    /// The node at the end of a lane, and which of its ports that is.
    #[inline]
    pub(crate) fn end(&self, lane: LaneId) -> (NodeId, u16) {
        let ring = &self.rings[lane.index()];
        (ring.to, ring.ingress)
    }

    /// The frame that has just arrived over `lane`; none if one was only expected to.
    #[inline]
    pub(crate) fn take_arrived(&mut self, now: Time, lane: LaneId) -> Option<FrameId> {
        let ring = &mut self.rings[lane.index()];
        if ring.is_empty() {
            self.refill(now, lane);
            return None;
        }
        let (arrived, next) = ring.pop(&self.pool);
        ring.frames += 1;
        ring.bytes += u64::from(self.frames.get(arrived).len);
        if let Some(at) = next {
            self.queue.arm(Source(lane.0), at);
        } else if self.lossless.is_some() {
            self.refill(now, lane);
        }
        Some(arrived)
    }

    /// Whether nothing is under way on a lane.
    pub(crate) fn is_idle(&self, lane: LaneId) -> bool {
        self.rings[lane.index()].is_empty()
    }

    /// When the last bit of a frame that has left at `end` is at the other end of the lane.
    pub(crate) fn arrival(&self, lane: LaneId, end: Time) -> Time {
        end + self.ports[lane.index()].delay
    }

    #[inline]
    pub(crate) fn frame_mut(&mut self, id: FrameId) -> &mut Frame {
        self.frames.get_mut(id)
    }

    /// A frame has come to the end of its way.
    #[inline]
    pub(crate) fn consume(&mut self, id: FrameId) -> Frame {
        self.frames.remove(id)
    }

    /// A host sends a frame that it has just made.
    #[inline]
    pub(crate) fn send(&mut self, now: Time, lane: LaneId, frame: Frame) {
        let id = self.frames.insert(frame);
        self.transmit(now, lane, id);
    }

    /// Hands a frame to a switch's port.
    #[inline]
    pub(crate) fn enqueue(&mut self, now: Time, lane: LaneId, frame: FrameId) {
        if let Some(lossless) = &self.lossless {
            // Memory of the port, its queue and the buffer is far: all three are asked for at once.
            if let Some(egress) = &self.egresses[lane.index()] {
                prefetch(&**egress);
            }
            let frame = self.frames.get(frame);
            lossless.prefetch(lane, frame.ingress, frame.class);
        }
        let port = &self.ports[lane.index()];
        let flags = port.flags;
        let is_quiet = flags.has(PortFlags::LOSSLESS)
            && !flags
                .has(PortFlags::OCCUPIED | PortFlags::SPEAKING | PortFlags::STORMING | PortFlags::GUARDED)
            && port.busy_until <= now;
        if flags.has(PortFlags::EGRESS) && !is_quiet {
            self.enqueue_egress(now, lane, frame);
            return;
        }
        if flags.has(PortFlags::MARKING) {
            self.mark_plain(now, lane, frame);
        }
        self.transmit(now, lane, frame);
    }

    /// Hands a frame that a switch has made to one of its ports.
    pub(crate) fn enqueue_copy(&mut self, now: Time, lane: LaneId, frame: Frame) {
        let id = self.frames.insert(frame);
        self.enqueue(now, lane, id);
    }

    /// Settles the departure of a frame at a known time, that takes a known time.
    #[inline]
    pub(crate) fn depart(&mut self, start: Time, lane: LaneId, frame: FrameId, cost: Span) {
        let port = &mut self.ports[lane.index()];
        let done = start + cost;
        port.busy_until = done;
        let (at, flags) = (done + port.delay, port.flags);
        if flags.has(PortFlags::MARKED) {
            self.transmit_marked(start, lane, at, frame);
        } else {
            self.carry(lane, at, frame);
        }
    }

    /// Settles a frame's departure: after all that were settled before it on this lane.
    #[inline]
    pub(crate) fn transmit(&mut self, now: Time, lane: LaneId, frame: FrameId) {
        let len = self.frames.get(frame).len;
        let port = &mut self.ports[lane.index()];
        let start = port.busy_until.max(now);
        let done = start + port.serialize(len, &self.rates, lane);
        port.busy_until = done;
        let (at, flags) = (done + port.delay, port.flags);
        if flags.has(PortFlags::MARKED) {
            self.transmit_marked(start, lane, at, frame);
        } else {
            self.carry(lane, at, frame);
        }
    }

    #[inline]
    fn carry(&mut self, lane: LaneId, at: Time, frame: FrameId) {
        if let Some(at) = self.rings[lane.index()].push(&mut self.pool, at, frame) {
            // An arrival may have been expected already.
            self.queue.rearm(Source(lane.0), at);
        }
    }

    /// Takes over the frames that another part has sent.
    pub(crate) fn take_over(&mut self, outbox: &mut Outbox) {
        for start in outbox.starts.drain(..) {
            self.start_end(start);
        }
        for InFlight { lane, at, mut frame } in outbox.frames.drain(..) {
            if frame.header != HeaderId::NONE {
                frame.header = self.headers.take_over(&mut outbox.headers, frame.header);
            }
            let frame = self.frames.insert(frame);
            self.carry(lane, at, frame);
        }
    }

    /// The rest of [`Wires::transmit`] for lanes that corrupt, are watched, or end in another part.
    fn transmit_marked(&mut self, start: Time, lane: LaneId, at: Time, id: FrameId) {
        let flags = self.ports[lane.index()].flags;
        let frame = self.frames.get(id);
        let mut fate = Fate::Pass;
        if flags.has(PortFlags::IMPAIRED) {
            let impairments = self.impairments[lane.index()].as_mut().expect("an impaired lane says how");
            let mut facts = frame.facts();
            if let Some(header) = self.headers.get(frame.header) {
                header.tell(&mut facts);
            }
            fate = impairments.fate(start, &facts);
        }
        if flags.has(PortFlags::WATCHED) {
            let seen = Seen { frame, header: self.headers.get(frame.header) };
            self.watch.on_transmit(start, lane, at, seen, fate);
        }
        if self.rare.is_some() {
            self.settle_episodes(start, lane);
        }
        if fate == Fate::Corrupt {
            self.frames.get_mut(id).kind = Kind::Corrupted;
        }
        if flags.has(PortFlags::REMOTE) {
            let part = self.ports[lane.index()].to_part;
            let mut frame = self.frames.remove(id);
            let outbox = &mut self.outbox[usize::from(part)];
            if frame.header != HeaderId::NONE {
                frame.header = outbox.headers.take_over(&mut self.headers, frame.header);
            }
            outbox.frames.push(InFlight { lane, at, frame });
        } else {
            self.carry(lane, at, id);
        }
    }

    #[inline(never)]
    fn enqueue_egress(&mut self, now: Time, lane: LaneId, id: FrameId) {
        if self.ports[lane.index()].flags.has(PortFlags::LOSSLESS) {
            self.enqueue_lossless(now, lane, id);
            return;
        }
        if self.ports[lane.index()].flags.has(PortFlags::TRIMMING) && !self.trim_or_drop(now, lane, id) {
            return;
        }
        self.mark_waiting(now, lane, id);
        let frame = self.frames.get(id);
        let port = &mut self.ports[lane.index()];
        let egress = self.egresses[lane.index()].as_mut().expect("a port with an egress");
        let cost = port.serialize(frame.len, &self.rates, lane);
        let waiting = Waiting { frame: id, len: frame.len, ingress: frame.ingress, cost };
        let is_guarded = port.flags.has(PortFlags::GUARDED);
        let taken = if is_guarded {
            egress.admit(now, waiting, frame.class)
        } else {
            egress.offer(now, waiting, frame.class, port.busy_until)
        };
        match taken {
            Taken::Dropped => self.drop_frame(now, lane, id),
            Taken::Passed => self.transmit(now, lane, id),
            Taken::Queued if is_guarded => self.pump(now, lane),
            Taken::Queued => self.arm_egress(now, lane),
        }
    }

    /// A frame before a lane goes, so that others can move.
    pub(crate) fn drop_for_remedy(&mut self, now: Time, lane: LaneId, id: FrameId) {
        if self.ports[lane.index()].flags.has(PortFlags::WATCHED) {
            self.watch.on_drop(now, lane, self.frames.get(id));
        }
        self.frames.remove(id);
    }

    /// There is no room for a frame before a lane.
    pub(crate) fn drop_frame(&mut self, now: Time, lane: LaneId, id: FrameId) {
        let port = &mut self.ports[lane.index()];
        port.dropped += 1;
        if port.flags.has(PortFlags::WATCHED) {
            self.watch.on_drop(now, lane, self.frames.get(id));
        }
        self.frames.remove(id);
    }

    /// A scheduled port has fallen free, or a pause that held all that waits for it is over.
    pub(crate) fn on_egress_free(&mut self, now: Time, lane: LaneId) {
        let flags = self.ports[lane.index()].flags;
        if flags.has(PortFlags::GUARDED) {
            self.on_guard_time(now, lane);
            return;
        }
        debug_assert!(self.ports[lane.index()].busy_until <= now, "nothing starts while a frame leaves");
        let egress = self.egresses[lane.index()].as_mut().expect("a port with an egress");
        if let Some(frame) = egress.next(now) {
            self.transmit(now, lane, frame);
        }
        self.arm_egress(now, lane);
    }

    /// Holds a class at a scheduled port, or lets it go.
    pub(crate) fn pause(&mut self, now: Time, lane: LaneId, class: u8, hold: Hold) {
        if self.ports[lane.index()].flags.has(PortFlags::LOSSLESS) {
            self.pause_lossless(now, lane, class, hold);
            return;
        }
        let egress = self.egresses[lane.index()].as_mut().expect("a port that may be paused has an egress");
        egress.pause(class, hold);
        self.arm_egress(now, lane);
    }

    /// Comes back when the first of the frames that wait may start. A hold that comes later makes that too early
    /// once, and never too late.
    pub(crate) fn arm_egress(&mut self, now: Time, lane: LaneId) {
        let free_at = self.ports[lane.index()].busy_until.max(now);
        let egress = self.egresses[lane.index()].as_ref().expect("a port with an egress");
        if let Some(due) = egress.next_start(free_at) {
            self.queue.arm_by(self.sources.tx(lane), due);
        }
    }

    pub(crate) fn rate(&self, lane: LaneId) -> Rate {
        self.rates[lane.index()]
    }

    /// The time that so many bytes need of a lane, with preamble and gap.
    pub(crate) fn cost(&self, lane: LaneId, len: u16) -> Span {
        self.ports[lane.index()].serialize(len, &self.rates, lane)
    }

    pub(crate) fn counters(&self, lane: LaneId) -> LaneCounters {
        let dropped = self.ports[lane.index()].dropped;
        let ring = &self.rings[lane.index()];
        let marked = self.marking.as_ref().map_or(0, |marking| marking.marked(lane));
        let trims = self.trimming.as_ref().map_or(Trims::default(), |trimming| trimming.counts(lane));
        LaneCounters {
            tx_frames: ring.frames,
            tx_bytes: ring.bytes,
            corrupted: ring.corrupted,
            dropped,
            marked,
            trims,
        }
    }

    /// A frame that a link has corrupted is seen by its receiver, and by no one else.
    #[cold]
    pub(crate) fn discard(&mut self, now: Time, lane: LaneId, id: FrameId) {
        let ring = &mut self.rings[lane.index()];
        ring.corrupted += 1;
        let frames = ring.frames;
        if let Some(start) = self.gauge_loss(now, lane, frames) {
            let port = &self.ports[lane.reverse().index()];
            if port.flags.has(PortFlags::REMOTE) {
                self.outbox[usize::from(port.to_part)].starts.push(start);
            } else {
                self.start_end(start);
            }
        }
        let frame = self.frames.remove(id);
        if frame.header != HeaderId::NONE {
            let header = self.headers.remove(frame.header);
            if let Header::Pfc(_) = header {
                self.on_lost_pfc(lane);
            }
        }
    }

    /// Frames under way in this part: on lanes, waiting in ports, or just leaving for another part.
    pub(crate) fn under_way(&self) -> u64 {
        let leaving: usize = self.outbox.iter().map(|outbox| outbox.frames.len()).sum();
        (self.frames.len() + leaving) as u64 - self.kept
    }

    /// Bytes that wait for a lane or are leaving over it.
    pub(crate) fn backlog(&self, now: Time, lane: LaneId) -> Bytes {
        let queued = self.egresses[lane.index()].as_ref().map_or(Span::ZERO, |egress| egress.backlog());
        self.rates[lane.index()].bytes_in(self.ports[lane.index()].busy_until.since(now) + queued)
    }
}

impl Outbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.notices.is_empty() && self.starts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Lane;
    use crate::port::Schedule;

    const LANE: LaneId = LaneId(0);

    /// One scheduled port of 8 Gbit/s: a nanosecond a byte.
    fn wires() -> Wires {
        let sources = Sources::new(2, 2, 1);
        let mut wires = Wires::new(Queue::new(1, sources.count(), Span::from_us(1)), sources, 1);
        let lane = Lane { to: NodeId(0), ingress: 0, rate: Rate::gbps(8), delay: Span::from_us(500) };
        wires.add_port(&lane, None);
        wires.add_port(&lane, None);
        wires.set_egress(LANE, Egress::scheduled(Schedule::all_strict(), None));
        wires
    }

    fn enqueue(wires: &mut Wires, now: Time, class: u8) {
        let frame = wires.frames.insert(Frame { class, len: 980, ..Frame::blank() });
        wires.enqueue(now, LANE, frame);
    }

    /// Handles what the port wants until `end`; when it wanted something.
    fn run(wires: &mut Wires, end: Time) -> Vec<u64> {
        let mut times = Vec::new();
        while let Some((now, source)) = wires.queue.pop(end) {
            assert_eq!(source, wires.sources.tx(LANE));
            wires.on_egress_free(now, LANE);
            times.push(now.as_ns());
        }
        times
    }

    #[test]
    fn a_port_wakes_by_itself_when_a_pause_is_over() {
        let mut wires = wires();
        wires.pause(Time::ZERO, LANE, 3, Hold { from: Time::ZERO, until: Time::from_ns(50_000) });
        enqueue(&mut wires, Time::from_ns(10), 3);
        enqueue(&mut wires, Time::from_ns(20), 3);
        assert_eq!(run(&mut wires, Time::from_ns(100_000)), [50_000, 51_000], "and at no other time");
        assert_eq!(wires.ports[0].busy_until, Time::from_ns(52_000));
    }

    #[test]
    fn a_port_wakes_when_it_is_let_go() {
        let mut wires = wires();
        wires.pause(Time::ZERO, LANE, 3, Hold { from: Time::ZERO, until: Time::MAX });
        enqueue(&mut wires, Time::from_ns(10), 3);
        assert!(run(&mut wires, Time::from_ns(30_000)).is_empty());
        let now = Time::from_ns(30_000);
        wires.pause(now, LANE, 3, Hold { from: now + Hold::NOTICE, until: now });
        assert_eq!(run(&mut wires, Time::from_ns(100_000)), [30_000]);
    }

    #[test]
    fn a_pause_can_be_longer_or_shorter_than_first_told() {
        let mut wires = wires();
        let hold = |from, until| Hold { from: Time::from_ns(from), until: Time::from_ns(until) };
        wires.pause(Time::ZERO, LANE, 0, hold(0, 10_000));
        enqueue(&mut wires, Time::ZERO, 0);
        wires.pause(Time::from_ns(5_000), LANE, 0, hold(5_001, 40_000));
        assert_eq!(run(&mut wires, Time::from_ns(20_000)), [10_000], "once too early");
        wires.pause(Time::from_ns(20_000), LANE, 0, hold(20_001, 25_000));
        assert_eq!(run(&mut wires, Time::from_ns(100_000)), [25_000]);
        assert_eq!(wires.ports[0].busy_until, Time::from_ns(26_000));
    }
}
