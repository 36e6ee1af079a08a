//! Segments in flight: one record for each unacknowledged segment.
//!
//! An ACK costs time in proportion to what it newly acknowledges: SACK blocks are merged as ranges, and loss
//! detection resumes where it stopped. New segments are in order of send time. Retransmissions have a queue
//! of their own, so both are in the time order that RACK needs.

use std::collections::VecDeque;

use wiremend_units::{Span, Time};

use super::delivery::{Delivery, Newest, Snapshot};
use super::rack::Rack;
use super::ranges::{Ranges, SeqRange};
use super::stream::Piece;

#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    records: VecDeque<Record>,
    first: u64,
    /// Indices of sacked segments.
    sacked: Ranges,
    /// Indices of segments to retransmit. Entries may be stale, except the first.
    lost: VecDeque<u64>,
    retransmissions: VecDeque<(u64, Time)>,
    /// First transmissions below this index are checked for loss.
    checked: u64,
    pub(super) pipe: u64,
    /// Sacked segments and their bytes.
    pub(super) sacked_count: u32,
    pub(super) sacked_bytes: u64,
    /// Bytes declared lost since the start.
    pub(super) lost_bytes: u64,
    pub(super) delivery: Delivery,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) seq: u64,
    pub(super) sent: Time,
    snapshot: Snapshot,
    pub(super) len: u16,
    pub(super) copies: u8,
    pub(super) push: bool,
    pub(super) empty: bool,
    state: SegmentState,
    resent: bool,
}

pub(super) const RECORD_BYTES: usize = size_of::<Record>();

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SegmentState {
    Pending,
    Arrived,
    Lost,
}

impl Record {
    pub(super) const fn end(&self) -> u64 {
        self.seq + self.len as u64
    }
}

/// What an ACK newly acknowledges.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckProgress {
    pub(super) bytes: u64,
    /// Round trip of the newest segment that was sent once.
    pub(super) rtt: Option<Span>,
    pub(super) newest: Option<Newest>,
}

impl Flight {
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    pub(super) fn next_lost(&self) -> Option<u16> {
        self.lost.front().map(|number| self.records[(number - self.first) as usize].len)
    }

    #[inline]
    pub(super) fn send(&mut self, now: Time, seq: u64, piece: Piece) {
        let snapshot = self.delivery.on_send(now, self.pipe == 0);
        let (copies, state, resent) = (0, SegmentState::Pending, false);
        let Piece { len, push, empty } = piece;
        self.records.push_back(Record { seq, sent: now, snapshot, len, copies, push, empty, state, resent });
        self.pipe += len as u64;
    }

    pub(super) fn retransmit_lost(&mut self, now: Time) -> Option<Record> {
        let number = self.lost.pop_front()?;
        let record = self.retransmit(now, number);
        self.skip_stale();
        Some(record)
    }

    /// Retransmits the newest segment unless it is sacked.
    pub(super) fn retransmit_last(&mut self, now: Time) -> Option<Record> {
        let last = self.records.len().checked_sub(1)?;
        let record = &self.records[last];
        if record.state == SegmentState::Arrived {
            return None;
        }
        if record.state == SegmentState::Pending {
            self.pipe -= record.len as u64;
        }
        let record = self.retransmit(now, self.first + last as u64);
        self.skip_stale();
        Some(record)
    }

    fn retransmit(&mut self, now: Time, number: u64) -> Record {
        let snapshot = self.delivery.on_send(now, self.pipe == 0);
        let record = &mut self.records[(number - self.first) as usize];
        (record.sent, record.snapshot, record.state, record.resent) =
            (now, snapshot, SegmentState::Pending, true);
        record.copies = record.copies.saturating_add(1);
        self.pipe += record.len as u64;
        self.retransmissions.push_back((number, now));
        *record
    }

    /// All bytes before `ack` have arrived.
    pub(super) fn acknowledge(
        &mut self,
        now: Time,
        ack: u64,
        rack: &mut Rack,
        rtt_min: Option<Span>,
        progress: &mut AckProgress,
    ) {
        let (mut popped, mut resent) = (false, false);
        while let Some(record) = self.records.front().copied().filter(|record| record.end() <= ack) {
            match record.state {
                SegmentState::Arrived => {
                    self.sacked_count -= 1;
                    self.sacked_bytes -= record.len as u64;
                }
                SegmentState::Pending => {
                    self.pipe -= record.len as u64;
                    self.deliver(now, &record, rack, rtt_min, progress);
                }
                SegmentState::Lost => self.deliver(now, &record, rack, rtt_min, progress),
            }
            resent |= record.resent && record.state != SegmentState::Arrived;
            self.records.pop_front();
            self.first += 1;
            popped = true;
        }
        // Segments behind a repaired loss give no valid round-trip sample (RFC 6298 §3).
        if resent {
            progress.rtt = None;
        }
        if popped {
            self.checked = self.checked.max(self.first);
            self.sacked.forget_below(self.first);
            self.skip_stale();
        }
    }

    /// The bytes of `block` have arrived.
    pub(super) fn sack(
        &mut self,
        now: Time,
        block: SeqRange,
        mss: u16,
        rack: &mut Rack,
        rtt_min: Option<Span>,
        progress: &mut AckProgress,
    ) {
        let (start, end) = (self.index_of(block.start, mss), self.index_of(block.end, mss));
        let mut sacked = std::mem::take(&mut self.sacked);
        sacked.insert(SeqRange { start, end }, |fresh| {
            for number in fresh.start..fresh.end {
                let record = &mut self.records[(number - self.first) as usize];
                let before = std::mem::replace(&mut record.state, SegmentState::Arrived);
                let record = *record;
                if before == SegmentState::Pending {
                    self.pipe -= record.len as u64;
                }
                self.sacked_count += 1;
                self.sacked_bytes += record.len as u64;
                self.deliver(now, &record, rack, rtt_min, progress);
            }
        });
        self.sacked = sacked;
        self.skip_stale();
    }

    #[inline]
    fn deliver(
        &mut self,
        now: Time,
        record: &Record,
        rack: &mut Rack,
        rtt_min: Option<Span>,
        progress: &mut AckProgress,
    ) {
        progress.bytes += record.len as u64;
        if !record.resent {
            let rtt = now.since(record.sent);
            progress.rtt = Some(progress.rtt.map_or(rtt, |least| least.min(rtt)));
        }
        rack.on_delivered(now, record.sent, record.end(), record.resent, rtt_min);
        self.delivery.on_delivered(&mut progress.newest, record.len as u64, record.sent, record.snapshot);
    }

    /// Index of the first segment at or after `seq`. Most segments are full, so the guess is usually right.
    fn index_of(&self, seq: u64, mss: u16) -> u64 {
        let Some(front) = self.records.front() else { return self.first };
        let guess = (seq.saturating_sub(front.seq) / mss as u64) as usize;
        if self.records.get(guess).is_some_and(|record| record.seq == seq) {
            return self.first + guess as u64;
        }
        self.first + self.records.partition_point(|record| record.seq < seq) as u64
    }

    /// Removes lost segments that have arrived from the front of the queue.
    fn skip_stale(&mut self) {
        while let Some(number) = self.lost.front().copied() {
            if number >= self.first
                && self.records[(number - self.first) as usize].state == SegmentState::Lost
            {
                return;
            }
            self.lost.pop_front();
        }
    }

    /// Marks segments lost that RACK's window has passed (RFC 8985 §6.2 step 5). Returns when the next
    /// candidate would be lost; the RFC waits for the last candidate instead.
    pub(super) fn detect(&mut self, now: Time, rack: &Rack, window: Span) -> Option<Time> {
        let wait = rack.rtt + window;
        let mut check_at = None;
        while let Some(record) = self.records.get((self.checked - self.first) as usize) {
            if record.state == SegmentState::Pending && !record.resent {
                if !rack.sent_after(record.sent, record.end()) {
                    break;
                }
                let lost_at = record.sent.saturating_add(wait);
                if lost_at > now {
                    check_at = Some(lost_at);
                    break;
                }
                self.mark_lost(self.checked);
            }
            self.checked += 1;
        }
        while let Some((number, sent)) = self.retransmissions.front().copied() {
            if let Some(record) = self.pending(number).filter(|record| record.sent == sent) {
                if !rack.sent_after(sent, record.end()) {
                    break;
                }
                let lost_at = sent.saturating_add(wait);
                if lost_at > now {
                    check_at = Some(check_at.map_or(lost_at, |at: Time| at.min(lost_at)));
                    break;
                }
                self.mark_lost(number);
            }
            self.retransmissions.pop_front();
        }
        check_at
    }

    /// Marks segments lost that `count` others have overtaken (RFC 6675 §4). Retransmissions wait for the
    /// timer.
    pub(super) fn detect_by_count(&mut self, count: u32) {
        let Some(bound) = self.sacked.nth_last(count as u64) else { return };
        for number in self.checked.max(self.first)..bound {
            if self.pending(number).is_some_and(|record| !record.resent) {
                self.mark_lost(number);
            }
        }
        self.checked = self.checked.max(bound);
    }

    fn pending(&self, number: u64) -> Option<&Record> {
        let record = self.records.get(number.checked_sub(self.first)? as usize)?;
        (record.state == SegmentState::Pending).then_some(record)
    }

    fn mark_lost(&mut self, number: u64) {
        let record = &mut self.records[(number - self.first) as usize];
        record.state = SegmentState::Lost;
        self.pipe -= record.len as u64;
        self.lost_bytes += record.len as u64;
        self.lost.push_back(number);
    }

    /// Marks the first segment lost (RFC 6582 §3.2).
    pub(super) fn mark_first_lost(&mut self) {
        if self.pending(self.first).is_some() {
            self.mark_lost(self.first);
        }
    }

    /// After a retransmission timeout: marks the first segment lost, and all that were sent at least `wait`
    /// ago (RFC 8985 §6.3). They are retransmitted in order.
    pub(super) fn mark_old_lost(&mut self, now: Time, wait: Span) {
        self.lost.clear();
        for (index, record) in self.records.iter_mut().enumerate() {
            if record.state == SegmentState::Pending
                && (index == 0 || record.sent.saturating_add(wait) <= now)
            {
                record.state = SegmentState::Lost;
                self.pipe -= record.len as u64;
                self.lost_bytes += record.len as u64;
            }
            if record.state == SegmentState::Lost {
                self.lost.push_back(self.first + index as u64);
            }
        }
    }
}
