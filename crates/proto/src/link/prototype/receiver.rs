//! The receiver switch: finds gaps, acknowledges, restores the order, and pauses the sender.

use std::cmp::Ordering;

use wiremend_wire::Quanta;

use super::{Ack, Config, EraSeq, PrototypeHeader};

/// Registers of the receiver switch for one protected port.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: Config,
    /// `expectedSeqNo`: the next number without loss. It has no era.
    expected: u16,
    /// Number of the next ACK.
    latest: EraSeq,
    acks_owed: u8,
    /// `ackNo` and its era: the next number to deliver.
    ack_no: EraSeq,
    /// Timer, in the same register as `ackNo`.
    ticks_left: u16,
    state: State,
    /// Pause or resume to send at the next tick; a newer one replaces it.
    request: Option<Quanta>,
    counters: ReceiverCounters,
}

/// Effects of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Notification to send back before all other frames.
    pub notification: Option<PrototypeHeader>,
    /// Verdict on a data frame; `None` for all others, which end here.
    pub verdict: Option<FrameVerdict>,
}

/// What happens to a data frame (LG algorithm 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameVerdict {
    /// Forward it without its header.
    Forward,
    /// Send it into the RX loop; it is checked again after a pass.
    Hold,
    /// Drop it: it or a later frame was delivered before.
    Drop,
}

/// Effects of a tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TickOutcome {
    /// `ackNoTimeout`: the number that is given up.
    pub given_up: Option<u16>,
    /// The tick's packet leaves as a PFC frame for the class of the normal queue.
    pub pause: Option<Quanta>,
}

/// Counters of the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiverCounters {
    /// Frames found missing.
    pub missed: u64,
    /// Notifications.
    pub notifications: u64,
    /// ACKs sent, piggybacked or not.
    pub acks: u64,
    /// Frames forwarded.
    pub forwarded: u64,
    /// Frames dropped as duplicates.
    pub dropped: u64,
    /// `ackNoTimeout`s.
    pub timeouts: u64,
    /// Pauses requested, including those overwritten before they left.
    pub pauses: u64,
}

/// Last request to the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Resumed,
    Paused,
}

impl Receiver {
    /// State after a reset: number 0 is next. The other end is not informed.
    pub fn new(config: Config) -> Self {
        let first = EraSeq::default();
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

    /// A frame with a valid header has arrived. Retransmissions take no part in gap detection.
    pub fn on_arrival(&mut self, signal: &PrototypeHeader) -> Arrival {
        match *signal {
            PrototypeHeader::Data { number, retransmitted, blocking, .. } => {
                let notification = if retransmitted { None } else { self.on_data(number) };
                Arrival { notification, verdict: Some(self.judge(number, blocking)) }
            }
            PrototypeHeader::Dummy { number, .. } => {
                Arrival { notification: self.on_dummy(number), verdict: None }
            }
            PrototypeHeader::Ack(_)
            | PrototypeHeader::Piggyback(_)
            | PrototypeHeader::Notification { .. } => Arrival { notification: None, verdict: None },
        }
    }

    /// Acknowledges the frame if there is no gap before it.
    fn on_data(&mut self, number: EraSeq) -> Option<PrototypeHeader> {
        let hole = self.detect(number.seq, number.seq.wrapping_add(1));
        if hole.is_none() {
            self.latest = number;
            self.acks_owed = self.config.acks_max;
        }
        hole.map(|hole| self.notify(hole, number))
    }

    /// A dummy carries a number that is not used yet, so the previous number is the last one sent.
    fn on_dummy(&mut self, number: EraSeq) -> Option<PrototypeHeader> {
        let hole = self.detect(number.seq, number.seq);
        hole.map(|hole| self.notify(hole, number.previous()))
    }

    /// Returns the first missing number and their count.
    fn detect(&mut self, seq: u16, expected_then: u16) -> Option<(u16, u16)> {
        let first_lost = std::mem::replace(&mut self.expected, expected_then);
        let lost = seq.wrapping_sub(first_lost);
        (lost > 0).then_some((first_lost, lost))
    }

    /// The only notification of a gap. It leaves the ACK register unchanged and cancels owed ACKs: an older
    /// ACK behind the notification would move the sender back.
    fn notify(&mut self, (first_lost, lost): (u16, u16), leading: EraSeq) -> PrototypeHeader {
        self.acks_owed = 0;
        self.counters.missed += u64::from(lost);
        self.counters.notifications += 1;
        PrototypeHeader::Notification { ack: Ack(leading), hole_size: lost as u8, first_lost }
    }

    /// Algorithm 1, for arriving frames and for frames from the RX loop. In non-blocking mode every frame is
    /// forwarded, and no state changes.
    pub fn judge(&mut self, number: EraSeq, blocking: bool) -> FrameVerdict {
        let order = if blocking { number.compare(self.ack_no) } else { Ordering::Equal };
        match order {
            Ordering::Equal => {
                if blocking {
                    self.ack_no = self.ack_no.next();
                    self.ticks_left = self.config.timeout_ticks;
                }
                self.counters.forwarded += 1;
                FrameVerdict::Forward
            }
            Ordering::Greater => FrameVerdict::Hold,
            Ordering::Less => {
                self.counters.dropped += 1;
                FrameVerdict::Drop
            }
        }
    }

    /// Algorithm 2, with the depth in cells that a frame sees when it leaves the RX loop.
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

    /// `count` [`TICK`](super::TICK)s have passed, at most [`Receiver::ticks_to_event`].
    pub fn on_ticks(&mut self, count: u64) -> TickOutcome {
        assert!(self.ticks_to_event().is_none_or(|event| count <= event), "an event was skipped");
        if count == 0 {
            return TickOutcome::default();
        }
        TickOutcome { given_up: self.count_down(count), pause: self.request.take() }
    }

    /// Takes the pause that waits for the next tick, for a host whose switch can send it at once.
    pub fn take_pause(&mut self) -> Option<Quanta> {
        self.request.take()
    }

    /// Ticks until one has an effect, if no frame arrives before.
    pub fn ticks_to_event(&self) -> Option<u64> {
        if self.request.is_some() { Some(1) } else { self.is_stalled().then_some(self.ticks_left.into()) }
    }

    /// Whether a frame before the last arrival is not delivered.
    fn is_stalled(&self) -> bool {
        self.ack_no.seq != self.expected
    }

    /// Gives up one number at a time, each after a full timeout. A tick cannot flip the era.
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

    /// The courier may leave, because no frame does. Returns its ACK; without one it is not sent.
    pub fn on_idle(&mut self) -> Option<Ack> {
        if self.config.ack_queue { self.on_egress() } else { None }
    }

    /// A normal frame leaves in the other direction. Returns its ACK, if one is owed.
    pub fn on_egress(&mut self) -> Option<Ack> {
        self.acks_owed = self.acks_owed.checked_sub(1)?;
        self.counters.acks += 1;
        Some(Ack(self.latest))
    }

    /// ACKs owed. With 0 the courier queue is silent.
    pub fn acks_owed(&self) -> u8 {
        self.acks_owed
    }

    /// Next number to deliver.
    pub fn ack_no(&self) -> EraSeq {
        self.ack_no
    }

    /// Counters.
    pub fn counters(&self) -> &ReceiverCounters {
        &self.counters
    }
}
