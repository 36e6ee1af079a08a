//! Frames of open-loop loads that wait for the NIC port.

use std::collections::VecDeque;

use crate::frame::Frame;
use crate::port::CLASSES;

/// A queue of frames of open-loop loads. They leave in order of arrival, except for paused classes.
#[derive(Default)]
pub(super) struct RawQueue {
    /// By class, each frame with its number.
    queues: [VecDeque<(u64, Frame)>; CLASSES],
    /// Number of frames accepted.
    accepted: u64,
    waiting: usize,
}

impl RawQueue {
    /// Limit of queued frames per class.
    const WAITING_MAX: usize = 1024;

    /// Appends a frame, unless the queue of its class is full.
    pub(super) fn push(&mut self, frame: Frame) -> bool {
        let queue = &mut self.queues[usize::from(frame.class())];
        if queue.len() >= Self::WAITING_MAX {
            return false;
        }
        queue.push_back((self.accepted, frame));
        self.accepted += 1;
        self.waiting += 1;
        true
    }

    /// Removes the oldest frame of the classes that are `open`.
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

    pub(super) fn classes(&self) -> impl Iterator<Item = u8> {
        (0..CLASSES as u8).filter(|class| !self.queues[usize::from(*class)].is_empty())
    }
}
