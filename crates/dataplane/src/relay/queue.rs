//! The queue before the link: link-local frames first, then all others, bounded in bytes.

use std::collections::VecDeque;

use super::ProtectionMode;
use crate::pool::Slot;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Queued {
    pub(super) slot: Slot,
    pub(super) bytes: u32,
    pub(super) protection: ProtectionMode,
    /// First frame after a change of classes: it leaves when all earlier frames have arrived.
    pub(super) after_change: bool,
}
/// Two queues of strict priority with a common bound. Retransmissions, in the endpoint, go before both.
#[derive(Debug)]
pub(super) struct Queue {
    link_local: VecDeque<Queued>,
    normal: VecDeque<Queued>,
    bytes: u64,
    bytes_max: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scope {
    /// The neighbouring bridge or station: LLDP, LACP, spanning tree. Such a frame never waits.
    LinkLocal,
    /// All other destinations.
    Normal,
}

impl Scope {
    /// Classifies by the destination address (IEEE 802.1Q table 8-1: 01-80-C2-00-00-00 to 0F).
    pub(super) fn from_frame(frame: &[u8]) -> Self {
        match frame {
            [0x01, 0x80, 0xC2, 0x00, 0x00, last, ..] if *last < 0x10 => Self::LinkLocal,
            _ => Self::Normal,
        }
    }
}

impl Queue {
    pub(super) fn new(bytes_max: u64) -> Self {
        Self { link_local: VecDeque::new(), normal: VecDeque::new(), bytes: 0, bytes_max }
    }

    #[inline]
    pub(super) fn has_room(&self, bytes: u32) -> bool {
        self.bytes + u64::from(bytes) <= self.bytes_max
    }

    #[inline]
    pub(super) fn push(&mut self, scope: Scope, frame: Queued) {
        self.bytes += u64::from(frame.bytes);
        match scope {
            Scope::LinkLocal => self.link_local.push_back(frame),
            Scope::Normal => self.normal.push_back(frame),
        }
    }

    #[inline]
    pub(super) fn front(&self) -> Option<Queued> {
        self.link_local.front().or_else(|| self.normal.front()).copied()
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Queued> {
        let frame = self.link_local.pop_front().or_else(|| self.normal.pop_front())?;
        self.bytes -= u64::from(frame.bytes);
        Some(frame)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Pool;

    #[test]
    fn link_local_frames_go_first_and_bytes_are_bounded() {
        let mut pool = Pool::new(2, 64);
        let mut queue = Queue::new(200);
        let mut push = |scope, bytes| {
            queue.push(
                scope,
                Queued {
                    slot: pool.allocate().unwrap(),
                    bytes,
                    protection: ProtectionMode::Ordered,
                    after_change: false,
                },
            );
        };
        push(Scope::Normal, 100);
        push(Scope::LinkLocal, 60);
        assert!(queue.has_room(40) && !queue.has_room(41));
        assert_eq!(queue.front().map(|frame| frame.bytes), Some(60));
        assert_eq!([queue.pop(), queue.pop()].map(|frame| frame.unwrap().bytes), [60, 100]);
        assert_eq!((queue.bytes(), queue.pop()), (0, None));
    }

    #[test]
    fn addresses_that_bridges_never_forward_are_link_local() {
        assert_eq!(Scope::from_frame(&[0x01, 0x80, 0xC2, 0, 0, 0x0E, 9]), Scope::LinkLocal);
        assert_eq!(Scope::from_frame(&[0x01, 0x80, 0xC2, 0, 0, 0x10, 9]), Scope::Normal);
        assert_eq!(Scope::from_frame(&[0x01]), Scope::Normal);
    }
}
