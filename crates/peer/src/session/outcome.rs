//! What a client has measured.

use std::collections::BTreeMap;

use wiremend_measure::Histogram;
use wiremend_proto::engine::{Expiry, RequesterCounters};
use wiremend_units::{Span, Time};

use crate::drops::{Drops, StallCause};
use crate::perftest::{REPORTS, Tool};

/// Results of a test.
#[derive(Debug)]
pub struct Outcome {
    /// The program at the other end.
    pub tool: Tool,
    /// Message length.
    pub size: u32,
    /// Messages that completed.
    pub messages: u64,
    /// Path MTU.
    pub mtu: u16,
    /// Time from the first post to the last completion.
    pub elapsed: Span,
    /// Times of messages in nanoseconds: from post to completion, or half of a round trip as in perftest.
    pub latency: Histogram,
    /// Whether `latency` has half round trips.
    pub is_half: bool,
    /// Expiries of the timer.
    pub stalls: Vec<Stall>,
    /// Expiries beyond those in `stalls`.
    pub stalls_not_listed: u64,
    /// Number of all expiries by cause.
    pub causes: BTreeMap<StallCause, u64>,
    /// Counters of all queue pairs.
    pub requester: RequesterCounters,
    /// Copies of NAKs and of retransmissions.
    pub copies: u64,
    /// Frames of all queue pairs: received, and sent.
    pub frames: [u64; 2],
    /// Frames dropped on purpose.
    pub dropped: u64,
    /// Frames that this machine's kernel dropped.
    pub kernel_drops: u64,
}

/// An expiry of the retransmission timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stall {
    /// Time since the start.
    pub at: Span,
    /// Time without progress.
    pub waited: Span,
    /// Oldest packet without acknowledgement.
    pub psn: u32,
    /// Why.
    pub cause: StallCause,
}

/// Stalls in memory.
const LISTED_MAX: usize = 10_000;

impl Outcome {
    /// Bytes per second.
    pub fn bytes_per_s(&self) -> f64 {
        self.messages as f64 * f64::from(self.size) / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The results as perftest exchanges them: length, number, peak and average rate in MiB/s, millions of messages
    /// per second.
    pub(super) fn reports(&self) -> [[u8; 8]; REPORTS] {
        let mib_per_s = self.bytes_per_s() / f64::from(1 << 20);
        let millions_per_s = self.messages as f64 / self.elapsed.as_secs_f64().max(1e-9) / 1e6;
        [
            u64::from(self.size).to_be_bytes(),
            self.messages.to_be_bytes(),
            mib_per_s.to_be_bytes(),
            mib_per_s.to_be_bytes(),
            millions_per_s.to_be_bytes(),
        ]
    }

    /// The longest wait of the listed stalls with this cause.
    pub fn longest(&self, cause: StallCause) -> Span {
        let of_cause = self.stalls.iter().filter(|stall| stall.cause == cause);
        of_cause.map(|stall| stall.waited).max().unwrap_or(Span::ZERO)
    }

    pub(super) fn on_expiry(
        &mut self,
        drops: &Drops,
        at: Time,
        [start, progress]: [Time; 2],
        expiry: &Expiry,
    ) {
        let (psn, cause) = (expiry.oldest.get(), drops.cause(expiry));
        *self.causes.entry(cause).or_default() += 1;
        if self.stalls.len() == LISTED_MAX {
            self.stalls_not_listed += 1;
            return;
        }
        self.stalls.push(Stall { at: at.since(start), waited: at.since(progress), psn, cause });
    }
}
