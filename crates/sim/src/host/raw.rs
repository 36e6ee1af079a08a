//! Frames of open-loop loads that wait for a host's port.

use std::collections::VecDeque;

use crate::frame::Frame;
use crate::port::CLASSES;

/// They leave in the order they came, but for classes that must wait.
#[derive(Default)]
pub(super) struct RawFrames {
    /// By class, each with its number.
    queues: [VecDeque<(u64, Frame)>; CLASSES],
    /// Frames taken so far.
    taken: u64,
    waiting: usize,
}

impl RawFrames {
    /// Frames of a class that wait at most.
    const WAITING_MAX: usize = 1024;

    /// Takes a frame, unless too many of its class wait.
    pub(super) fn push(&mut self, frame: Frame) -> bool {
        let queue = &mut self.queues[usize::from(frame.class())];
        if queue.len() >= Self::WAITING_MAX {
            return false;
        }
        queue.push_back((self.taken, frame));
        self.taken += 1;
        self.waiting += 1;
        true
    }

    /// The oldest frame of the classes that are `open`.
    pub(super) fn pop(&mut self, open: impl Fn(u8) -> bool) -> Option<Frame> {
        let first = |queue: &&mut VecDeque<(u64, Frame)>| queue.front().map_or(u64::MAX, |first| first.0);
        let queue = self
            .queues
            .iter_mut()
            .enumerate()
            .filter(|(class, queue)| !queue.is_empty() && open(*class as u8))
            .map(|(_, queue)| queue)
            .min_by_key(first)?;
        self.waiting -= 1;
        queue.pop_front().map(|(_, frame)| frame)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// The classes of the frames that wait.
    pub(super) fn classes(&self) -> impl Iterator<Item = u8> {
        (0..CLASSES as u8).filter(|class| !self.queues[usize::from(*class)].is_empty())
    }
}
