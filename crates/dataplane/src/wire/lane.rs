//! One direction of a wire.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wiremend_impair::{Fate, FrameFacts, Impairments, LinkFacts};
use wiremend_units::{Rate, Span, Time};

use super::FaultInjector;
use super::segment_fault::SegmentFault;
use crate::pacer::Pacer;
use crate::pool::{Pool, Slot};

/// One direction of a wire: a queue, a rate, a delay and impairments.
pub struct Lane {
    pacer: Option<Pacer>,
    delay: Span,
    impairments: Impairments,
    /// Fault list, beside the other impairments.
    pub faults: Option<FaultInjector>,
    segment_fault: Option<SegmentFault>,
    queue_bytes_max: u64,
    /// Frames in the queue or in flight, with their arrival times.
    frames: VecDeque<Flight>,
    /// Departure time and length of the frames in the queue.
    waiting: VecDeque<(Time, u32)>,
    waiting_bytes: u64,
    /// Counters.
    pub counts: LaneCounts,
}

/// Configuration of one direction.
#[derive(Debug)]
pub struct LaneConfig {
    /// `None`: no rate limit.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Span,
    /// Size of the queue.
    pub queue_bytes_max: u64,
    /// Impairments.
    pub impairments: Impairments,
    /// Fault list to apply or record.
    pub faults: Option<FaultInjector>,
}

/// Counters of one direction.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LaneCounts {
    /// Frames sent on the wire.
    pub carried: u64,
    /// Bytes sent, without FCS.
    pub carried_bytes: u64,
    /// Frames with a wrong FCS at the other end.
    pub crc_errors: u64,
    /// Frames delivered.
    pub delivered: u64,
    /// Frames dropped because the queue was full.
    pub queue_dropped: u64,
    /// Frames dropped because the frame memory was full.
    pub pool_empty: u64,
    /// Frames dropped because they were too short or too long.
    pub bad_length: u64,
    /// Frames that the other interface did not accept.
    pub refused: u64,
    /// Maximum length of the queue in bytes.
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
            pacer: config.rate.map(|rate| Pacer::new(rate, 1, frame_bytes_max)),
            delay: config.delay,
            impairments: config.impairments,
            faults: config.faults,
            segment_fault: None,
            queue_bytes_max: config.queue_bytes_max,
            frames: VecDeque::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            counts: LaneCounts::default(),
        }
    }

    /// Replaces the impairments.
    pub fn impair(&mut self, impairments: Impairments) {
        self.impairments = impairments;
    }

    /// Corrupts the segment with this byte of each TCP connection that starts from now on; `None` for no segment.
    pub fn corrupt_segment(&mut self, byte: Option<u32>) {
        self.segment_fault = byte.map(SegmentFault::new);
    }

    fn corrupts_segment(&mut self, frame: &[u8]) -> bool {
        self.segment_fault.as_mut().is_some_and(|fault| fault.corrupts(frame))
    }

    pub(super) fn on_frame(
        &mut self,
        now: Time,
        pieces: [&[u8]; 3],
        link: Option<LinkFacts>,
        untagged: Option<&[u8]>,
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
        let leaves = match &mut self.pacer {
            Some(pacer) => {
                let leaves = pacer.on_sent(now, bytes);
                self.waiting.push_back((leaves, bytes as u32));
                self.waiting_bytes += bytes as u64;
                self.counts.queue_bytes_max = self.counts.queue_bytes_max.max(self.waiting_bytes);
                leaves
            }
            None => now,
        };
        self.counts.carried += 1;
        self.counts.carried_bytes += bytes as u64;
        let is_chosen = untagged.is_some_and(|frame| self.corrupts_segment(frame));
        if self.is_corrupted(now, bytes, link) | is_chosen {
            self.counts.crc_errors += 1;
            return;
        }
        let Some(slot) = pool.allocate() else {
            self.counts.pool_empty += 1;
            return;
        };
        if !pool.fill(slot, pieces) {
            pool.release(slot);
            self.counts.bad_length += 1;
            return;
        }
        self.frames.push_back(Flight { arrives: leaves + self.delay, slot });
    }

    fn is_corrupted(&mut self, now: Time, bytes: usize, link: Option<LinkFacts>) -> bool {
        let frame_bytes = (bytes as u32 + FCS_BYTES).max(FRAME_BYTES_MIN);
        let facts = FrameFacts { link, ..FrameFacts::bare(frame_bytes) };
        let corrupted = self.impairments.fate(now, &facts) == Fate::Corrupt;
        self.faults.as_mut().map_or(corrupted, |faults| faults.corrupts(&facts, corrupted))
    }

    pub(super) fn due(&self, now: Time) -> impl Iterator<Item = Slot> + '_ {
        self.frames.iter().take_while(move |frame| frame.arrives <= now).map(|frame| frame.slot)
    }

    pub(super) fn on_sent(&mut self, count: usize, pool: &mut Pool) {
        for frame in self.frames.drain(..count) {
            self.counts.delivered += 1;
            pool.release(frame.slot);
        }
    }

    pub(super) fn next_due(&self) -> Option<Time> {
        self.frames.front().map(|frame| frame.arrives)
    }
}
