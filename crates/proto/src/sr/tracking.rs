//! How a responder remembers which packets have arrived out of order.
//!
//! Two ways, which differ in memory and in steps per packet: a bitmap as wide as the window, that is looked
//! at in one step and takes its room whether it is used or not; and chunks of a shared pool in a list, which take
//! room as disorder grows and are walked from the first one on, one step each.

use super::bitmap::Bitmap;
use super::chunks::Chunks;

/// Which way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrackingKind {
    /// A bitmap of fixed size.
    Bitmap,
    /// A list of chunks.
    LinkedChunks,
}

/// Numbers that have arrived, from the first missing one on.
#[derive(Clone, Debug)]
pub(super) struct Tracking {
    store: Store,
    steps: Steps,
}

#[derive(Clone, Debug)]
enum Store {
    Bitmap(Bitmap),
    LinkedChunks(Chunks),
}

/// What tracking has cost so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Steps {
    /// Packets that were looked up.
    pub packets: u64,
    /// Accesses to memory that follow one another.
    pub steps: u64,
    /// The most bytes in use at once, of what is taken as needed.
    pub peak_bytes: u64,
    /// The largest distance of a packet from the first missing one: the degree of disorder.
    pub disorder_max: u64,
}

impl Steps {
    /// What several connections have cost.
    pub fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.steps += other.steps;
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
        self.disorder_max = self.disorder_max.max(other.disorder_max);
    }

    /// Packets per second of a pipeline that makes an access in each cycle of such a clock.
    pub fn rate(&self, clock_hz: u64) -> f64 {
        if self.steps == 0 {
            clock_hz as f64
        } else {
            clock_hz as f64 * self.packets as f64 / self.steps as f64
        }
    }
}

impl Tracking {
    pub(super) fn new(kind: TrackingKind) -> Self {
        let store = match kind {
            TrackingKind::Bitmap => Store::Bitmap(Bitmap::default()),
            TrackingKind::LinkedChunks => Store::LinkedChunks(Chunks::default()),
        };
        Self { store, steps: Steps::default() }
    }

    /// A number at or above `expected`, which is missing, has arrived. Says whether it is new.
    pub(super) fn insert(&mut self, expected: u64, number: u64) -> bool {
        self.steps.packets += 1;
        self.steps.disorder_max = self.steps.disorder_max.max(number - expected);
        match &mut self.store {
            Store::Bitmap(bitmap) => {
                self.steps.steps += 1;
                bitmap.insert(number)
            }
            Store::LinkedChunks(chunks) => {
                let (new, steps) = chunks.insert(number);
                self.steps.steps += steps;
                self.steps.peak_bytes = self.steps.peak_bytes.max(chunks.bytes());
                new
            }
        }
    }

    /// The expected number has arrived: the next one that is missing.
    #[inline]
    pub(super) fn advance(&mut self, expected: u64) -> u64 {
        match &mut self.store {
            Store::Bitmap(bitmap) => {
                let next = if bitmap.is_empty() { expected + 1 } else { bitmap.first_missing(expected) };
                bitmap.release(next);
                next
            }
            Store::LinkedChunks(chunks) => chunks.advance(expected),
        }
    }

    /// Nothing has arrived out of order.
    pub(super) fn is_empty(&self) -> bool {
        match &self.store {
            Store::Bitmap(bitmap) => bitmap.is_empty(),
            Store::LinkedChunks(chunks) => chunks.is_empty(),
        }
    }

    /// A packet came in its turn while nothing was out of order: nothing has to be remembered of it.
    pub(super) fn count_in_order(&mut self) {
        self.steps.packets += 1;
        self.steps.steps += 1;
    }

    pub(super) const fn steps(&self) -> Steps {
        self.steps
    }

    /// Bytes that are set aside for a connection that tracks so many packets, and those that it takes when it needs
    /// them most.
    pub(super) fn state_bytes(kind: TrackingKind, tracked: u32) -> (u64, u64) {
        match kind {
            TrackingKind::Bitmap => {
                let bytes = u64::from(tracked).div_ceil(8);
                (bytes, bytes)
            }
            TrackingKind::LinkedChunks => (Chunks::HEAD_BYTES, Chunks::bytes_for(tracked)),
        }
    }
}
