//! Storage of a responder for the packets that have arrived out of order.
//!
//! The two kinds differ in memory and in steps per packet. A bitmap is as wide as the window, takes one step
//! and always occupies its memory. Chunks form a list in a shared pool; they occupy memory as reordering
//! grows, and an access visits them from the first one on, one step each.

use super::bitmap::Bitmap;
use super::chunks::Chunks;

/// The kind of storage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrackingKind {
    /// A bitmap of fixed size.
    Bitmap,
    /// A linked list of chunks.
    LinkedChunks,
}

/// Numbers that have arrived, from the first missing one on.
#[derive(Clone, Debug)]
pub(super) struct Tracking {
    store: Store,
    cost: TrackingCost,
}

#[derive(Clone, Debug)]
enum Store {
    Bitmap(Bitmap),
    LinkedChunks(Chunks),
}

/// Cost of tracking so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TrackingCost {
    /// Packets looked up.
    pub packets: u64,
    /// Sequential memory accesses.
    pub steps: u64,
    /// Maximum of the bytes allocated on demand.
    pub peak_bytes: u64,
    /// Largest distance of a packet from the first missing one: the degree of reordering.
    pub disorder_max: u64,
}

impl TrackingCost {
    /// Adds the cost of another connection.
    pub fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.steps += other.steps;
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
        self.disorder_max = self.disorder_max.max(other.disorder_max);
    }

    /// Packets per second of a pipeline that makes one access per clock cycle.
    pub fn packets_per_s(&self, clock_hz: u64) -> f64 {
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
        Self { store, cost: TrackingCost::default() }
    }

    /// Records the arrival of a number at or above `expected`, which is missing. Returns whether it is new.
    pub(super) fn insert(&mut self, expected: u64, number: u64) -> bool {
        self.cost.packets += 1;
        self.cost.disorder_max = self.cost.disorder_max.max(number - expected);
        match &mut self.store {
            Store::Bitmap(bitmap) => {
                self.cost.steps += 1;
                bitmap.insert(number)
            }
            Store::LinkedChunks(chunks) => {
                let (new, steps) = chunks.insert(number);
                self.cost.steps += steps;
                self.cost.peak_bytes = self.cost.peak_bytes.max(chunks.bytes());
                new
            }
        }
    }

    /// Handles the arrival of the expected number. Returns the next missing one.
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

    /// Returns whether nothing has arrived out of order.
    pub(super) fn is_empty(&self) -> bool {
        match &self.store {
            Store::Bitmap(bitmap) => bitmap.is_empty(),
            Store::LinkedChunks(chunks) => chunks.is_empty(),
        }
    }

    /// Counts a packet that arrived in order while nothing was out of order and needs no storage.
    pub(super) fn count_in_order(&mut self) {
        self.cost.packets += 1;
        self.cost.steps += 1;
    }

    pub(super) const fn tracking_cost(&self) -> TrackingCost {
        self.cost
    }

    /// Bytes reserved for a connection that tracks this many packets, and bytes in use at most.
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
