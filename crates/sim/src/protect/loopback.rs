//! The loopback port of a switch, in which the prototype buffers frames (LG §3.5, §4.6).
//!
//! A buffered frame leaves by the loopback port, re-enters the pipeline, is checked there, and loops again
//! until it is sent or no longer needed. So all protected ports of the switch share the rate of the loopback
//! port, a frame is checked once per loop and not when it is due, and looping frames use pipeline bandwidth.

use std::collections::VecDeque;

use wiremend_proto::link::prototype::{CELL_BYTES, EraSeq};
use wiremend_units::{Bytes, Rate, Span, SwitchId, Time};

use super::ProtectedId;
use crate::frame::{FrameId, GAP_BYTES};
use crate::link::Lanes;

#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopbackTiming {
    pub(crate) rate: Rate,
    /// Time from the last bit leaving by the loopback port to the check.
    pub(crate) turn: Span,
    /// Time from the check of a requested copy to the queue of retransmissions.
    pub(crate) resend: Span,
}

/// The loopback port of one switch.
pub(crate) struct Loopback {
    pub(crate) timing: LoopbackTiming,
    queue: VecDeque<BufferedFrame>,
    /// Frames that have left the queue, with the times of their checks.
    passing: VecDeque<(Time, BufferedFrame)>,
    busy_until: Time,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferedFrame {
    pub(crate) port: ProtectedId,
    pub(crate) side: Side,
    pub(crate) number: EraSeq,
    pub(crate) frame: FrameId,
    pub(crate) len: u16,
}

/// A buffer of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// Copies of sent frames.
    Tx,
    /// Frames that arrived out of order.
    Rx,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum LoopbackStep {
    /// A frame leaves the queue.
    Dequeued(BufferedFrame),
    /// A frame has looped and is checked.
    Judged(BufferedFrame),
}

impl Loopback {
    pub(crate) fn new(timing: LoopbackTiming) -> Self {
        Self { timing, queue: VecDeque::new(), passing: VecDeque::new(), busy_until: Time::ZERO }
    }

    pub(crate) fn enqueue(&mut self, buffered: BufferedFrame) {
        self.queue.push_back(buffered);
    }

    /// Schedules the next step.
    pub(super) fn arm(&self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        if let Some(due) = self.next_due() {
            lanes.queue.arm_by(lanes.sources.switch_timer(switch), due.max(now));
        }
    }

    fn next_due(&self) -> Option<Time> {
        let dequeued = (!self.queue.is_empty()).then_some(self.busy_until);
        let judged = self.passing.front().map(|(at, _)| *at);
        [dequeued, judged].into_iter().flatten().min()
    }

    /// Returns the next step that is due. Checks come first, so that a frame that loops again may leave at the
    /// same time.
    pub(crate) fn poll(&mut self, now: Time) -> Option<LoopbackStep> {
        if let Some((_, buffered)) = self.passing.pop_front_if(|(at, _)| *at <= now) {
            return Some(LoopbackStep::Judged(buffered));
        }
        if self.busy_until > now {
            return None;
        }
        let buffered = self.queue.pop_front()?;
        self.busy_until = now + self.timing.rate.serialize(Bytes::new(u64::from(buffered.len) + GAP_BYTES));
        self.passing.push_back((self.busy_until + self.timing.turn, buffered));
        Some(LoopbackStep::Dequeued(buffered))
    }
}

/// Returns the buffer cells of a frame.
pub(crate) fn cells(len: u16) -> u32 {
    u64::from(len).div_ceil(CELL_BYTES) as u32
}
