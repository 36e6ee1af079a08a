//! Two ends of a protected link on a fake clock, and a wire with scripted losses.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use wiremend_proto::link::{Ack, Counters, Disposal, Endpoint, LinkHeader, QueueHead};
use wiremend_units::{Bytes, Span, Time};

use super::end::{FrameKind, FrameNo, LinkEnd, LinkSignal, LinkTransmit};
use super::prototype::PrototypeEnd;
use crate::lane::Fate;
use crate::pair::{RunEnd, Side};

/// Two ends of this project's protocol, with sequence numbers of `BITS` bits.
pub type LinkPair<const BITS: u32 = 20> = EndpointPair<Endpoint<FrameNo, BITS>>;
/// Two ends of the published prototype.
pub type PrototypePair = EndpointPair<PrototypeEnd>;

/// Both ends with their queues, and the wire in both directions.
#[derive(Clone, Debug)]
pub struct EndpointPair<E: LinkEnd> {
    config: E::Config,
    now: Time,
    delay: Span,
    ends: [End<E>; 2],
    frames: Vec<Frame>,
    commands: VecDeque<(Time, Side, LinkCommand)>,
    epochs: u32,
    passed: u64,
    lost: u64,
}

#[derive(Clone, Debug)]
struct End<E: LinkEnd> {
    endpoint: E,
    wanted: bool,
    queue: VecDeque<FrameNo>,
    /// Frames on the wire from this end.
    wire: VecDeque<Flight<E::Header>>,
    free_at: Time,
    kept: u64,
    held: Vec<FrameNo>,
    delivered: Vec<FrameNo>,
    /// Counters of this end before its restarts.
    past: Counters,
}

#[derive(Clone, Copy, Debug)]
struct Flight<S> {
    arrives: Time,
    signal: Option<S>,
    frame: Option<FrameNo>,
}

/// A frame of a test.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Sending end.
    pub from: Side,
    /// Length in bytes.
    pub len: u32,
    /// Whether it must keep its order.
    pub ordered: bool,
    /// When it was queued.
    pub queued_at: Time,
    /// How it left.
    pub departure: Departure,
    /// When it left for the first time.
    pub left_at: Time,
    /// When it or a copy arrived for the first time.
    pub arrived_at: Option<Time>,
    /// When it was delivered for the first time.
    pub delivered_at: Option<Time>,
    /// Number of deliveries.
    pub deliveries: u32,
    /// An end that held it has restarted.
    pub vanished: bool,
}

/// How a frame left.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Departure {
    /// It has not left.
    Waits,
    /// Without a number.
    Plain,
    /// With a number.
    Numbered,
}

/// A command to an end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LinkCommand {
    /// Protect leaving frames.
    Activate,
    /// End the protection of leaving frames.
    Deactivate,
    /// Lose all state except the queue. Protection starts again if it was wanted.
    Restart,
    /// Queue a frame.
    Send {
        /// Length in bytes.
        len: u32,
        /// Whether it must keep its order.
        ordered: bool,
    },
}

/// A frame on the wire whose fate is not decided.
#[derive(Clone, Copy, Debug)]
pub struct WireFrame<S = LinkHeader> {
    /// Sending end.
    pub from: Side,
    /// Frames sent before it in both directions.
    pub nth: u64,
    /// Departure time.
    pub at: Time,
    /// Link header.
    pub signal: Option<S>,
    /// The frame; `None` for a control frame.
    pub frame: Option<FrameNo>,
}

const OWN_BYTES: u64 = 64;
const GAP_BYTES: u64 = 20;
const STEPS_MAX: u64 = 2_000_000;

impl<S: LinkSignal> WireFrame<S> {
    /// Kind of the frame.
    pub fn kind(&self) -> FrameKind {
        self.signal.map_or(FrameKind::Plain, |signal| signal.kind())
    }

    /// Whether it pauses (true) or resumes (false) the other end; `None` if neither.
    pub fn pauses(&self) -> Option<bool> {
        self.signal.and_then(|signal| signal.pauses())
    }
}

impl<E: LinkEnd> EndpointPair<E> {
    /// Two dormant ends.
    pub fn new(config: E::Config, delay: Span) -> Self {
        let end = || End {
            endpoint: E::new(&config),
            wanted: false,
            queue: VecDeque::new(),
            wire: VecDeque::new(),
            free_at: Time::ZERO,
            kept: 0,
            held: Vec::new(),
            delivered: Vec::new(),
            past: Counters::default(),
        };
        let ends = [end(), end()];
        let (frames, commands) = (Vec::new(), VecDeque::new());
        Self { config, now: Time::ZERO, delay, ends, frames, commands, epochs: 0, passed: 0, lost: 0 }
    }

    /// Applies a command now.
    pub fn apply(&mut self, side: Side, command: LinkCommand) {
        let now = self.now;
        match command {
            LinkCommand::Activate => {
                self.epochs += 1;
                // Not consecutive, also in the low four bits, because an end increments its own epochs.
                let epoch = self.epochs.wrapping_mul(0x9e37_79b9);
                self.end_mut(side).wanted = true;
                self.end_mut(side).endpoint.activate(now, epoch);
            }
            LinkCommand::Deactivate => {
                self.end_mut(side).wanted = false;
                self.end_mut(side).endpoint.deactivate(now);
            }
            LinkCommand::Restart => self.restart(side),
            LinkCommand::Send { len, ordered } => {
                let no = self.frames.len() as FrameNo;
                self.frames.push(Frame {
                    from: side,
                    len,
                    ordered,
                    queued_at: now,
                    departure: Departure::Waits,
                    left_at: Time::MAX,
                    arrived_at: None,
                    delivered_at: None,
                    deliveries: 0,
                    vanished: false,
                });
                self.end_mut(side).queue.push_back(no);
            }
        }
        self.drain_disposals(side);
    }

    /// Applies a command after a time.
    pub fn apply_after(&mut self, after: Span, side: Side, command: LinkCommand) {
        let at = self.now + after;
        let index = self.commands.partition_point(|(time, ..)| *time <= at);
        self.commands.insert(index, (at, side, command));
    }

    /// Queues `count` frames of `len` bytes.
    pub fn send(&mut self, side: Side, count: usize, len: u32, ordered: bool) {
        for _ in 0..count {
            self.apply(side, LinkCommand::Send { len, ordered });
        }
    }

    /// Runs until no event is left; `fate` decides on every frame on the wire.
    pub fn run<F: Into<Fate<E::Header>>>(
        &mut self,
        mut fate: impl FnMut(&WireFrame<E::Header>) -> F,
    ) -> RunEnd {
        (0..STEPS_MAX).find_map(|_| self.step(&mut fate)).unwrap_or(RunEnd::LimitReached)
    }

    /// Transmits from both ends and advances to the next event. Returns the end of the run if there is none.
    pub fn step<F: Into<Fate<E::Header>>>(
        &mut self,
        mut fate: impl FnMut(&WireFrame<E::Header>) -> F,
    ) -> Option<RunEnd> {
        self.transmit(Side::A, &mut fate);
        self.transmit(Side::B, &mut fate);
        let Some(next) = self.next_event() else {
            let idle = self.ends.iter().all(|end| end.queue.is_empty());
            return Some(if idle { RunEnd::Idle } else { RunEnd::Stuck });
        };
        self.now = self.now.max(next);
        self.process_events();
        None
    }

    /// Current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// One-way delay.
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// Frames sent in both directions, and how many of them were lost.
    pub fn passed(&self) -> (u64, u64) {
        (self.passed, self.lost)
    }

    /// Configuration of both ends.
    pub fn config(&self) -> &E::Config {
        &self.config
    }

    /// An end.
    pub fn endpoint(&self, side: Side) -> &E {
        &self.ends[side as usize].endpoint
    }

    /// Counters of one end, including those before restarts.
    pub fn counters(&self, side: Side) -> Counters {
        let end = &self.ends[side as usize];
        let mut all = end.past;
        all += end.endpoint.counters();
        all
    }

    /// All frames, in the order in which they were queued.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Frames delivered at an end, in order.
    pub fn delivered(&self, side: Side) -> &[FrameNo] {
        &self.ends[side as usize].delivered
    }

    /// Numbers of kept copies and of held frames at an end.
    pub fn handles(&self, side: Side) -> (u64, usize) {
        let end = &self.ends[side as usize];
        (end.kept, end.held.len())
    }

    fn end_mut(&mut self, side: Side) -> &mut End<E> {
        &mut self.ends[side as usize]
    }

    fn restart(&mut self, side: Side) {
        let fresh = E::new(&self.config);
        let end = &mut self.ends[side as usize];
        end.past += end.endpoint.counters();
        end.endpoint = fresh;
        end.kept = 0;
        let (held, wanted) = (std::mem::take(&mut end.held), end.wanted);
        for no in held {
            self.frames[no as usize].vanished = true;
        }
        if wanted {
            self.apply(side, LinkCommand::Activate);
        }
    }

    fn next_event(&self) -> Option<Time> {
        let of_end = |end: &End<E>| {
            let free = (end.free_at > self.now).then_some(end.free_at);
            let arrival = end.wire.front().map(|flight| flight.arrives);
            [free, arrival, end.endpoint.next_timeout(self.now)].into_iter().flatten().min()
        };
        let command = self.commands.front().map(|(at, ..)| *at);
        [of_end(&self.ends[0]), of_end(&self.ends[1]), command].into_iter().flatten().min()
    }

    fn process_events(&mut self) {
        while let Some((_, side, command)) = self.commands.pop_front_if(|(at, ..)| *at <= self.now) {
            self.apply(side, command);
        }
        for side in [Side::A, Side::B] {
            let now = self.now;
            while let Some(flight) =
                self.end_mut(side.peer()).wire.pop_front_if(|flight| flight.arrives <= now)
            {
                self.arrive(side, flight);
            }
            let endpoint = &mut self.end_mut(side).endpoint;
            if endpoint.next_timeout(now).is_some_and(|at| at <= now) {
                endpoint.on_timeout(now);
                let next = endpoint.next_timeout(now);
                assert!(next.is_none_or(|at| at > now), "on_timeout must move next_timeout into the future");
                self.drain_disposals(side);
            }
        }
    }

    fn arrive(&mut self, side: Side, flight: Flight<E::Header>) {
        let now = self.now;
        if let Some(no) = flight.frame {
            self.frames[no as usize].arrived_at.get_or_insert(now);
        }
        let len = flight.frame.map(|no| Bytes::new(u64::from(self.frames[no as usize].len)));
        let end = self.end_mut(side);
        end.held.extend(flight.frame);
        end.endpoint.on_arrival(now, flight.signal.as_ref(), flight.frame.zip(len));
        self.drain_disposals(side);
    }

    fn transmit<F: Into<Fate<E::Header>>>(
        &mut self,
        side: Side,
        fate: &mut impl FnMut(&WireFrame<E::Header>) -> F,
    ) {
        let now = self.now;
        let end = &mut self.ends[side as usize];
        if end.free_at > now {
            return;
        }
        let head = end.queue.front().map(|no| {
            let frame = &self.frames[*no as usize];
            (*no, QueueHead { len: Bytes::new(u64::from(frame.len)), ordered: frame.ordered })
        });
        let Some(transmit) = end.endpoint.transmit(now, head) else { return self.drain_disposals(side) };
        let departure =
            if matches!(transmit, LinkTransmit::Plain(_)) { Departure::Plain } else { Departure::Numbered };
        let (signal, frame) = match transmit {
            LinkTransmit::Plain(signal) => (signal, end.queue.pop_front()),
            LinkTransmit::New(signal) => {
                end.kept += 1;
                (Some(signal), end.queue.pop_front())
            }
            LinkTransmit::Retransmission(signal, no) => (Some(signal), Some(no)),
            LinkTransmit::Control(signal) => (Some(signal), None),
        };
        let len = frame.map_or(OWN_BYTES, |no| {
            let frame = &mut self.frames[no as usize];
            frame.left_at = frame.left_at.min(now);
            frame.departure = departure;
            u64::from(frame.len)
        });
        end.free_at = now + E::rate(&self.config).serialize(Bytes::new(len + GAP_BYTES));
        let wire_frame = WireFrame { from: side, nth: self.passed, at: now, signal, frame };
        self.passed += 1;
        let arrives = end.free_at + self.delay;
        match fate(&wire_frame).into() {
            Fate::Arrives => self.put_on_wire(side, Flight { arrives, signal, frame }),
            Fate::Delayed(by) => self.put_on_wire(side, Flight { arrives: arrives + by, signal, frame }),
            Fate::Altered(signal) => self.put_on_wire(side, Flight { arrives, signal: Some(signal), frame }),
            Fate::Duplicated => {
                (0..2).for_each(|_| self.put_on_wire(side, Flight { arrives, signal, frame }));
            }
            Fate::Lost => self.lost += 1,
        }
        self.drain_disposals(side);
    }

    fn put_on_wire(&mut self, side: Side, flight: Flight<E::Header>) {
        let wire = &mut self.end_mut(side).wire;
        let index = wire.iter().rposition(|other| other.arrives <= flight.arrives).map_or(0, |at| at + 1);
        wire.insert(index, flight);
    }

    fn drain_disposals(&mut self, side: Side) {
        while let Some(disposal) = self.end_mut(side).endpoint.poll() {
            match disposal {
                Disposal::Deliver(no) => {
                    self.remove_held(side, no);
                    self.deliver(side, no);
                }
                Disposal::Discard(no) => self.remove_held(side, no),
                Disposal::Release(_) => {
                    let end = self.end_mut(side);
                    assert!(end.kept > 0, "a released copy was kept");
                    end.kept -= 1;
                }
            }
        }
    }

    fn remove_held(&mut self, side: Side, no: FrameNo) {
        let held = &mut self.end_mut(side).held;
        let at = held.iter().position(|held| *held == no).expect("a disposed frame has arrived");
        held.swap_remove(at);
    }

    fn deliver(&mut self, side: Side, no: FrameNo) {
        let frame = &mut self.frames[no as usize];
        frame.deliveries += 1;
        frame.delivered_at.get_or_insert(self.now);
        self.end_mut(side).delivered.push(no);
    }
}

impl<const BITS: u32> LinkPair<BITS> {
    /// Hashes the state that determines the future, and the deliveries so far. The order of deliveries is
    /// left out: tests check it at each delivery.
    pub fn fingerprint<H: Hasher>(&self, hasher: &mut H) {
        let ahead = |time: Time| time.as_ps().saturating_sub(self.now.as_ps());
        for (at, side, command) in &self.commands {
            (ahead(*at), *side as u8, command).hash(hasher);
        }
        for frame in &self.frames {
            (frame.departure, frame.deliveries, frame.vanished).hash(hasher);
        }
        for end in &self.ends {
            let counters = end.endpoint.counters();
            (&end.queue, ahead(end.free_at), end.wanted, end.kept).hash(hasher);
            (counters.lost, counters.abandoned, counters.overflowed > 0).hash(hasher);
            end.endpoint.fingerprint(self.now, hasher);
            for flight in &end.wire {
                (ahead(flight.arrives), flight.frame).hash(hasher);
                hash_signal(flight.signal.as_ref(), hasher);
            }
        }
    }
}

fn hash_signal<H: Hasher>(signal: Option<&LinkHeader>, hasher: &mut H) {
    let ack = |ack: &Ack| (ack.epoch, ack.next, ack.pause);
    match signal {
        None => 0_u8.hash(hasher),
        Some(LinkHeader::Data { epoch, seq, ordered, retransmitted, ack: back }) => {
            (1_u8, epoch, seq, ordered, retransmitted, back.as_ref().map(ack)).hash(hasher);
        }
        Some(LinkHeader::Dummy { epoch, next, ack: back }) => {
            (2_u8, epoch, next, back.as_ref().map(ack)).hash(hasher);
        }
        Some(LinkHeader::Unprotected { epoch, next, ack: back }) => {
            (6_u8, epoch, next, back.as_ref().map(ack)).hash(hasher);
        }
        Some(LinkHeader::Ack(own)) => (3_u8, ack(own)).hash(hasher),
        Some(LinkHeader::Missing(missing)) => {
            let holes = missing.holes.map(|hole| (hole.first, hole.len));
            (4_u8, ack(&missing.ack), missing.upto, missing.hole_count, holes).hash(hasher);
        }
        Some(LinkHeader::Hello(hello)) => {
            (5_u8, hello.kind as u8, hello.epoch, hello.stamp_ns, hello.rtt_ns).hash(hasher);
        }
    }
}
