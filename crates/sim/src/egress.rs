//! The scheduled side of a port: frames wait in classes, and a departure is settled when transmission starts.
//!
//! With one class and no limit it behaves exactly as a port without it, which a test of whole runs checks. To
//! keep that so at equal instants, room in the buffer is judged by time and not by which event came first: a
//! frame takes room from its arrival until its last bit has left, that instant excluded.

use std::collections::VecDeque;

use wiremend_units::{Span, Time};

use crate::store::FrameId;

pub(crate) const CLASSES: usize = 8;

pub(crate) struct Egress {
    queues: [VecDeque<Waiting>; CLASSES],
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

/// A frame at a port: its bytes, and the time it needs of the wire.
#[derive(Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) frame: FrameId,
    pub(crate) len: u16,
    pub(crate) cost: Span,
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

    /// Takes a frame; `busy_until` is when the wire falls free.
    pub(crate) fn offer(&mut self, now: Time, waiting: Waiting, class: u8, busy_until: Time) -> Taken {
        if !self.has_room(now, waiting.len) {
            return Taken::Dropped;
        }
        if self.immediate || (self.frames == 0 && busy_until <= now) {
            self.note_leaving(busy_until.max(now) + waiting.cost, waiting.len);
            return Taken::Passed;
        }
        self.queued_bytes += u64::from(waiting.len);
        self.backlog += waiting.cost;
        self.frames += 1;
        self.queues[usize::from(class)].push_back(waiting);
        Taken::Queued
    }

    /// The frame whose transmission starts now.
    pub(crate) fn next(&mut self, now: Time) -> Option<FrameId> {
        let waiting = self.queues.iter_mut().rev().find_map(VecDeque::pop_front)?;
        self.queued_bytes -= u64::from(waiting.len);
        self.backlog = self.backlog - waiting.cost;
        self.frames -= 1;
        self.note_leaving(now + waiting.cost, waiting.len);
        Some(waiting.frame)
    }

    pub(crate) fn has_queued(&self) -> bool {
        self.frames > 0
    }

    pub(crate) fn backlog(&self) -> Span {
        self.backlog
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
