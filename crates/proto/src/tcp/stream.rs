//! The stream of a sender: posted messages until they are acknowledged.

use std::collections::VecDeque;

use super::counters::Counters;
use super::message_recovery::{Gap, MessageRecovery};

#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    /// Unacknowledged messages, oldest first.
    messages: VecDeque<Message>,
    /// Number of these that are sent completely.
    sent: usize,
    acknowledged: u64,
    /// End of the last message.
    pub(super) end: u64,
    pub(super) posted: u64,
    /// An MPTCP sender has more data and hands them over piece by piece.
    pub(super) has_more: bool,
    completed: VecDeque<(u64, MessageRecovery)>,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    id: u64,
    end: u64,
    empty: bool,
    push: bool,
    recovery: MessageRecovery,
    /// Counters of the connection when the message was posted.
    before: Counters,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) len: u16,
    /// It carries PSH: it ends a message.
    pub(super) push: bool,
    pub(super) empty: bool,
}

impl Message {
    fn new(id: u64, empty: bool, counters: &Counters) -> Self {
        Self { id, end: 0, empty, push: false, recovery: MessageRecovery::default(), before: *counters }
    }
}

impl Stream {
    /// Appends a message. An empty message takes one filler byte.
    pub(super) fn push(&mut self, id: u64, len: u32, counters: &Counters) {
        self.end += len.max(1) as u64;
        self.posted += 1;
        self.put(Message { push: true, ..Message::new(id, len == 0, counters) });
    }

    pub(super) fn push_piece(&mut self, id: u64, piece: Piece, counters: &Counters) {
        self.end += piece.len as u64;
        self.put(Message { push: piece.push, ..Message::new(id, piece.empty, counters) });
    }

    fn put(&mut self, message: Message) {
        self.messages.push_back(Message { end: self.end, ..message });
    }

    /// Returns the next segment at byte `from`.
    #[inline]
    pub(super) fn next(&self, from: u64, mss: u16) -> Option<Piece> {
        let message = self.messages.get(self.sent)?;
        let left = message.end - from;
        let len = left.min(mss as u64) as u16;
        Some(Piece { len, push: left <= mss as u64 && message.push, empty: message.empty })
    }

    #[inline]
    pub(super) fn on_sent(&mut self, nxt: u64) {
        let ends = self.messages.get(self.sent).is_some_and(|message| message.end <= nxt);
        self.sent += usize::from(ends);
    }

    #[inline]
    pub(super) fn acknowledge(&mut self, una: u64, counters: &Counters) {
        while let Some(message) = self.messages.front().filter(|message| message.end <= una) {
            self.completed.push_back((message.id, message.recovery.with(&message.before, counters)));
            self.acknowledged = message.end;
            self.messages.pop_front();
            self.sent -= 1;
        }
    }

    /// An ACK shows a gap at the first unacknowledged byte, which is in the oldest message.
    pub(super) fn on_gap(&mut self, gap: Gap) {
        if let Some(message) = self.messages.front_mut() {
            message.recovery.on_gap(gap, message.end);
        }
    }

    /// Loss recovery so far of an unacknowledged message.
    pub(super) fn message_recovery(&self, id: u64, counters: &Counters) -> Option<MessageRecovery> {
        let message = self.messages.iter().find(|message| message.id == id)?;
        Some(message.recovery.with(&message.before, counters))
    }

    pub(super) fn message_at(&self, byte: u64) -> u64 {
        let place = self.messages.partition_point(|message| message.end <= byte);
        self.messages.get(place).map_or(0, |message| message.id)
    }

    /// Returns the message that contains a byte: its identifier, its end, and its segment.
    pub(super) fn piece_at(&self, byte: u64) -> Option<(u64, u64, Piece)> {
        let place = self.messages.partition_point(|message| message.end <= byte);
        let message = self.messages.get(place)?;
        let start = if place == 0 { self.acknowledged } else { self.messages[place - 1].end };
        let len = (message.end - start) as u16;
        Some((message.id, message.end, Piece { len, push: message.push, empty: message.empty }))
    }

    pub(super) fn oldest(&self) -> Option<u64> {
        self.messages.front().map(|message| message.id)
    }

    pub(super) fn pop_done(&mut self) -> Option<(u64, MessageRecovery)> {
        self.completed.pop_front()
    }

    pub(super) fn pop_failed(&mut self, counters: &Counters) -> Option<(u64, MessageRecovery)> {
        let message = self.messages.pop_front()?;
        Some((message.id, message.recovery.with(&message.before, counters)))
    }
}
