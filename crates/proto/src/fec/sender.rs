//! The sending half: numbers frames, closes blocks.

use wiremend_units::{Bytes, Time};

use super::codec::parity_len;
use super::{Config, Counters, Signal, Transmit};
use crate::link::Waiting;

#[derive(Clone, Debug)]
pub(super) struct Sender<F> {
    config: Config,
    state: State,
    /// Falls dormant when the block is closed.
    is_ending: bool,
    /// The number of the block's first frame.
    block: u16,
    /// Frames in the block.
    count: u8,
    longest: Bytes,
    /// When the block closes at the latest; set with its first frame.
    due: Option<Time>,
    /// A frame was announced, and [`Sender::on_sent`] has not been called yet.
    is_leaving: bool,
    /// Copies of the block's frames, in order.
    kept: Vec<F>,
    /// The copies are of the block before: its last parity has left, and was made or never will be.
    is_spent: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Dormant,
    /// Frames may join the block.
    Open,
    /// No more frames; so many parities have left.
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
            is_leaving: false,
            kept: Vec::new(),
            is_spent: false,
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
        waiting: Option<Waiting>,
        counters: &mut Counters,
    ) -> Option<Transmit> {
        assert!(!self.is_leaving, "the frame that was announced has been sent");
        self.on_timeout(now, counters);
        match self.state {
            State::Dormant => waiting.map(|_| Transmit::Plain),
            State::Open => waiting.map(|waiting| self.fresh(waiting)),
            State::Closed { sent } => Some(self.parity(sent, counters)),
        }
    }

    pub(super) fn on_sent(&mut self, now: Time, kept: F, counters: &mut Counters) {
        assert!(self.is_leaving, "a frame was announced");
        assert!(!self.is_spent, "the copies of the block before were taken");
        self.is_leaving = false;
        self.kept.push(kept);
        self.count += 1;
        counters.protected += 1;
        self.due.get_or_insert(now.saturating_add(self.config.flush()));
        if self.count == self.config.code().data() {
            self.close(counters);
        }
    }

    /// Whether there is something for [`Sender::take_spent`].
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent
    }

    pub(super) fn kept(&self) -> &[F] {
        &self.kept
    }

    /// The copies of a block all of whose parities have left.
    pub(super) fn take_spent(&mut self) -> impl Iterator<Item = F> {
        let end = if self.is_spent { self.kept.len() } else { 0 };
        self.is_spent = false;
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

    fn fresh(&mut self, waiting: Waiting) -> Transmit {
        self.is_leaving = true;
        self.longest = self.longest.max(waiting.len);
        let parities = self.config.code().parities();
        Transmit::Fresh(Signal::Data { block: self.block, index: self.count, parities })
    }

    fn parity(&mut self, sent: u8, counters: &mut Counters) -> Transmit {
        let parities = self.config.code().parities();
        let index = self.count + sent;
        let signal = Signal::Parity { block: self.block, index, data_count: self.count, parities };
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
        self.is_spent = true;
        self.state = if self.is_ending { State::Dormant } else { State::Open };
        self.is_ending = false;
    }
}
