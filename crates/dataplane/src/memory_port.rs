//! In-memory ports for tests and benchmarks.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use crate::port::Port;
use crate::sys::packet::{Pieces, RxFrame};

/// A port whose received frames a test supplies and whose sent frames it reads.
#[derive(Clone, Default)]
pub struct MemoryPort {
    shared: Rc<RefCell<Shared>>,
    taken: Vec<Vec<u8>>,
}

#[derive(Default)]
struct Shared {
    arriving: VecDeque<Arriving>,
    sent: VecDeque<Vec<u8>>,
    room: Option<usize>,
    down: bool,
}

struct Arriving {
    frame: Vec<u8>,
    tag: Option<[u8; 4]>,
    truncated: bool,
}

impl MemoryPort {
    /// Delivers a frame to the port.
    pub fn put(&self, frame: &[u8]) {
        self.arrive(frame, None, false);
    }

    /// Delivers a frame whose VLAN tag the interface has stripped.
    pub fn put_tagged(&self, frame: &[u8], tag: [u8; 4]) {
        self.arrive(frame, Some(tag), false);
    }

    /// Delivers a truncated frame, one that was longer than the port accepts.
    pub fn put_truncated(&self, beginning: &[u8]) {
        self.arrive(beginning, None, true);
    }

    /// Returns the next frame that was sent on the port.
    pub fn next_sent(&self) -> Option<Vec<u8>> {
        self.shared.borrow_mut().sent.pop_front()
    }

    /// Limits the number of frames that the port still accepts for sending. `None` removes the limit.
    pub fn set_capacity(&self, room: Option<usize>) {
        self.shared.borrow_mut().room = room;
    }

    /// Makes sending fail, as on an interface that is down.
    pub fn set_down(&self, down: bool) {
        self.shared.borrow_mut().down = down;
    }

    fn arrive(&self, frame: &[u8], tag: Option<[u8; 4]>, truncated: bool) {
        self.shared.borrow_mut().arriving.push_back(Arriving { frame: frame.to_vec(), tag, truncated });
    }
}

impl Port for MemoryPort {
    fn take(&mut self) -> Option<RxFrame> {
        let Arriving { frame, tag, truncated } = self.shared.borrow_mut().arriving.pop_front()?;
        self.taken.push(frame);
        Some(RxFrame::new(self.taken.len() as u32 - 1, tag, truncated))
    }

    fn bytes(&self, rx_frame: &RxFrame) -> &[u8] {
        &self.taken[rx_frame.index as usize]
    }

    fn release(&mut self) {
        self.taken.clear();
    }

    fn send(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        let shared = &mut *self.shared.borrow_mut();
        if shared.down {
            return Err(io::ErrorKind::NetworkDown.into());
        }
        let count = frames.len().min(shared.room.unwrap_or(usize::MAX));
        if let Some(room) = &mut shared.room {
            *room -= count;
        }
        shared.sent.extend(frames[..count].iter().map(ConcatBytes::concat_bytes));
        Ok(count)
    }
}

trait ConcatBytes {
    fn concat_bytes(&self) -> Vec<u8>;
}

impl ConcatBytes for Pieces<'_> {
    fn concat_bytes(&self) -> Vec<u8> {
        self.iter().flat_map(|piece| piece.iter().copied()).collect()
    }
}
