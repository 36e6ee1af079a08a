//! The receiver switch: finds holes, acknowledges, restores the order, and holds the sender back.

use std::cmp::Ordering;

use wiremend_wire::Quanta;

use super::{Ack, Config, Number, Signal};

/// The registers of the receiver switch for one protected port.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: Config,
    /// `expectedSeqNo`: what comes next if nothing is lost. It has no era.
    expected: u16,
    /// What the next ACK says.
    latest: Number,
    acks_owed: u8,
    /// `ackNo` and its era: what is to be handed on next.
    ack_no: Number,
    /// In the same record as `ackNo`.
    ticks_left: u16,
    state: State,
    /// For the next tick; one at a time.
    request: Option<Quanta>,
    counters: ReceiverCounters,
}

/// What a frame that arrived brings about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// To be sent back before anything else.
    pub notification: Option<Signal>,
    /// What becomes of a data frame; of all others nothing is left.
    pub verdict: Option<Verdict>,
}

/// What becomes of a data frame (LG algorithm 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It goes on its way without its header.
    Forward,
    /// Into the RX loop; it is judged again after a turn.
    Hold,
    /// It, or a later one, was here before.
    Drop,
}

/// What a tick brings about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tick {
    /// `ackNoTimeout`: this number is given up.
    pub given_up: Option<u16>,
    /// The tick's packet leaves as a PFC frame for the class of the normal queue.
    pub pause: Option<Quanta>,
}

/// What the receiver has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiverCounters {
    /// Numbers found missing.
    pub missed: u64,
    /// Notifications about them.
    pub notifications: u64,
    /// ACKs that left, piggybacked or not.
    pub acks: u64,
    /// Frames handed on.
    pub forwarded: u64,
    /// Frames judged to have been here before.
    pub dropped: u64,
    /// `ackNoTimeout`s.
    pub timeouts: u64,
    /// Pauses that were asked for; those overwritten before they left are among them.
    pub pauses: u64,
}

/// What the sender was last asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Resumed,
    Paused,
}

impl Receiver {
    /// As after a reset: number 0 comes first. Nothing tells the other end.
    pub fn new(config: Config) -> Self {
        let first = Number::default();
        Self {
            config,
            expected: first.seq,
            latest: first.previous(),
            acks_owed: 0,
            ack_no: first,
            ticks_left: config.timeout_ticks,
            state: State::Resumed,
            request: None,
            counters: ReceiverCounters::default(),
        }
    }

    /// A frame with a header has arrived whole. What is sent again does not take part in detection.
    pub fn on_arrival(&mut self, signal: &Signal) -> Arrival {
        match *signal {
            Signal::Data { number, again, blocking, .. } => {
                let notification = if again { None } else { self.on_data(number) };
                Arrival { notification, verdict: Some(self.judge(number, blocking)) }
            }
            Signal::Dummy { number, .. } => Arrival { notification: self.on_dummy(number), verdict: None },
            Signal::Ack(_) | Signal::Piggyback(_) | Signal::Notification { .. } => {
                Arrival { notification: None, verdict: None }
            }
        }
    }

    /// Without a hole the frame is acknowledged.
    fn on_data(&mut self, number: Number) -> Option<Signal> {
        let hole = self.detect(number.seq, number.seq.wrapping_add(1));
        if hole.is_none() {
            self.latest = number;
            self.acks_owed = self.config.acks_max;
        }
        hole.map(|hole| self.notify(hole, number))
    }

    /// A dummy's number is not used up, so the one before it is the last that was.
    fn on_dummy(&mut self, number: Number) -> Option<Signal> {
        let hole = self.detect(number.seq, number.seq);
        hole.map(|hole| self.notify(hole, number.previous()))
    }

    /// First lost, and how many.
    fn detect(&mut self, seq: u16, expected_then: u16) -> Option<(u16, u16)> {
        let first_lost = std::mem::replace(&mut self.expected, expected_then);
        let lost = seq.wrapping_sub(first_lost);
        (lost > 0).then_some((first_lost, lost))
    }

    /// The one notification about a hole. The ACK register is left alone, and no ACK is owed: an older one behind the notification would
    /// move the sender back.
    fn notify(&mut self, (first_lost, lost): (u16, u16), leading: Number) -> Signal {
        self.acks_owed = 0;
        self.counters.missed += u64::from(lost);
        self.counters.notifications += 1;
        Signal::Notification { ack: Ack(leading), hole_size: lost as u8, first_lost }
    }

    /// Algorithm 1: for frames that arrive, once or again, and for those that come round in the RX loop. Without order there is nothing to
    /// judge, and nothing is remembered.
    pub fn judge(&mut self, number: Number, blocking: bool) -> Verdict {
        let order = if blocking { number.compare(self.ack_no) } else { Ordering::Equal };
        match order {
            Ordering::Equal => {
                if blocking {
                    self.ack_no = self.ack_no.next();
                    self.ticks_left = self.config.timeout_ticks;
                }
                self.counters.forwarded += 1;
                Verdict::Forward
            }
            Ordering::Greater => Verdict::Hold,
            Ordering::Less => {
                self.counters.dropped += 1;
                Verdict::Drop
            }
        }
    }

    /// Algorithm 2, on the depth in cells that a frame leaving the RX loop sees.
    pub fn on_dequeue(&mut self, depth_cells: u32) {
        if depth_cells >= self.config.pause_cells && self.state == State::Resumed {
            self.state = State::Paused;
            self.request = Some(Quanta::MAX);
            self.counters.pauses += 1;
        } else if depth_cells <= self.config.resume_cells && self.state == State::Paused {
            self.state = State::Resumed;
            self.request = Some(Quanta::RESUME);
        }
    }

    /// So many [`TICK`](super::TICK)s have passed, the last of them now: at most as many as [`Receiver::ticks_to_event`] said.
    pub fn on_ticks(&mut self, count: u64) -> Tick {
        assert!(self.ticks_to_event().is_none_or(|event| count <= event), "an event was passed over");
        if count == 0 {
            return Tick::default();
        }
        Tick { given_up: self.count_down(count), pause: self.request.take() }
    }

    /// The pause that waits for the next tick, for a host that need not: one whose switch can send a frame whenever it wants.
    pub fn take_pause(&mut self) -> Option<Quanta> {
        self.request.take()
    }

    /// After how many ticks one will do more than count, if nothing comes before.
    pub fn ticks_to_event(&self) -> Option<u64> {
        if self.request.is_some() { Some(1) } else { self.is_stalled().then_some(self.ticks_left.into()) }
    }

    /// Something before what came last has not been handed on.
    fn is_stalled(&self) -> bool {
        self.ack_no.seq != self.expected
    }

    /// One number is given up at a time, and the next one waits in full. The tick has no way to flip the era.
    fn count_down(&mut self, count: u64) -> Option<u16> {
        if !self.is_stalled() {
            return None;
        }
        self.ticks_left -= count as u16;
        (self.ticks_left == 0).then(|| {
            let given_up = self.ack_no.seq;
            self.ack_no.seq = given_up.wrapping_add(1);
            self.ticks_left = self.config.timeout_ticks;
            self.counters.timeouts += 1;
            given_up
        })
    }

    /// A normal frame or a courier leaves in the other direction: the ACK it carries, if one is owed. A courier without one is not sent.
    pub fn on_egress(&mut self) -> Option<Ack> {
        self.acks_owed = self.acks_owed.checked_sub(1)?;
        self.counters.acks += 1;
        Some(Ack(self.latest))
    }

    /// ACKs that may still leave: with none, the courier queue is silent.
    pub fn acks_owed(&self) -> u8 {
        self.acks_owed
    }

    /// What is to be handed on next.
    pub fn ack_no(&self) -> Number {
        self.ack_no
    }

    /// What was counted.
    pub fn counters(&self) -> &ReceiverCounters {
        &self.counters
    }
}
