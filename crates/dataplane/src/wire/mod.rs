//! An emulated wire between two interfaces, with rate, delay, queue and impairments.

mod fault_injector;
mod impairment;
mod lane;
mod segment_fault;
mod service;

pub use fault_injector::{FaultInjector, FaultRecorder};
pub use impairment::ImpairmentSettings;
pub use lane::{Lane, LaneConfig, LaneCounts};
pub use service::{WireRequest, WireService, WireSettings, WireStatus};
pub use wiremend_impair::{Direction, FaultList};

use std::io::IoSlice;

use wiremend_units::{Span, Time};

use crate::pool::Pool;
use crate::port::Port;
use crate::sys::packet::{Pieces, SEND_MAX};

/// Connects two ports. It has no clock and never blocks.
pub struct Wire<P> {
    ends: [P; 2],
    /// From end A to end B, and from B to A.
    lanes: [Lane; 2],
    pool: Pool,
    refused: bool,
}

const FULL_PORT_DELAY: Span = Span::from_us(20);

impl<P: Port> Wire<P> {
    /// Creates a wire with memory for `slots` frames in flight.
    pub fn new(ends: [P; 2], lanes: [LaneConfig; 2], slots: u32, frame_bytes_max: u32) -> Self {
        Self {
            ends,
            lanes: lanes.map(|lane| Lane::new(lane, frame_bytes_max)),
            pool: Pool::new(slots, frame_bytes_max as usize),
            refused: false,
        }
    }
    /// Takes received frames and sends due ones, at most one batch each. Returns whether there may be more.
    pub fn run_once(&mut self, now: Time) -> bool {
        self.refused = false;
        let mut more = false;
        for from in 0..2 {
            more |= self.take(from, now);
            more |= self.send(from, now);
        }
        more
    }

    /// Time of the next call of [`Self::run_once`] if no frame arrives before. `None`: no deadline.
    pub fn next_due(&self, now: Time) -> Option<Time> {
        let refused = self.refused.then(|| now + FULL_PORT_DELAY);
        self.lanes.iter().filter_map(Lane::next_due).chain(refused).min()
    }

    /// The two directions.
    pub fn lanes(&self) -> &[Lane; 2] {
        &self.lanes
    }

    /// The two directions, mutable.
    pub fn lanes_mut(&mut self) -> &mut [Lane; 2] {
        &mut self.lanes
    }

    /// The two ports.
    pub fn ends(&self) -> &[P; 2] {
        &self.ends
    }

    fn take(&mut self, from: usize, now: Time) -> bool {
        let (port, lane) = (&mut self.ends[from], &mut self.lanes[from]);
        let mut taken = 0;
        while taken < SEND_MAX
            && let Some(rx_frame) = port.take()
        {
            taken += 1;
            let frame = port.bytes(&rx_frame);
            if rx_frame.truncated || frame.len() < ADDRESSES_BYTES {
                lane.counts.bad_length += 1;
                continue;
            }
            let link = lane.faults.as_ref().filter(|_| rx_frame.tag.is_none()).and_then(|it| it.read(frame));
            let untagged = rx_frame.tag.is_none().then_some(frame);
            let (addresses, rest) = frame.split_at(ADDRESSES_BYTES);
            let tag = rx_frame.tag.as_ref().map_or(&[][..], |tag| &tag[..]);
            lane.on_frame(now, [addresses, tag, rest], link, untagged, &mut self.pool);
        }
        port.release();
        taken == SEND_MAX
    }

    fn send(&mut self, from: usize, now: Time) -> bool {
        let mut batch: [Pieces<'_>; SEND_MAX] = [[IoSlice::new(&[]); 3]; SEND_MAX];
        let mut count = 0;
        for (pieces, slot) in batch.iter_mut().zip(self.lanes[from].due(now)) {
            pieces[0] = IoSlice::new(self.pool.frame(slot));
            count += 1;
        }
        if count == 0 {
            return false;
        }
        // The other interface is down or refuses the frame: the frame is lost.
        let sent = self.ends[1 - from].send(&batch[..count]).unwrap_or_else(|_| {
            self.lanes[from].counts.refused += 1;
            1
        });
        self.lanes[from].on_sent(sent, &mut self.pool);
        self.refused |= sent < count;
        sent == SEND_MAX
    }
}

const ADDRESSES_BYTES: usize = 12;
