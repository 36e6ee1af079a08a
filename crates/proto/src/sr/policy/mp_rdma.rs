//! MP-RDMA (Lu et al., NSDI 2018): one window over many paths, which follows marks, and a bound on disorder.
//!
//! Each acknowledgement comes back by the path of its packet and lets one more packet go that way, so that
//! fast paths carry more (§3.2). One without a mark adds 1/w to the window w, one with a mark takes off a half. What
//! lags more than Δ behind the newest packet came by a slow path: the window shrinks by one, and the path is
//! left (§3.4). New paths are tried now and then; the paper draws 1 % at random, here it is every hundredth packet.
//!
//! The requester keeps no bitmap: the responder's NAK, which says that a packet lies beyond its bitmap of 64, or the
//! timer makes it send again everything from the first missing packet on, and the responder drops what it
//! has. That is our reading of §3.3. The scheme was made for a lossless fabric, and it shows.

use std::collections::VecDeque;

use wiremend_units::{Time, mix};

use super::{Heard, RecoveryPolicy};
use crate::sr::board::Board;
use crate::sr::config::Config;

/// The window counts in parts of a packet.
const PART: u64 = 1 << 16;
/// A new path is tried for one of so many packets.
const EXPLORE: u64 = 100;
/// Paths that are remembered for packets to come; a NIC would send at once.
const TICKETS_MAX: usize = 64;

#[derive(Clone, Debug)]
pub(in crate::sr) struct MpRdma {
    /// In parts of a packet.
    window: u64,
    /// Packets that have arrived beyond the first missing one: they are not in flight.
    inflate: u64,
    /// The number behind the highest that has arrived.
    newest: u64,
    /// A recovery is under way: until everything before this number has arrived.
    until: Option<u64>,
    /// Where sending again has come to.
    cursor: u64,
    /// Paths that acknowledgements came by.
    tickets: VecDeque<u16>,
}

impl MpRdma {
    /// Window, inflation, newest, recovery, cursor: what a NIC keeps, which sends at once and needs no tickets.
    pub(super) const STATE_BYTES: u64 = (size_of::<Self>() - size_of::<VecDeque<u16>>()) as u64;

    pub(super) fn new(config: &Config) -> Self {
        let window = u64::from(config.window_first) * PART;
        Self { window, inflate: 0, newest: 0, until: None, cursor: 0, tickets: VecDeque::new() }
    }

    fn start(&mut self, board: &Board) {
        (self.until, self.cursor, self.inflate) = (Some(board.next), board.una, 0);
    }

    fn shrink(&mut self, parts: u64) {
        self.window = self.window.saturating_sub(parts).max(PART);
    }

    fn follow_marks(&mut self, heard: &Heard) {
        if heard.said.marked {
            self.shrink(PART / 2);
        } else {
            self.window += PART * PART / self.window;
        }
    }
}

impl RecoveryPolicy for MpRdma {
    fn on_sent(&mut self, _: &Board, _: Time, seq: u64, again: bool) {
        if again {
            self.cursor = seq + 1;
        }
    }

    fn on_heard(&mut self, config: &Config, board: &Board, _: Time, heard: &Heard) {
        let passed = board.una - heard.una_before;
        self.inflate = (self.inflate + u64::from(heard.is_news)).saturating_sub(passed);
        self.cursor = self.cursor.max(board.una);
        if self.until.is_some_and(|until| board.una >= until) {
            (self.until, self.inflate) = (None, 0);
        }
        if heard.nak && self.until.is_none() && board.outstanding() > 0 {
            self.start(board);
        }
        let Some(seq) = heard.arrived.filter(|_| heard.is_news) else { return };
        self.newest = self.newest.max(seq + 1);
        self.follow_marks(heard);
        if seq + u64::from(config.lag_max) < self.newest {
            self.shrink(PART);
        } else if self.tickets.len() < TICKETS_MAX {
            self.tickets.push_back(heard.path);
        }
    }

    /// Nothing is known of the paths any more.
    fn on_expiry(&mut self, config: &Config, board: &Board, _: Time) {
        self.start(board);
        self.window = u64::from(config.window_first) * PART;
        self.tickets.clear();
    }

    /// What is sent again keeps to the window, as if it was all that is in flight.
    fn again(&self, board: &Board) -> Option<u64> {
        let until = self.until?;
        let cursor = self.cursor.max(board.una);
        let fits = cursor - board.una < self.window / PART + self.inflate;
        (cursor < until && fits).then_some(cursor)
    }

    fn window(&self) -> Option<u64> {
        Some(self.window / PART + self.inflate)
    }

    fn path(&mut self, config: &Config, seq: u64) -> u16 {
        let fresh = (mix(seq) % u64::from(config.paths)) as u16;
        if seq % EXPLORE == EXPLORE - 1 { fresh } else { self.tickets.pop_front().unwrap_or(fresh) }
    }
}
