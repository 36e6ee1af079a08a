//! The loopback port of a switch through which the prototype's buffers turn (LG §3.5, §4.6).
//!
//! A frame that is buffered leaves by the loopback port, comes back into the pipeline, is judged there, and goes round again until it may go or is
//! no longer needed. So the port's rate is shared by all protected ports of the switch, a frame is examined once a turn
//! and not when its time has come, and what turns takes a share of the pipeline.

use std::collections::VecDeque;

use wiremend_proto::link::paper::{CELL_BYTES, Number};
use wiremend_units::{Bytes, Rate, Span, SwitchId, Time};

use super::ProtectedId;
use crate::frame::{FrameId, GAP_BYTES};
use crate::link::Lanes;

/// How fast buffers turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) rate: Rate,
    /// From the last bit that leaves by the loopback port to the judgement.
    pub(crate) latency: Span,
    /// From a frame's departure to its copy's arrival in the queue of the loopback port.
    pub(crate) mirror: Span,
}

/// The loopback port of one switch.
pub(crate) struct Loopback {
    pub(crate) turn: Turn,
    /// Copies on their way to the queue.
    mirrored: VecDeque<(Time, Turning)>,
    queue: VecDeque<Turning>,
    /// Frames that have left the queue, and when they are judged.
    passing: VecDeque<(Time, Turning)>,
    busy_until: Time,
}

/// A buffered frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turning {
    /// The port whose buffer it is in.
    pub(crate) port: ProtectedId,
    pub(crate) side: Side,
    pub(crate) number: Number,
    pub(crate) frame: FrameId,
    pub(crate) len: u16,
}

/// Which buffer of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// Copies of what was sent.
    Tx,
    /// What came too early.
    Rx,
}

/// What happens at the loopback port.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// A copy has come to the queue.
    Mirrored(Turning),
    /// A frame leaves the queue.
    Dequeued(Turning),
    /// A frame has come round.
    Judged(Turning),
}

impl Loopback {
    pub(crate) fn new(turn: Turn) -> Self {
        Self {
            turn,
            mirrored: VecDeque::new(),
            queue: VecDeque::new(),
            passing: VecDeque::new(),
            busy_until: Time::ZERO,
        }
    }

    /// A frame has left; its copy follows.
    pub(crate) fn mirror(&mut self, now: Time, turning: Turning) {
        self.mirrored.push_back((now + self.turn.mirror, turning));
    }

    /// A frame joins the queue.
    pub(crate) fn enqueue(&mut self, turning: Turning) {
        self.queue.push_back(turning);
    }

    /// Comes back when something happens next.
    pub(super) fn arm(&self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        if let Some(due) = self.next_due() {
            lanes.queue.arm_by(lanes.sources.inside(switch), due.max(now));
        }
    }

    /// When something happens next.
    fn next_due(&self) -> Option<Time> {
        let mirrored = self.mirrored.front().map(|(at, _)| *at);
        let dequeued = (!self.queue.is_empty()).then_some(self.busy_until);
        let judged = self.passing.front().map(|(at, _)| *at);
        [mirrored, dequeued, judged].into_iter().flatten().min()
    }

    /// What happens now or was due before. Judgements come first, so that what goes round again waits behind nothing that comes at the same
    /// instant.
    pub(crate) fn step(&mut self, now: Time) -> Option<Step> {
        if let Some((_, turning)) = self.passing.pop_front_if(|(at, _)| *at <= now) {
            return Some(Step::Judged(turning));
        }
        if let Some((_, turning)) = self.mirrored.pop_front_if(|(at, _)| *at <= now) {
            return Some(Step::Mirrored(turning));
        }
        if self.busy_until > now {
            return None;
        }
        let turning = self.queue.pop_front()?;
        self.busy_until = now + self.turn.rate.serialize(Bytes::new(u64::from(turning.len) + GAP_BYTES));
        self.passing.push_back((self.busy_until + self.turn.latency, turning));
        Some(Step::Dequeued(turning))
    }
}

/// Cells that a frame takes of a switch's memory.
pub(crate) fn cells(len: u16) -> u32 {
    u64::from(len).div_ceil(CELL_BYTES) as u32
}
