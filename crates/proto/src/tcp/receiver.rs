//! The receiver: restores the byte order and acknowledges.

use std::collections::VecDeque;

use wiremend_units::{Psn, QpNum, Time};

use super::config::Config;
use super::ecn_echo::EcnEcho;
use super::ranges::{Ranges, SeqRange};
use super::segment::{Ack, AckHead, Block, Data, SACK_BLOCKS, Segment, widen};
use crate::engine::{self, Message, Op, RequestOutcome, ResponderCounters};

/// Receiving end of a connection. It acknowledges every second segment (or `ack_every`), and at once a
/// segment that is out of order, fills a gap, is a duplicate (RFC 5681 §4.2) or ends a message.
#[derive(Clone, Debug)]
pub struct Receiver {
    peer: QpNum,
    /// First missing byte (RCV.NXT).
    expected: u64,
    /// Bytes received beyond it.
    held: Ranges,
    /// Ends of incomplete messages, ascending, and whether each is empty.
    message_ends: Vec<(u64, bool)>,
    message_start: u64,
    msn: u32,
    completed: VecDeque<Message>,
    /// One byte of each of the latest segments beyond a gap, newest first.
    recent: [u64; RECENT],
    dsack: Option<SeqRange>,
    echo: EcnEcho,
    /// ACK that must leave before the next one: its number and its ECE flag.
    early_ack: Option<(u64, bool)>,
    unacked_segments: u32,
    ack_pending: bool,
    syn: bool,
    ack_deadline: Time,
    quick_acks_left: u32,
    counters: ResponderCounters,
}

const RECENT: usize = 4;

impl Receiver {
    /// A receiver from the connection `peer`.
    pub fn new(config: &Config, peer: QpNum) -> Self {
        Self {
            peer,
            expected: 0,
            held: Ranges::default(),
            message_ends: Vec::new(),
            message_start: 0,
            msn: 0,
            completed: VecDeque::new(),
            recent: [u64::MAX; RECENT],
            dsack: None,
            echo: EcnEcho::default(),
            early_ack: None,
            unacked_segments: 0,
            ack_pending: false,
            syn: false,
            ack_deadline: Time::MAX,
            quick_acks_left: config.quick_acks,
            counters: ResponderCounters::default(),
        }
    }
}

impl engine::Responder for Receiver {
    type Config = Config;
    type Packet = Segment;

    #[inline(never)]
    fn on_packet(&mut self, config: &Config, now: Time, segment: &Segment) -> RequestOutcome {
        let Segment::Data(data) = segment else {
            self.counters.ignored += 1;
            return RequestOutcome::Ignored;
        };
        if data.syn {
            (self.syn, self.ack_pending) = (true, true);
            return RequestOutcome::Accepted { placement: None, completed: None };
        }
        let range =
            widen(self.expected, data.seq).map(|start| SeqRange { start, end: start + data.len as u64 });
        let fits =
            |range: &SeqRange| data.len > 0 && range.end <= self.expected + config.receive_window as u64;
        let Some(range) = range.filter(fits) else {
            self.counters.ignored += 1;
            self.ack_pending = true;
            return RequestOutcome::Ignored;
        };
        if self.echo.on_data(config.ecn, data.marked, data.cwr) && self.unacked_segments > 0 {
            self.early_ack = Some((self.expected, !data.marked));
            self.unacked_segments = 0;
        }
        self.accept(config, now, range, data)
    }

    #[inline]
    fn has_messages(&self) -> bool {
        !self.completed.is_empty()
    }

    fn poll_message(&mut self) -> Option<Message> {
        self.completed.pop_front()
    }

    #[inline(never)]
    fn poll_transmit(&mut self, _config: &Config) -> Option<Segment> {
        let ack = if let Some((number, echo)) = self.early_ack.take() {
            let head = AckHead::new(self.peer, false, echo);
            Ack { head, ack: number as u32, blocks: Default::default() }
        } else if std::mem::take(&mut self.ack_pending) {
            let head = AckHead::new(self.peer, std::mem::take(&mut self.syn), self.echo.on);
            self.unacked_segments = 0;
            self.ack_deadline = Time::MAX;
            Ack { head, ack: self.expected as u32, blocks: self.blocks() }
        } else {
            return None;
        };
        self.counters.acks += 1;
        Some(Segment::Ack(ack))
    }

    #[inline]
    fn has_output(&self) -> bool {
        self.ack_pending || self.early_ack.is_some()
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        (self.ack_deadline != Time::MAX).then_some(self.ack_deadline)
    }

    fn on_timeout(&mut self, now: Time) {
        if self.ack_deadline <= now {
            self.ack_deadline = Time::MAX;
            self.ack_pending = true;
        }
    }

    #[inline]
    fn expected(&self) -> Psn {
        Psn::new(self.expected as u32)
    }

    /// Whether it holds bytes beyond a gap. It has reported them with SACK.
    #[inline]
    fn nak_sent(&self) -> bool {
        !self.held.is_empty()
    }

    #[inline]
    fn counters(&self) -> ResponderCounters {
        self.counters
    }
}

impl Receiver {
    fn accept(&mut self, config: &Config, now: Time, range: SeqRange, data: &Data) -> RequestOutcome {
        let mut fresh = 0;
        if range.end > self.expected {
            let start = range.start.max(self.expected);
            if start == self.expected && self.held.is_empty() {
                fresh = range.end - start;
            } else {
                self.held.insert(SeqRange { start, end: range.end }, |part| fresh += part.end - part.start);
            }
        }
        if fresh == 0 {
            self.counters.duplicates += 1;
            self.dsack = config.sack.then_some(range);
            self.ack_pending = true;
            return RequestOutcome::Duplicate;
        }
        if data.push {
            self.note_end(range.end, data.empty);
        }
        if range.start > self.expected {
            self.counters.out_of_sequence += 1;
            self.note_recent(range.start);
            self.ack_pending = true;
            return RequestOutcome::Accepted { placement: None, completed: None };
        }
        self.counters.accepted += 1;
        // A segment that fills a gap, in whole or in part, is acknowledged at once (RFC 5681 §4.2).
        let filling = !self.held.is_empty();
        self.expected =
            if filling { self.held.first().map_or(range.end, |first| first.end) } else { range.end };
        self.held.forget_below(self.expected);
        let completed = self.complete();
        // Linux also acknowledges at once when a reader has consumed all data after a short segment.
        self.schedule_ack(config, now, filling || data.push);
        RequestOutcome::Accepted { placement: None, completed }
    }

    /// Acknowledges a segment in order: now, with a later segment, or after the delay.
    fn schedule_ack(&mut self, config: &Config, now: Time, at_once: bool) {
        self.unacked_segments += 1;
        let quick = self.quick_acks_left > 0;
        self.quick_acks_left = self.quick_acks_left.saturating_sub(1);
        if at_once || quick || self.unacked_segments >= config.ack_every || config.delayed_ack.as_ps() == 0 {
            self.ack_pending = true;
        } else if self.ack_deadline == Time::MAX {
            self.ack_deadline = config.clock().expiry(now, config.delayed_ack);
        }
    }

    fn note_end(&mut self, end: u64, empty: bool) {
        let place = self.message_ends.partition_point(|held| held.0 < end);
        if self.message_ends.get(place).is_none_or(|held| held.0 != end) {
            self.message_ends.insert(place, (end, empty));
        }
    }

    /// Completes messages. Returns the first; [`poll_message`](engine::Responder::poll_message) returns the
    /// others.
    fn complete(&mut self) -> Option<Message> {
        let count = self.message_ends.partition_point(|end| end.0 <= self.expected);
        let mut first = None;
        for index in 0..count {
            let (end, empty) = self.message_ends[index];
            let len = if empty { 0 } else { end - self.message_start };
            self.message_start = end;
            self.msn = (self.msn + 1) & 0xFF_FFFF;
            let message =
                Message { op: Op::Send, len: len as u32, imm: None, invalidate: None, msn: self.msn };
            if index == 0 {
                first = Some(message);
            } else {
                self.completed.push_back(message);
            }
        }
        self.message_ends.drain(..count);
        first
    }

    fn note_recent(&mut self, byte: u64) {
        let range = self.held.find(byte);
        // A range is in the list once, at the position of its newest segment.
        let known = self.recent.iter().position(|old| range.is_some_and(|range| range.contains(*old)));
        self.recent[..=known.unwrap_or(RECENT - 1)].rotate_right(1);
        self.recent[0] = byte;
    }

    /// Sends a delayed ACK now: the reader has consumed all data.
    pub(super) fn ack_now(&mut self) {
        self.ack_pending |= self.unacked_segments > 0;
    }

    /// SACK blocks: the DSACK, then the ranges of the newest segments (RFC 2018 §4, RFC 2883 §4).
    fn blocks(&mut self) -> [Block; SACK_BLOCKS] {
        let empty = Block { start: self.expected as u32, end: self.expected as u32 };
        let mut blocks = [empty; SACK_BLOCKS];
        let mut used = 0;
        if let Some(range) = self.dsack.take() {
            blocks[used] = Block { start: range.start as u32, end: range.end as u32 };
            used += 1;
        }
        if self.held.is_empty() {
            return blocks;
        }
        for byte in self.recent {
            let Some(range) = self.held.find(byte) else { continue };
            let block = Block { start: range.start as u32, end: range.end as u32 };
            if used < SACK_BLOCKS && !blocks[..used].contains(&block) {
                blocks[used] = block;
                used += 1;
            }
        }
        blocks
    }

    /// Whether all bytes of a segment have arrived.
    pub fn has_received(&self, segment: &Segment) -> bool {
        let Segment::Data(data) = segment else { return true };
        let start = widen(self.expected, data.seq).unwrap_or(0).max(self.expected);
        let end = widen(self.expected, data.seq).unwrap_or(0) + data.len as u64;
        end <= start || self.held.find(start).is_some_and(|range| end <= range.end)
    }

    /// Bytes received without a gap.
    #[inline]
    pub fn received(&self) -> u64 {
        self.expected
    }

    /// Number of ranges held beyond the first missing byte.
    pub fn held_run_count(&self) -> usize {
        self.held.len()
    }
}
