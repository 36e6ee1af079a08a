//! What was posted and is not acknowledged: messages, one behind the other.

use std::collections::VecDeque;

use super::counters::Counters;
use super::trouble::{Gap, Trouble};

/// The messages of a stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    /// Those that are not acknowledged, oldest first.
    messages: VecDeque<Message>,
    /// How many of these are sent completely.
    sent: usize,
    /// The byte behind the last message that is acknowledged.
    acknowledged: u64,
    /// The byte behind all.
    pub(super) end: u64,
    pub(super) posted: u64,
    /// Somebody has more than stands here, and hands it over piece by piece.
    pub(super) more: bool,
    done: VecDeque<(u64, Trouble)>,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    id: u64,
    end: u64,
    empty: bool,
    /// Its end is told to the receiver.
    push: bool,
    trouble: Trouble,
    /// What the connection had counted when it was posted.
    before: Counters,
}

/// A segment to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) len: u16,
    /// It ends a message, and says so.
    pub(super) push: bool,
    /// The message is empty.
    pub(super) empty: bool,
}

impl Message {
    fn new(id: u64, empty: bool, seen: &Counters) -> Self {
        Self { id, end: 0, empty, push: false, trouble: Trouble::default(), before: *seen }
    }
}

impl Stream {
    /// An empty message takes a byte that stands for nothing.
    pub(super) fn push(&mut self, id: u64, len: u32, seen: &Counters) {
        self.end += len.max(1) as u64;
        self.posted += 1;
        self.put(Message { push: true, ..Message::new(id, len == 0, seen) });
    }

    /// A segment of another stream, which leaves as one of this.
    pub(super) fn push_piece(&mut self, id: u64, piece: Piece, seen: &Counters) {
        self.end += piece.len as u64;
        self.put(Message { push: piece.push, ..Message::new(id, piece.empty, seen) });
    }

    fn put(&mut self, message: Message) {
        self.messages.push_back(Message { end: self.end, ..message });
    }

    /// The next segment from a byte on.
    #[inline]
    pub(super) fn next(&self, from: u64, mss: u16) -> Option<Piece> {
        let message = self.messages.get(self.sent)?;
        let left = message.end - from;
        let len = left.min(mss as u64) as u16;
        Some(Piece { len, push: left <= mss as u64 && message.push, empty: message.empty })
    }

    /// All bytes before this one are sent.
    #[inline]
    pub(super) fn on_sent(&mut self, nxt: u64) {
        let ends = self.messages.get(self.sent).is_some_and(|message| message.end <= nxt);
        self.sent += usize::from(ends);
    }

    /// All bytes before this one have arrived.
    #[inline]
    pub(super) fn acknowledge(&mut self, una: u64, seen: &Counters) {
        while let Some(message) = self.messages.front().filter(|message| message.end <= una) {
            self.done.push_back((message.id, message.trouble.with(&message.before, seen)));
            self.acknowledged = message.end;
            self.messages.pop_front();
            self.sent -= 1;
        }
    }

    /// Something has arrived beyond the first byte that has not: a gap in the oldest message.
    pub(super) fn on_gap(&mut self, gap: Gap) {
        if let Some(message) = self.messages.front_mut() {
            message.trouble.on_gap(gap, message.end);
        }
    }

    /// What a message that is not acknowledged has met so far.
    pub(super) fn trouble_of(&self, id: u64, seen: &Counters) -> Option<Trouble> {
        let message = self.messages.iter().find(|message| message.id == id)?;
        Some(message.trouble.with(&message.before, seen))
    }

    /// The message that a byte belongs to.
    pub(super) fn owner(&self, byte: u64) -> u64 {
        let place = self.messages.partition_point(|message| message.end <= byte);
        self.messages.get(place).map_or(0, |message| message.id)
    }

    /// The first message that ends behind a byte: its number, the byte behind it, and what it was handed over as.
    pub(super) fn piece_behind(&self, byte: u64) -> Option<(u64, u64, Piece)> {
        let place = self.messages.partition_point(|message| message.end <= byte);
        let message = self.messages.get(place)?;
        let start = if place == 0 { self.acknowledged } else { self.messages[place - 1].end };
        let len = (message.end - start) as u16;
        Some((message.id, message.end, Piece { len, push: message.push, empty: message.empty }))
    }

    pub(super) fn oldest(&self) -> Option<u64> {
        self.messages.front().map(|message| message.id)
    }

    pub(super) fn pop_done(&mut self) -> Option<(u64, Trouble)> {
        self.done.pop_front()
    }

    pub(super) fn pop_failed(&mut self, seen: &Counters) -> Option<(u64, Trouble)> {
        let message = self.messages.pop_front()?;
        Some((message.id, message.trouble.with(&message.before, seen)))
    }
}
