//! Ports of memory, for tests and benchmarks without interfaces.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use crate::port::Port;
use crate::sys::packet::{Arrival, Pieces};

/// A port whose frames a test puts in and takes out.
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
    cut: bool,
}

impl MemoryPort {
    /// A frame arrives.
    pub fn put(&self, frame: &[u8]) {
        self.arrive(frame, None, false);
    }

    /// A frame arrives, whose tag the interface has taken out.
    pub fn put_tagged(&self, frame: &[u8], tag: [u8; 4]) {
        self.arrive(frame, Some(tag), false);
    }

    /// A frame arrives of which this is the beginning: it was longer than the port was opened for.
    pub fn put_cut(&self, beginning: &[u8]) {
        self.arrive(beginning, None, true);
    }

    /// A frame that was sent.
    pub fn next_sent(&self) -> Option<Vec<u8>> {
        self.shared.borrow_mut().sent.pop_front()
    }

    /// Takes only so many frames from here on; none: all.
    pub fn limit(&self, room: Option<usize>) {
        self.shared.borrow_mut().room = room;
    }

    /// Whether it refuses all frames from here on, as an interface that is down does.
    pub fn set_down(&self, down: bool) {
        self.shared.borrow_mut().down = down;
    }

    fn arrive(&self, frame: &[u8], tag: Option<[u8; 4]>, cut: bool) {
        self.shared.borrow_mut().arriving.push_back(Arriving { frame: frame.to_vec(), tag, cut });
    }
}

impl Port for MemoryPort {
    fn take(&mut self) -> Option<Arrival> {
        let Arriving { frame, tag, cut } = self.shared.borrow_mut().arriving.pop_front()?;
        self.taken.push(frame);
        Some(Arrival { place: self.taken.len() as u32 - 1, tag, cut })
    }

    fn bytes(&self, arrival: &Arrival) -> &[u8] {
        &self.taken[arrival.place as usize]
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
