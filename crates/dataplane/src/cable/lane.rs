//! One direction of a cable.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wiremend_impair::{Fate, FrameFacts, Impairments, LinkFacts};
use wiremend_units::{Rate, Span, Time};

use super::Faults;
use crate::pace::Pace;
use crate::pool::{Pool, Slot};

/// One direction: frames stand in a queue, leave at the link's rate, arrive after its delay, or not.
pub struct Lane {
    pace: Option<Pace>,
    delay: Span,
    impairments: Impairments,
    /// Lists of faults, whatever else it does to frames.
    pub faults: Option<Faults>,
    queue_bytes_max: u64,
    /// With the time at which each has left the queue, and the time at which it arrives.
    frames: VecDeque<Flight>,
    /// Of those that have not yet left the queue.
    waiting: VecDeque<(Time, u32)>,
    waiting_bytes: u64,
    /// What was counted.
    pub counts: LaneCounts,
}

/// What a direction is made with.
#[derive(Debug)]
pub struct LaneConfig {
    /// None: as fast as the machine.
    pub rate: Option<Rate>,
    /// From the last bit in to the last bit out.
    pub delay: Span,
    /// Room before the wire.
    pub queue_bytes_max: u64,
    /// What it does to frames.
    pub impairments: Impairments,
    /// Lists of faults that are played or recorded.
    pub faults: Option<Faults>,
}

/// Exact counts of one direction.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LaneCounts {
    /// Frames that were put on the wire.
    pub carried: u64,
    /// Their bytes, without FCS.
    pub carried_bytes: u64,
    /// Of those, frames whose check failed at the other end.
    pub crc_errors: u64,
    /// Frames that arrived.
    pub delivered: u64,
    /// Frames for which the queue before the wire had no room.
    pub queue_dropped: u64,
    /// Frames for which there was no memory.
    pub pool_empty: u64,
    /// Frames too short or too long to be any.
    pub misshapen: u64,
    /// Frames that the interface at the other end did not take.
    pub refused: u64,
    /// The most bytes that waited.
    pub queue_bytes_max: u64,
}

#[derive(Clone, Copy)]
struct Flight {
    arrives: Time,
    slot: Slot,
}

const FCS_BYTES: u32 = 4;
const FRAME_BYTES_MIN: u32 = 64;

impl Lane {
    pub(super) fn new(config: LaneConfig, frame_bytes_max: u32) -> Self {
        Self {
            pace: config.rate.map(|rate| Pace::new(rate, 1, frame_bytes_max)),
            delay: config.delay,
            impairments: config.impairments,
            faults: config.faults,
            queue_bytes_max: config.queue_bytes_max,
            frames: VecDeque::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            counts: LaneCounts::default(),
        }
    }

    /// From here on it does this to frames.
    pub fn impair(&mut self, impairments: Impairments) {
        self.impairments = impairments;
    }

    pub(super) fn on_frame(
        &mut self,
        now: Time,
        pieces: [&[u8]; 3],
        link: Option<LinkFacts>,
        pool: &mut Pool,
    ) {
        let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
        while let Some((_, bytes)) = self.waiting.pop_front_if(|(leaves, _)| *leaves <= now) {
            self.waiting_bytes -= u64::from(bytes);
        }
        if self.waiting_bytes + bytes as u64 > self.queue_bytes_max {
            self.counts.queue_dropped += 1;
            return;
        }
        let leaves = match &mut self.pace {
            Some(pace) => {
                let leaves = pace.on_sent(now, bytes);
                self.waiting.push_back((leaves, bytes as u32));
                self.waiting_bytes += bytes as u64;
                self.counts.queue_bytes_max = self.counts.queue_bytes_max.max(self.waiting_bytes);
                leaves
            }
            None => now,
        };
        self.counts.carried += 1;
        self.counts.carried_bytes += bytes as u64;
        if self.is_hit(now, bytes, link) {
            self.counts.crc_errors += 1;
            return;
        }
        let Some(slot) = pool.reserve() else {
            self.counts.pool_empty += 1;
            return;
        };
        if !pool.fill(slot, pieces) {
            // A cable between ports of this length would not have carried it either.
            pool.let_go(slot);
            self.counts.misshapen += 1;
            return;
        }
        self.frames.push_back(Flight { arrives: leaves + self.delay, slot });
    }

    fn is_hit(&mut self, now: Time, bytes: usize, link: Option<LinkFacts>) -> bool {
        let frame_bytes = (bytes as u32 + FCS_BYTES).max(FRAME_BYTES_MIN);
        let facts = FrameFacts { link, ..FrameFacts::bare(frame_bytes) };
        let hit = self.impairments.fate(now, &facts) == Fate::Corrupt;
        self.faults.as_mut().map_or(hit, |faults| faults.corrupts(&facts, hit))
    }

    /// What arrives by now.
    pub(super) fn due(&self, now: Time) -> impl Iterator<Item = Slot> + '_ {
        self.frames.iter().take_while(move |frame| frame.arrives <= now).map(|frame| frame.slot)
    }

    pub(super) fn on_sent(&mut self, count: usize, pool: &mut Pool) {
        for frame in self.frames.drain(..count) {
            self.counts.delivered += 1;
            pool.let_go(frame.slot);
        }
    }

    pub(super) fn next_due(&self) -> Option<Time> {
        self.frames.front().map(|frame| frame.arrives)
    }
}
