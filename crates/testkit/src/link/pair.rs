//! Two ends of a protected link on a fake clock, and a wire between them that loses what a test says.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use wiremend_proto::link::{Ack, Counters, Disposal, Endpoint, Signal, Waiting};
use wiremend_units::{Bytes, Span, Time};

use super::end::{FrameNo, Kind, Leaving, LinkEnd, LinkSignal};
use super::prototype::PrototypeEnd;
use crate::lane::Fate;
use crate::pair::{Ending, Side};

/// Two ends of the protocol, with numbers of so many bits.
pub type LinkPair<const BITS: u32 = 20> = Linked<Endpoint<FrameNo, BITS>>;
/// Two ends of its published prototype.
pub type PrototypePair = Linked<PrototypeEnd>;

/// Both ends with their queues, and the wire in both directions.
#[derive(Clone, Debug)]
pub struct Linked<E: LinkEnd> {
    config: E::Config,
    now: Time,
    delay: Span,
    ends: [End<E>; 2],
    frames: Vec<Frame>,
    orders: VecDeque<(Time, Side, Order)>,
    epochs: u32,
    passed: u64,
    lost: u64,
}

#[derive(Clone, Debug)]
struct End<E: LinkEnd> {
    endpoint: E,
    wanted: bool,
    queue: VecDeque<FrameNo>,
    /// What is on the wire away from here.
    wire: VecDeque<Flight<E::Signal>>,
    free_at: Time,
    /// Handles that the endpoint has.
    kept: u64,
    held: Vec<FrameNo>,
    delivered: Vec<FrameNo>,
    /// Of endpoints that are no more.
    past: Counters,
}

#[derive(Clone, Copy, Debug)]
struct Flight<S> {
    arrives: Time,
    signal: Option<S>,
    frame: Option<FrameNo>,
}

/// What a test knows of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Who sends it.
    pub from: Side,
    /// Its length.
    pub len: u32,
    /// Whether it must keep its order.
    pub ordered: bool,
    /// When it was handed over.
    pub queued_at: Time,
    /// How it left.
    pub departure: Departure,
    /// When it left for the first time.
    pub left_at: Time,
    /// When it, or a copy of it, arrived for the first time.
    pub arrived_at: Option<Time>,
    /// When it was handed on for the first time.
    pub delivered_at: Option<Time>,
    /// Times that it was handed on.
    pub deliveries: u32,
    /// It was held by an end that restarted.
    pub vanished: bool,
}

/// How a frame left.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Departure {
    /// It did not yet.
    Waits,
    /// Without a header.
    Plain,
    /// With a number.
    Numbered,
}

/// What happens to an end at a time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// Protection is wanted.
    Activate,
    /// Protection is no longer wanted.
    Deactivate,
    /// The end forgets everything but its queue; protection begins anew if it was wanted.
    Restart,
    /// A frame of this length comes to the queue.
    Send {
        /// In bytes.
        len: u32,
        /// Whether it must keep its order.
        ordered: bool,
    },
}

/// Something on the wire, before it is known whether it arrives.
#[derive(Clone, Copy, Debug)]
pub struct Passing<S = Signal> {
    /// Who sends it.
    pub from: Side,
    /// How many passed before it, in both directions.
    pub nth: u64,
    /// When it leaves.
    pub at: Time,
    /// Its header, if it has one.
    pub signal: Option<S>,
    /// What it carries, if it is not the link's own.
    pub frame: Option<FrameNo>,
}

/// The length of the link's own frames.
const OWN_BYTES: u64 = 64;
/// Preamble and gap.
const GAP_BYTES: u64 = 20;
/// Steps after which a run is given up.
const STEPS_MAX: u64 = 2_000_000;

impl<S: LinkSignal> Passing<S> {
    /// What it is for.
    pub fn kind(&self) -> Kind {
        self.signal.map_or(Kind::Plain, |signal| signal.kind())
    }

    /// Whether it tells the other end to pause, or not to; nothing if it does not say.
    pub fn pauses(&self) -> Option<bool> {
        self.signal.and_then(|signal| signal.pauses())
    }
}

impl<E: LinkEnd> Linked<E> {
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
        let (frames, orders) = (Vec::new(), VecDeque::new());
        Self { config, now: Time::ZERO, delay, ends, frames, orders, epochs: 0, passed: 0, lost: 0 }
    }

    /// Does it now.
    pub fn order(&mut self, side: Side, order: Order) {
        let now = self.now;
        match order {
            Order::Activate => {
                self.epochs += 1;
                // Neither in steps of one nor of sixteen: an end counts on by itself.
                let epoch = self.epochs.wrapping_mul(0x9e37_79b9);
                self.end_mut(side).wanted = true;
                self.end_mut(side).endpoint.activate(now, epoch);
            }
            Order::Deactivate => {
                self.end_mut(side).wanted = false;
                self.end_mut(side).endpoint.deactivate(now);
            }
            Order::Restart => self.restart(side),
            Order::Send { len, ordered } => {
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
        self.dispose(side);
    }

    /// Does it `after` the present; in the order of time.
    pub fn order_after(&mut self, after: Span, side: Side, order: Order) {
        let at = self.now + after;
        let place = self.orders.partition_point(|(time, ..)| *time <= at);
        self.orders.insert(place, (at, side, order));
    }

    /// Hands over `count` frames of `len` bytes at once.
    pub fn send(&mut self, side: Side, count: usize, len: u32, ordered: bool) {
        for _ in 0..count {
            self.order(side, Order::Send { len, ordered });
        }
    }

    /// Runs until nothing is left to do; `fate` decides on everything that passes.
    pub fn run<F: Into<Fate<E::Signal>>>(
        &mut self,
        mut fate: impl FnMut(&Passing<E::Signal>) -> F,
    ) -> Ending {
        (0..STEPS_MAX).find_map(|_| self.step(&mut fate)).unwrap_or(Ending::Bounded)
    }

    /// Puts on the wire what both ends have for it, and goes to the next event; the end if there is none.
    pub fn step<F: Into<Fate<E::Signal>>>(
        &mut self,
        mut fate: impl FnMut(&Passing<E::Signal>) -> F,
    ) -> Option<Ending> {
        self.transmit(Side::A, &mut fate);
        self.transmit(Side::B, &mut fate);
        let Some(next) = self.next_event() else {
            let idle = self.ends.iter().all(|end| end.queue.is_empty());
            return Some(if idle { Ending::Idle } else { Ending::Stuck });
        };
        self.now = self.now.max(next);
        self.happen();
        None
    }

    /// The present.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Of the wire, in one direction.
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// Everything that passed so far, in both directions, and how much of it was lost.
    pub fn passed(&self) -> (u64, u64) {
        (self.passed, self.lost)
    }

    /// What both ends go by.
    pub fn config(&self) -> &E::Config {
        &self.config
    }

    /// One end.
    pub fn endpoint(&self, side: Side) -> &E {
        &self.ends[side as usize].endpoint
    }

    /// What both ends of one side counted, restarted ones included.
    pub fn counters(&self, side: Side) -> Counters {
        let end = &self.ends[side as usize];
        let mut all = end.past;
        all += end.endpoint.counters();
        all
    }

    /// What became of the frames, in the order in which they were handed over.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// What an end handed on, in order.
    pub fn delivered(&self, side: Side) -> &[FrameNo] {
        &self.ends[side as usize].delivered
    }

    /// Handles that an end still has: copies that are kept, frames that are held.
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
            self.order(side, Order::Activate);
        }
    }

    fn next_event(&self) -> Option<Time> {
        let of_end = |end: &End<E>| {
            let free = (end.free_at > self.now).then_some(end.free_at);
            let arrival = end.wire.front().map(|flight| flight.arrives);
            [free, arrival, end.endpoint.next_timeout(self.now)].into_iter().flatten().min()
        };
        let order = self.orders.front().map(|(at, ..)| *at);
        [of_end(&self.ends[0]), of_end(&self.ends[1]), order].into_iter().flatten().min()
    }

    fn happen(&mut self) {
        while let Some((_, side, order)) = self.orders.pop_front_if(|(at, ..)| *at <= self.now) {
            self.order(side, order);
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
                assert!(next.is_none_or(|at| at > now), "a time that has come is asked for again");
                self.dispose(side);
            }
        }
    }

    fn arrive(&mut self, side: Side, flight: Flight<E::Signal>) {
        let now = self.now;
        if let Some(no) = flight.frame {
            self.frames[no as usize].arrived_at.get_or_insert(now);
        }
        let len = flight.frame.map(|no| Bytes::new(u64::from(self.frames[no as usize].len)));
        let end = self.end_mut(side);
        end.held.extend(flight.frame);
        end.endpoint.on_arrival(now, flight.signal.as_ref(), flight.frame.zip(len));
        self.dispose(side);
    }

    fn transmit<F: Into<Fate<E::Signal>>>(
        &mut self,
        side: Side,
        fate: &mut impl FnMut(&Passing<E::Signal>) -> F,
    ) {
        let now = self.now;
        let end = &mut self.ends[side as usize];
        if end.free_at > now {
            return;
        }
        let head = end.queue.front().map(|no| {
            let frame = &self.frames[*no as usize];
            (*no, Waiting { len: Bytes::new(u64::from(frame.len)), ordered: frame.ordered })
        });
        let Some(leaving) = end.endpoint.transmit(now, head) else { return self.dispose(side) };
        let departure =
            if matches!(leaving, Leaving::Plain(_)) { Departure::Plain } else { Departure::Numbered };
        let (signal, frame) = match leaving {
            Leaving::Plain(signal) => (signal, end.queue.pop_front()),
            Leaving::Fresh(signal) => {
                end.kept += 1;
                (Some(signal), end.queue.pop_front())
            }
            Leaving::Again(signal, no) => (Some(signal), Some(no)),
            Leaving::Own(signal) => (Some(signal), None),
        };
        let len = frame.map_or(OWN_BYTES, |no| {
            let frame = &mut self.frames[no as usize];
            frame.left_at = frame.left_at.min(now);
            frame.departure = departure;
            u64::from(frame.len)
        });
        end.free_at = now + E::rate(&self.config).serialize(Bytes::new(len + GAP_BYTES));
        let passing = Passing { from: side, nth: self.passed, at: now, signal, frame };
        self.passed += 1;
        let arrives = end.free_at + self.delay;
        match fate(&passing).into() {
            Fate::Arrives => self.fly(side, Flight { arrives, signal, frame }),
            Fate::Late(by) => self.fly(side, Flight { arrives: arrives + by, signal, frame }),
            Fate::Altered(signal) => self.fly(side, Flight { arrives, signal: Some(signal), frame }),
            Fate::Twice => (0..2).for_each(|_| self.fly(side, Flight { arrives, signal, frame })),
            Fate::Lost => self.lost += 1,
        }
        self.dispose(side);
    }

    fn fly(&mut self, side: Side, flight: Flight<E::Signal>) {
        let wire = &mut self.end_mut(side).wire;
        let place = wire.iter().rposition(|other| other.arrives <= flight.arrives).map_or(0, |at| at + 1);
        wire.insert(place, flight);
    }

    fn dispose(&mut self, side: Side) {
        while let Some(disposal) = self.end_mut(side).endpoint.poll() {
            match disposal {
                Disposal::Deliver(no) => {
                    self.unhold(side, no);
                    self.deliver(side, no);
                }
                Disposal::Discard(no) => self.unhold(side, no),
                Disposal::Release(_) => {
                    let end = self.end_mut(side);
                    assert!(end.kept > 0, "a copy is released that was never kept");
                    end.kept -= 1;
                }
            }
        }
    }

    fn unhold(&mut self, side: Side, no: FrameNo) {
        let held = &mut self.end_mut(side).held;
        let at = held.iter().position(|held| *held == no).expect("a frame is disposed of that never came");
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
    /// Takes in all that decides what happens from now on, and what has come of the frames so far. The order in which
    /// frames were handed on is left out: it is to be checked as they are.
    pub fn fingerprint<H: Hasher>(&self, hasher: &mut H) {
        let ahead = |time: Time| time.as_ps().saturating_sub(self.now.as_ps());
        for (at, side, order) in &self.orders {
            (ahead(*at), *side as u8, order).hash(hasher);
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

fn hash_signal<H: Hasher>(signal: Option<&Signal>, hasher: &mut H) {
    let ack = |ack: &Ack| (ack.epoch, ack.next, ack.pause);
    match signal {
        None => 0_u8.hash(hasher),
        Some(Signal::Data { epoch, seq, ordered, again, ack: back }) => {
            (1_u8, epoch, seq, ordered, again, back.as_ref().map(ack)).hash(hasher);
        }
        Some(Signal::Dummy { epoch, next, ack: back }) => {
            (2_u8, epoch, next, back.as_ref().map(ack)).hash(hasher);
        }
        Some(Signal::Loose { epoch, next, ack: back }) => {
            (6_u8, epoch, next, back.as_ref().map(ack)).hash(hasher);
        }
        Some(Signal::Ack(own)) => (3_u8, ack(own)).hash(hasher),
        Some(Signal::Missing(missing)) => {
            let holes = missing.holes.map(|hole| (hole.first, hole.len));
            (4_u8, ack(&missing.ack), missing.upto, missing.hole_count, holes).hash(hasher);
        }
        Some(Signal::Hello(hello)) => {
            (5_u8, hello.kind as u8, hello.epoch, hello.stamp_ns, hello.rtt_ns).hash(hasher);
        }
    }
}
