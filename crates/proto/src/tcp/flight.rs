//! What is under way: a record for each segment that is not acknowledged.
//!
//! An acknowledgement costs what it newly tells of, not what is under way: blocks are compared by their runs, and losses are looked
//! for from where the last look ended. Segments sent for the first time left in the order of their numbers, and those sent
//! again stand in a queue of their own, so that both are in the order of time that RACK wants.

use std::collections::VecDeque;

use wiremend_units::{Span, Time};

use super::delivery::{Delivery, Newest, Stand};
use super::rack::Rack;
use super::ranges::{Ranges, Run};
use super::stream::Piece;

/// The segments under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    records: VecDeque<Record>,
    /// The number of the first record.
    first: u64,
    /// Numbers of those that have arrived beyond a gap.
    sacked: Ranges,
    /// Numbers of those to be sent again. Some may have arrived meanwhile, but not the first.
    lost: VecDeque<u64>,
    /// Those sent again, and when.
    resent: VecDeque<(u64, Time)>,
    /// All first copies below are judged.
    judged: u64,
    /// Bytes that are believed to be in the network.
    pub(super) pipe: u64,
    /// Segments that have arrived beyond a gap, and their bytes.
    pub(super) sacked_count: u32,
    pub(super) sacked_bytes: u64,
    /// Bytes that were ever found to be lost.
    pub(super) lost_bytes: u64,
    pub(super) delivery: Delivery,
}

/// A segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) seq: u64,
    pub(super) sent: Time,
    stand: Stand,
    pub(super) len: u16,
    pub(super) copies: u8,
    pub(super) push: bool,
    pub(super) empty: bool,
    state: State,
    again: bool,
}

pub(super) const RECORD_BYTES: usize = size_of::<Record>();

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Pending,
    Arrived,
    Lost,
}

impl Record {
    pub(super) const fn end(&self) -> u64 {
        self.seq + self.len as u64
    }
}

/// What an acknowledgement newly tells of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heard {
    pub(super) bytes: u64,
    /// The round trip of the newest segment that was sent once.
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

    /// The length of the next segment to be sent again.
    pub(super) fn next_lost(&self) -> Option<u16> {
        self.lost.front().map(|number| self.records[(number - self.first) as usize].len)
    }

    /// Sends a new segment.
    #[inline]
    pub(super) fn send(&mut self, now: Time, seq: u64, piece: Piece) {
        let stand = self.delivery.on_send(now, self.pipe == 0);
        let (copies, state, again) = (0, State::Pending, false);
        let Piece { len, push, empty } = piece;
        self.records.push_back(Record { seq, sent: now, stand, len, copies, push, empty, state, again });
        self.pipe += len as u64;
    }

    /// Sends the first of the lost ones again.
    pub(super) fn send_lost(&mut self, now: Time) -> Option<Record> {
        let number = self.lost.pop_front()?;
        let record = self.resend(now, number);
        self.skip_stale();
        Some(record)
    }

    /// Sends the newest one again, whatever has become of it.
    pub(super) fn send_last(&mut self, now: Time) -> Option<Record> {
        let last = self.records.len().checked_sub(1)?;
        let record = &self.records[last];
        if record.state == State::Arrived {
            return None;
        }
        if record.state == State::Pending {
            self.pipe -= record.len as u64;
        }
        let record = self.resend(now, self.first + last as u64);
        self.skip_stale();
        Some(record)
    }

    fn resend(&mut self, now: Time, number: u64) -> Record {
        let stand = self.delivery.on_send(now, self.pipe == 0);
        let record = &mut self.records[(number - self.first) as usize];
        (record.sent, record.stand, record.state, record.again) = (now, stand, State::Pending, true);
        record.copies = record.copies.saturating_add(1);
        self.pipe += record.len as u64;
        self.resent.push_back((number, now));
        *record
    }

    /// All bytes before `ack` have arrived.
    pub(super) fn acknowledge(
        &mut self,
        now: Time,
        ack: u64,
        rack: &mut Rack,
        rtt_min: Option<Span>,
        heard: &mut Heard,
    ) {
        let (mut popped, mut again) = (false, false);
        while let Some(record) = self.records.front().copied().filter(|record| record.end() <= ack) {
            match record.state {
                State::Arrived => {
                    self.sacked_count -= 1;
                    self.sacked_bytes -= record.len as u64;
                }
                State::Pending => {
                    self.pipe -= record.len as u64;
                    self.deliver(now, &record, rack, rtt_min, heard);
                }
                State::Lost => self.deliver(now, &record, rack, rtt_min, heard),
            }
            again |= record.again && record.state != State::Arrived;
            self.records.pop_front();
            self.first += 1;
            popped = true;
        }
        // What waited behind a repaired loss has not travelled so long (RFC 6298 §3).
        if again {
            heard.rtt = None;
        }
        if popped {
            self.judged = self.judged.max(self.first);
            self.sacked.forget_below(self.first);
            self.skip_stale();
        }
    }

    /// Bytes from `start` to `end - 1` have arrived.
    pub(super) fn sack(
        &mut self,
        now: Time,
        block: Run,
        mss: u16,
        rack: &mut Rack,
        rtt_min: Option<Span>,
        heard: &mut Heard,
    ) {
        let (start, end) = (self.place_of(block.start, mss), self.place_of(block.end, mss));
        let mut sacked = std::mem::take(&mut self.sacked);
        sacked.insert(Run { start, end }, |fresh| {
            for number in fresh.start..fresh.end {
                let record = &mut self.records[(number - self.first) as usize];
                let before = std::mem::replace(&mut record.state, State::Arrived);
                let record = *record;
                if before == State::Pending {
                    self.pipe -= record.len as u64;
                }
                self.sacked_count += 1;
                self.sacked_bytes += record.len as u64;
                self.deliver(now, &record, rack, rtt_min, heard);
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
        heard: &mut Heard,
    ) {
        heard.bytes += record.len as u64;
        if !record.again {
            let rtt = now.since(record.sent);
            heard.rtt = Some(heard.rtt.map_or(rtt, |least| least.min(rtt)));
        }
        rack.on_delivered(now, record.sent, record.end(), record.again, rtt_min);
        self.delivery.on_delivered(&mut heard.newest, record.len as u64, record.sent, record.stand);
    }

    /// The number of the first segment that does not begin before `seq`. Most are full, so that the first guess is right.
    fn place_of(&self, seq: u64, mss: u16) -> u64 {
        let Some(front) = self.records.front() else { return self.first };
        let guess = (seq.saturating_sub(front.seq) / mss as u64) as usize;
        if self.records.get(guess).is_some_and(|record| record.seq == seq) {
            return self.first + guess as u64;
        }
        self.first + self.records.partition_point(|record| record.seq < seq) as u64
    }

    /// Forgets lost segments that have arrived, up to one that has not.
    fn skip_stale(&mut self) {
        while let Some(number) = self.lost.front().copied() {
            if number >= self.first && self.records[(number - self.first) as usize].state == State::Lost {
                return;
            }
            self.lost.pop_front();
        }
    }

    /// Looks for segments that were sent long enough before the newest that has arrived (RFC 8985 §6.2 step 5). Says when to look again:
    /// when the first of those in doubt is lost. The RFC waits for the last of them.
    pub(super) fn detect(&mut self, now: Time, rack: &Rack, window: Span) -> Option<Time> {
        let wait = rack.rtt + window;
        let mut again_at = None;
        while let Some(record) = self.records.get((self.judged - self.first) as usize) {
            if record.state == State::Pending && !record.again {
                if !rack.sent_after(record.sent, record.end()) {
                    break;
                }
                let lost_at = record.sent.saturating_add(wait);
                if lost_at > now {
                    again_at = Some(lost_at);
                    break;
                }
                self.mark_lost(self.judged);
            }
            self.judged += 1;
        }
        while let Some((number, sent)) = self.resent.front().copied() {
            if let Some(record) = self.pending(number).filter(|record| record.sent == sent) {
                if !rack.sent_after(sent, record.end()) {
                    break;
                }
                let lost_at = sent.saturating_add(wait);
                if lost_at > now {
                    again_at = Some(again_at.map_or(lost_at, |at: Time| at.min(lost_at)));
                    break;
                }
                self.mark_lost(number);
            }
            self.resent.pop_front();
        }
        again_at
    }

    /// Looks for segments that so many others have overtaken (RFC 6675 §4). One that was sent again waits for the timer.
    pub(super) fn detect_by_count(&mut self, count: u32) {
        let Some(bound) = self.sacked.nth_last(count as u64) else { return };
        for number in self.judged.max(self.first)..bound {
            if self.pending(number).is_some_and(|record| !record.again) {
                self.mark_lost(number);
            }
        }
        self.judged = self.judged.max(bound);
    }

    fn pending(&self, number: u64) -> Option<&Record> {
        let record = self.records.get(number.checked_sub(self.first)? as usize)?;
        (record.state == State::Pending).then_some(record)
    }

    fn mark_lost(&mut self, number: u64) {
        let record = &mut self.records[(number - self.first) as usize];
        record.state = State::Lost;
        self.pipe -= record.len as u64;
        self.lost_bytes += record.len as u64;
        self.lost.push_back(number);
    }

    /// The first segment is lost, whatever time says (RFC 6582 §3.2).
    pub(super) fn lose_first(&mut self) {
        if self.pending(self.first).is_some() {
            self.mark_lost(self.first);
        }
    }

    /// The retransmission timer has expired: the first segment is lost, and others that were sent a round trip ago (RFC 8985 §6.3).
    /// They are sent again in their order.
    pub(super) fn lose_old(&mut self, now: Time, wait: Span) {
        self.lost.clear();
        for (index, record) in self.records.iter_mut().enumerate() {
            if record.state == State::Pending && (index == 0 || record.sent.saturating_add(wait) <= now) {
                record.state = State::Lost;
                self.pipe -= record.len as u64;
                self.lost_bytes += record.len as u64;
            }
            if record.state == State::Lost {
                self.lost.push_back(self.first + index as u64);
            }
        }
    }
}
