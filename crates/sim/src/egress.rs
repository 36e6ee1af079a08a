//! The scheduled side of a port: frames wait in classes, and a departure is settled when transmission starts.
//!
//! With one class and no limit it behaves exactly as a port without it, which a test of whole runs checks. To
//! keep that so at equal instants, room in the buffer is judged by time and not by which event came first: a
//! frame takes room from its arrival until its last bit has left, that instant excluded.

use std::collections::VecDeque;

use wiremend_units::{Span, Time};

use crate::frame::Frame;

pub(crate) const CLASSES: usize = 8;

pub(crate) struct Egress {
    queues: [VecDeque<(Frame, Span)>; CLASSES],
    /// Settle departures at once where that cannot be told from waiting: one class, first in, first out.
    immediate: bool,
    buffer_bytes_max: Option<u64>,
    /// Frames whose last bit has not left, oldest first: when it leaves, and bytes. Kept only with a limit.
    leaving: VecDeque<(Time, u32)>,
    leaving_bytes: u64,
    queued_bytes: u64,
    backlog: Span,
    frames: usize,
}

/// What became of a frame offered to a port.
pub(crate) enum Taken {
    /// There is no room.
    Dropped,
    /// It can leave now, or its departure can be settled now.
    Passed,
    /// It waits.
    Queued,
}

impl Egress {
    /// First in, first out, with room for `buffer_bytes_max`.
    pub(crate) fn fifo(buffer_bytes_max: u64) -> Self {
        Self::with(true, Some(buffer_bytes_max))
    }

    /// Strict classes, the highest number first.
    pub(crate) fn strict(buffer_bytes_max: Option<u64>) -> Self {
        Self::with(false, buffer_bytes_max)
    }

    fn with(immediate: bool, buffer_bytes_max: Option<u64>) -> Self {
        Self {
            queues: Default::default(),
            immediate,
            buffer_bytes_max,
            leaving: VecDeque::new(),
            leaving_bytes: 0,
            queued_bytes: 0,
            backlog: Span::ZERO,
            frames: 0,
        }
    }

    /// Takes a frame that needs `cost` of the wire; `busy_until` is when the wire falls free.
    pub(crate) fn offer(&mut self, now: Time, frame: Frame, cost: Span, busy_until: Time) -> Taken {
        if !self.has_room(now, frame.len) {
            return Taken::Dropped;
        }
        if self.immediate || (self.frames == 0 && busy_until <= now) {
            self.note_leaving(busy_until.max(now) + cost, frame.len);
            return Taken::Passed;
        }
        self.queued_bytes += u64::from(frame.len);
        self.backlog += cost;
        self.frames += 1;
        self.queues[usize::from(frame.class)].push_back((frame, cost));
        Taken::Queued
    }

    /// The frame whose transmission starts now.
    pub(crate) fn next(&mut self, now: Time) -> Option<Frame> {
        let (frame, cost) = self.queues.iter_mut().rev().find_map(VecDeque::pop_front)?;
        self.queued_bytes -= u64::from(frame.len);
        self.backlog = self.backlog - cost;
        self.frames -= 1;
        self.note_leaving(now + cost, frame.len);
        Some(frame)
    }

    pub(crate) fn has_queued(&self) -> bool {
        self.frames > 0
    }

    pub(crate) fn backlog(&self) -> Span {
        self.backlog
    }

    /// Frames that wait, for the books at the end of a run.
    pub(crate) fn queued(&self) -> usize {
        self.frames
    }

    fn has_room(&mut self, now: Time, len: u16) -> bool {
        let Some(max) = self.buffer_bytes_max else { return true };
        while self.leaving.front().is_some_and(|(done, _)| *done <= now) {
            let (_, bytes) = self.leaving.pop_front().expect("the front was there");
            self.leaving_bytes -= u64::from(bytes);
        }
        self.leaving_bytes + self.queued_bytes + u64::from(len) <= max
    }

    fn note_leaving(&mut self, done: Time, len: u16) {
        if self.buffer_bytes_max.is_some() {
            self.leaving.push_back((done, u32::from(len)));
            self.leaving_bytes += u64::from(len);
        }
    }
}
