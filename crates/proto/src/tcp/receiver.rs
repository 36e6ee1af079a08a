//! The receiving half: puts bytes in order, and says what has come.

use std::collections::VecDeque;

use wiremend_units::{Psn, QpNum, Time};

use super::config::Config;
use super::echo::Echo;
use super::ranges::{Ranges, Run};
use super::segment::{Ack, AckHead, Block, Data, SACK_BLOCKS, Segment, widen};
use crate::engine::{self, Message, Op, Outcome, ResponderCounters};

/// The receiving half of a connection.
///
/// It acknowledges every second segment, or one of so many as it is told, and at once what is out of order, fills a gap, comes twice (RFC 5681 §4.2) or ends a message.
#[derive(Clone, Debug)]
pub struct Receiver {
    peer: QpNum,
    /// The first byte that is missing.
    expected: u64,
    /// What is there beyond it.
    held: Ranges,
    /// Where messages end beyond the first missing byte, ascending, and whether they are empty.
    ends: Vec<(u64, bool)>,
    /// Where the latest message that is complete ended.
    message_start: u64,
    msn: u32,
    done: VecDeque<Message>,
    /// A byte of each of the latest segments beyond a gap, the newest first.
    recent: [u64; RECENT],
    /// What came twice, and is told with the next acknowledgement.
    twice: Option<Run>,
    echo: Echo,
    /// An acknowledgement that must leave before the next one: its number, and what it says of marks.
    early: Option<(u64, bool)>,
    /// Segments that are not acknowledged.
    waiting: u32,
    /// An acknowledgement is wanted now.
    wanted: bool,
    /// It answers a SYN.
    syn: bool,
    /// When one is wanted at the latest.
    due: Time,
    quick: u32,
    counters: ResponderCounters,
}

const RECENT: usize = 4;

impl Receiver {
    /// A receiver whose peer's end has this number.
    pub fn new(config: &Config, peer: QpNum) -> Self {
        Self {
            peer,
            expected: 0,
            held: Ranges::default(),
            ends: Vec::new(),
            message_start: 0,
            msn: 0,
            done: VecDeque::new(),
            recent: [u64::MAX; RECENT],
            twice: None,
            echo: Echo::default(),
            early: None,
            waiting: 0,
            wanted: false,
            syn: false,
            due: Time::MAX,
            quick: config.quick_acks,
            counters: ResponderCounters::default(),
        }
    }
}

impl engine::Responder for Receiver {
    type Config = Config;
    type Packet = Segment;

    #[inline(never)]
    fn on_packet(&mut self, config: &Config, now: Time, segment: &Segment) -> Outcome {
        let Segment::Data(data) = segment else {
            self.counters.ignored += 1;
            return Outcome::Ignored;
        };
        if data.syn {
            (self.syn, self.wanted) = (true, true);
            return Outcome::Accepted { place: None, completed: None };
        }
        let run = widen(self.expected, data.seq).map(|start| Run { start, end: start + data.len as u64 });
        let fits = |run: &Run| data.len > 0 && run.end <= self.expected + config.receive_window as u64;
        let Some(run) = run.filter(fits) else {
            self.counters.ignored += 1;
            self.wanted = true;
            return Outcome::Ignored;
        };
        if self.echo.on_data(config.ecn, data.marked, data.cwr) && self.waiting > 0 {
            self.early = Some((self.expected, !data.marked));
            self.waiting = 0;
        }
        self.take(config, now, run, data)
    }

    #[inline]
    fn has_messages(&self) -> bool {
        !self.done.is_empty()
    }

    fn poll_message(&mut self) -> Option<Message> {
        self.done.pop_front()
    }

    #[inline(never)]
    fn poll_transmit(&mut self, _config: &Config) -> Option<Segment> {
        let ack = if let Some((number, echo)) = self.early.take() {
            let head = AckHead::new(self.peer, false, echo);
            Ack { head, ack: number as u32, blocks: Default::default() }
        } else if std::mem::take(&mut self.wanted) {
            let head = AckHead::new(self.peer, std::mem::take(&mut self.syn), self.echo.on);
            self.waiting = 0;
            self.due = Time::MAX;
            Ack { head, ack: self.expected as u32, blocks: self.blocks() }
        } else {
            return None;
        };
        self.counters.acks += 1;
        Some(Segment::Ack(ack))
    }

    #[inline]
    fn has_output(&self) -> bool {
        self.wanted || self.early.is_some()
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        (self.due != Time::MAX).then_some(self.due)
    }

    fn on_timeout(&mut self, now: Time) {
        if self.due <= now {
            self.due = Time::MAX;
            self.wanted = true;
        }
    }

    /// The first missing byte, in the 24 bits of other transports' numbers.
    #[inline]
    fn expected(&self) -> Psn {
        Psn::new(self.expected as u32)
    }

    /// It holds something beyond a gap, and has said so.
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
    fn take(&mut self, config: &Config, now: Time, run: Run, data: &Data) -> Outcome {
        let mut fresh = 0;
        if run.end > self.expected {
            let start = run.start.max(self.expected);
            if start == self.expected && self.held.is_empty() {
                fresh = run.end - start;
            } else {
                self.held.insert(Run { start, end: run.end }, |part| fresh += part.end - part.start);
            }
        }
        if fresh == 0 {
            self.counters.duplicates += 1;
            self.twice = config.sack.then_some(run);
            self.wanted = true;
            return Outcome::Duplicate;
        }
        if data.push {
            self.note_end(run.end, data.empty);
        }
        if run.start > self.expected {
            self.counters.ahead += 1;
            self.remember(run.start);
            self.wanted = true;
            return Outcome::Accepted { place: None, completed: None };
        }
        self.counters.accepted += 1;
        // What fills a gap, in whole or in part, is acknowledged at once (RFC 5681 §4.2).
        let filling = !self.held.is_empty();
        self.expected = if filling { self.held.first().map_or(run.end, |first| first.end) } else { run.end };
        self.held.forget_below(self.expected);
        let completed = self.complete();
        // So does Linux when a short segment has let the reader take all there was.
        self.count(config, now, filling || data.push);
        Outcome::Accepted { place: None, completed }
    }

    /// A segment in order: it is acknowledged now, with the next one, or in a while.
    fn count(&mut self, config: &Config, now: Time, at_once: bool) {
        self.waiting += 1;
        let quick = self.quick > 0;
        self.quick = self.quick.saturating_sub(1);
        if at_once || quick || self.waiting >= config.ack_every || config.delayed_ack.as_ps() == 0 {
            self.wanted = true;
        } else if self.due == Time::MAX {
            self.due = now.saturating_add(config.delayed_ack);
        }
    }

    fn note_end(&mut self, end: u64, empty: bool) {
        let place = self.ends.partition_point(|held| held.0 < end);
        if self.ends.get(place).is_none_or(|held| held.0 != end) {
            self.ends.insert(place, (end, empty));
        }
    }

    /// Messages that are complete now. The first is told by the outcome, the others by [`poll_message`](crate::engine::Responder::poll_message).
    fn complete(&mut self) -> Option<Message> {
        let count = self.ends.partition_point(|end| end.0 <= self.expected);
        let mut first = None;
        for index in 0..count {
            let (end, empty) = self.ends[index];
            let len = if empty { 0 } else { end - self.message_start };
            self.message_start = end;
            self.msn = (self.msn + 1) & 0xFF_FFFF;
            let message = Message { op: Op::Send, len: len as u32, imm: None, msn: self.msn };
            if index == 0 {
                first = Some(message);
            } else {
                self.done.push_back(message);
            }
        }
        self.ends.drain(..count);
        first
    }

    fn remember(&mut self, byte: u64) {
        let run = self.held.find(byte);
        // A run stands once in the list, at the place of its newest segment.
        let known = self.recent.iter().position(|old| run.is_some_and(|run| run.contains(*old)));
        self.recent[..=known.unwrap_or(RECENT - 1)].rotate_right(1);
        self.recent[0] = byte;
    }

    /// The reader has taken all there was: nothing that waits to be acknowledged waits any longer.
    pub(super) fn answer_now(&mut self) {
        self.wanted |= self.waiting > 0;
    }

    /// What came twice, then the runs of the newest segments (RFC 2018 §4, RFC 2883 §4).
    fn blocks(&mut self) -> [Block; SACK_BLOCKS] {
        let empty = Block { start: self.expected as u32, end: self.expected as u32 };
        let mut blocks = [empty; SACK_BLOCKS];
        let mut used = 0;
        if let Some(run) = self.twice.take() {
            blocks[used] = Block { start: run.start as u32, end: run.end as u32 };
            used += 1;
        }
        if self.held.is_empty() {
            return blocks;
        }
        for byte in self.recent {
            let Some(run) = self.held.find(byte) else { continue };
            let block = Block { start: run.start as u32, end: run.end as u32 };
            if used < SACK_BLOCKS && !blocks[..used].contains(&block) {
                blocks[used] = block;
                used += 1;
            }
        }
        blocks
    }

    /// Whether all bytes of a segment are there.
    pub fn has_all_of(&self, segment: &Segment) -> bool {
        let Segment::Data(data) = segment else { return true };
        let start = widen(self.expected, data.seq).unwrap_or(0).max(self.expected);
        let end = widen(self.expected, data.seq).unwrap_or(0) + data.len as u64;
        end <= start || self.held.find(start).is_some_and(|run| end <= run.end)
    }

    /// Bytes that are there without a gap.
    #[inline]
    pub fn received(&self) -> u64 {
        self.expected
    }

    /// Runs that it holds beyond the first missing byte.
    pub fn runs_held(&self) -> usize {
        self.held.len()
    }
}
