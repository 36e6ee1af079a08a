//! MP-RDMA (Lu et al., NSDI 2018): one window over many paths, controlled by ECN marks, and a bound on
//! reordering.
//!
//! Each acknowledgement returns on the path of its packet and permits one more packet on that path, so that
//! fast paths carry more (§3.2). An acknowledgement without a mark adds 1/w to the window w; one with a mark
//! subtracts a half. A packet that lags more than Δ behind the newest one used a slow path: the window
//! shrinks by one, and the path is not used again (§3.4). The requester also explores new paths: the paper
//! draws 1 % at random, here it is every hundredth packet.
//!
//! The requester keeps no bitmap. A NAK for a packet beyond the responder's bitmap of 64, or the timer, makes
//! it retransmit everything from the first missing packet on, and the responder drops duplicates. This is our
//! interpretation of §3.3. The scheme was designed for a lossless fabric.

use std::collections::VecDeque;

use wiremend_units::{Time, mix};

use super::{AckEvent, RecoveryPolicy};
use crate::sr::config::Config;
use crate::sr::scoreboard::Scoreboard;

/// Fixed-point unit of the window: one packet.
const PACKET: u64 = 1 << 16;
/// One of this many packets uses a new path.
const EXPLORE_EVERY: u64 = 100;
/// Limit of paths stored for later packets; a NIC would send at once.
const ACK_PATHS_MAX: usize = 64;

#[derive(Clone, Debug)]
pub(in crate::sr) struct MpRdma {
    /// Window in units of [`PACKET`].
    window: u64,
    /// Packets that have arrived beyond the first missing one and are therefore not in flight.
    inflation: u64,
    /// One past the highest number that has arrived.
    newest: u64,
    /// A recovery is in progress until everything before this number has arrived.
    recovery_end: Option<u64>,
    /// Next number to retransmit.
    cursor: u64,
    /// Paths of acknowledgements that have not been used yet.
    ack_paths: VecDeque<u16>,
}

impl MpRdma {
    /// Bytes of NIC state. A NIC sends at once and needs no stored paths.
    pub(super) const STATE_BYTES: u64 = (size_of::<Self>() - size_of::<VecDeque<u16>>()) as u64;

    pub(super) fn new(config: &Config) -> Self {
        let window = u64::from(config.initial_window) * PACKET;
        Self { window, inflation: 0, newest: 0, recovery_end: None, cursor: 0, ack_paths: VecDeque::new() }
    }

    fn start_recovery(&mut self, scoreboard: &Scoreboard) {
        (self.recovery_end, self.cursor, self.inflation) = (Some(scoreboard.next), scoreboard.una, 0);
    }

    fn shrink(&mut self, parts: u64) {
        self.window = self.window.saturating_sub(parts).max(PACKET);
    }

    fn adjust_window(&mut self, event: &AckEvent) {
        if event.ack.marked {
            self.shrink(PACKET / 2);
        } else {
            self.window += PACKET * PACKET / self.window;
        }
    }
}

impl RecoveryPolicy for MpRdma {
    fn on_sent(&mut self, _: &Scoreboard, _: Time, seq: u64, retransmission: bool) {
        if retransmission {
            self.cursor = seq + 1;
        }
    }

    fn on_ack(&mut self, config: &Config, scoreboard: &Scoreboard, _: Time, event: &AckEvent) {
        let passed = scoreboard.una - event.una_before;
        self.inflation = (self.inflation + u64::from(event.newly_arrived)).saturating_sub(passed);
        self.cursor = self.cursor.max(scoreboard.una);
        if self.recovery_end.is_some_and(|recovery_end| scoreboard.una >= recovery_end) {
            (self.recovery_end, self.inflation) = (None, 0);
        }
        if event.nak && self.recovery_end.is_none() && scoreboard.outstanding() > 0 {
            self.start_recovery(scoreboard);
        }
        let Some(seq) = event.arrived.filter(|_| event.newly_arrived) else { return };
        self.newest = self.newest.max(seq + 1);
        self.adjust_window(event);
        if seq + u64::from(config.lag_max) < self.newest {
            self.shrink(PACKET);
        } else if self.ack_paths.len() < ACK_PATHS_MAX {
            self.ack_paths.push_back(event.path);
        }
    }

    /// The state of the paths is unknown after an expiry.
    fn on_expiry(&mut self, config: &Config, scoreboard: &Scoreboard, _: Time) {
        self.start_recovery(scoreboard);
        self.window = u64::from(config.initial_window) * PACKET;
        self.ack_paths.clear();
    }

    /// Retransmissions keep to the window as if they alone were in flight.
    fn next_retransmission(&self, scoreboard: &Scoreboard) -> Option<u64> {
        let recovery_end = self.recovery_end?;
        let cursor = self.cursor.max(scoreboard.una);
        let fits = cursor - scoreboard.una < self.window / PACKET + self.inflation;
        (cursor < recovery_end && fits).then_some(cursor)
    }

    fn window(&self) -> Option<u64> {
        Some(self.window / PACKET + self.inflation)
    }

    fn next_path(&mut self, config: &Config, seq: u64) -> u16 {
        let random_path = (mix(seq) % u64::from(config.path_count)) as u16;
        if seq % EXPLORE_EVERY == EXPLORE_EVERY - 1 {
            random_path
        } else {
            self.ack_paths.pop_front().unwrap_or(random_path)
        }
    }
}
