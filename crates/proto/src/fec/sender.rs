//! The sender: numbers frames and closes blocks.

use wiremend_units::{Bytes, Time};

use super::codec::parity_len;
use super::{Config, Counters, FecHeader, Transmit};
use crate::link::QueueHead;

#[derive(Clone, Debug)]
pub(super) struct Sender<F> {
    config: Config,
    state: State,
    /// The sender becomes dormant when the block is closed.
    is_ending: bool,
    /// Number of the block's first frame.
    block: u16,
    count: u8,
    longest: Bytes,
    /// When the block closes at the latest; set with its first frame.
    due: Option<Time>,
    /// A frame was polled and not yet confirmed by [`Sender::on_sent`].
    is_sending: bool,
    /// Copies of the block's frames, in order.
    kept: Vec<F>,
    /// The copies are of the previous block, whose last parity has left.
    has_spent: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Dormant,
    /// Frames may join the block.
    Open,
    /// The block takes no more frames; `sent` parities have left.
    Closed {
        sent: u8,
    },
}

impl<F: Copy> Sender<F> {
    pub(super) fn new(config: Config) -> Self {
        Self {
            config,
            state: State::Dormant,
            is_ending: false,
            block: 0,
            count: 0,
            longest: Bytes::ZERO,
            due: None,
            is_sending: false,
            kept: Vec::new(),
            has_spent: false,
        }
    }

    pub(super) fn is_active(&self) -> bool {
        self.state != State::Dormant
    }

    pub(super) fn activate(&mut self, first: u16) {
        self.is_ending = false;
        if self.state == State::Dormant {
            self.state = State::Open;
            self.block = first;
            self.kept.reserve(usize::from(self.config.code().data()));
        }
    }

    pub(super) fn deactivate(&mut self, counters: &mut Counters) {
        match self.state {
            State::Open if self.count == 0 => self.state = State::Dormant,
            State::Open => {
                self.is_ending = true;
                self.close(counters);
            }
            State::Closed { .. } => self.is_ending = true,
            State::Dormant => {}
        }
    }

    pub(super) fn poll_transmit(
        &mut self,
        now: Time,
        head: Option<QueueHead>,
        counters: &mut Counters,
    ) -> Option<Transmit> {
        assert!(!self.is_sending, "a polled frame is reported as sent before the next poll");
        self.on_timeout(now, counters);
        match self.state {
            State::Dormant => head.map(|_| Transmit::Plain),
            State::Open => head.map(|head| self.next_header(head)),
            State::Closed { sent } => Some(self.parity(sent, counters)),
        }
    }

    pub(super) fn on_sent(&mut self, now: Time, kept: F, counters: &mut Counters) {
        assert!(self.is_sending, "a frame was polled");
        assert!(!self.has_spent, "copies of the previous block were taken");
        self.is_sending = false;
        self.kept.push(kept);
        self.count += 1;
        counters.protected += 1;
        self.due.get_or_insert(now.saturating_add(self.config.flush()));
        if self.count == self.config.code().data() {
            self.close(counters);
        }
    }

    pub(super) fn has_spent(&self) -> bool {
        self.has_spent
    }

    pub(super) fn kept(&self) -> &[F] {
        &self.kept
    }

    /// Takes the copies of a block whose parities have all left.
    pub(super) fn take_spent(&mut self) -> impl Iterator<Item = F> {
        let end = if self.has_spent { self.kept.len() } else { 0 };
        self.has_spent = false;
        self.kept.drain(..end)
    }

    pub(super) fn on_timeout(&mut self, now: Time, counters: &mut Counters) {
        if self.due.is_some_and(|due| due <= now) {
            self.close(counters);
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.due
    }

    fn next_header(&mut self, head: QueueHead) -> Transmit {
        self.is_sending = true;
        self.longest = self.longest.max(head.len);
        let parities = self.config.code().parities();
        Transmit::New(FecHeader::Data { block: self.block, index: self.count, parities })
    }

    fn parity(&mut self, sent: u8, counters: &mut Counters) -> Transmit {
        let parities = self.config.code().parities();
        let index = self.count + sent;
        let signal = FecHeader::Parity { block: self.block, index, data_count: self.count, parities };
        let len = Bytes::new(parity_len(self.longest.get() as usize) as u64);
        counters.parities += 1;
        if sent + 1 < parities {
            self.state = State::Closed { sent: sent + 1 };
        } else {
            self.next_block();
        }
        Transmit::Parity { signal, len }
    }

    fn close(&mut self, counters: &mut Counters) {
        self.due = None;
        self.state = State::Closed { sent: 0 };
        counters.blocks += 1;
        counters.short_blocks += u64::from(self.count < self.config.code().data());
    }

    fn next_block(&mut self) {
        self.block = self.block.wrapping_add(u16::from(self.count));
        self.count = 0;
        self.longest = Bytes::ZERO;
        self.has_spent = true;
        self.state = if self.is_ending { State::Dormant } else { State::Open };
        self.is_ending = false;
    }
}
