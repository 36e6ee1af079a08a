//! A cable between two interfaces, with a rate, a delay, a queue and a will to corrupt: the stand-in for an optical attenuator.

mod ailment;
mod faults;
mod lane;
mod service;

pub use ailment::Ailment;
pub use faults::{Faults, Record};
pub use lane::{Lane, LaneConfig, LaneCounts};
pub use service::{CableRequest, CableService, CableSettings, CableStatus};
pub use wiremend_impair::{FaultList, Way};

use std::io::IoSlice;

use wiremend_units::{Span, Time};

use crate::pool::Pool;
use crate::port::Port;
use crate::sys::packet::{Pieces, SEND_MAX};

/// Joins two ports as a cable would. It has no clock and waits for nothing.
pub struct Cable<P> {
    ends: [P; 2],
    /// From the first end to the second, and back.
    lanes: [Lane; 2],
    pool: Pool,
    /// A port had no room.
    refused: bool,
}

/// A port that had no room is asked again after this.
const REFUSED_WAIT: Span = Span::from_us(20);

impl<P: Port> Cable<P> {
    /// A cable with memory for so many frames under way.
    pub fn new(ends: [P; 2], lanes: [LaneConfig; 2], slots: u32, frame_bytes_max: u32) -> Self {
        Self {
            ends,
            lanes: lanes.map(|lane| Lane::new(lane, frame_bytes_max)),
            pool: Pool::new(slots, frame_bytes_max as usize),
            refused: false,
        }
    }

    /// Takes what has arrived and sends what is due: at most a batch of each. True: there may be more to take.
    pub fn turn(&mut self, now: Time) -> bool {
        self.refused = false;
        let mut more = false;
        for from in 0..2 {
            more |= self.take(from, now);
            more |= self.send(from, now);
        }
        more
    }

    /// When to turn, if nothing arrives before. None: never.
    pub fn next_due(&self, now: Time) -> Option<Time> {
        let refused = self.refused.then(|| now + REFUSED_WAIT);
        self.lanes.iter().filter_map(Lane::next_due).chain(refused).min()
    }

    /// The two directions.
    pub fn lanes(&self) -> &[Lane; 2] {
        &self.lanes
    }

    /// The two directions, to be changed.
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
            && let Some(arrival) = port.take()
        {
            taken += 1;
            let frame = port.bytes(&arrival);
            if arrival.cut || frame.len() < ADDRESSES_BYTES {
                lane.counts.misshapen += 1;
                continue;
            }
            let link = lane.faults.as_ref().filter(|_| arrival.tag.is_none()).and_then(|it| it.read(frame));
            let (addresses, rest) = frame.split_at(ADDRESSES_BYTES);
            let tag = arrival.tag.as_ref().map_or(&[][..], |tag| &tag[..]);
            lane.on_frame(now, [addresses, tag, rest], link, &mut self.pool);
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
        // The other interface is down, or refuses the frame: a cable without a station at its end.
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
