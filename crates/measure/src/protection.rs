//! What protected links did.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::Frames;

/// Sums over all protected links, but for the buffers: those are the largest of any end. All zero without protection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Protection {
    /// Frames that got a number, each link that they crossed counted.
    pub protected: u64,
    /// Bytes of link headers in front of them.
    pub header_bytes: u64,
    /// Copies sent again.
    pub resent: Frames,
    /// Frames of the links' own: dummies, acknowledgements, notifications, pauses, handshakes, parities.
    pub own: Frames,
    /// Frames with a header that came in and went on their way.
    pub handed_on: u64,
    /// Times that a receiver told its sender of missing frames.
    pub notifications: u64,
    /// Frames found missing.
    pub missed: u64,
    /// Of these, frames that came later.
    pub recovered: u64,
    /// Of these, frames that were given up.
    pub lost: u64,
    /// Frames that came again and were taken away.
    pub duplicates: u64,
    /// Frames that could not be kept for want of room, and were sent all the same.
    pub unkept: u64,
    /// Requests that were not met: the copy was gone, or too many were asked for.
    pub refused: u64,
    /// Frames that found no room where they had to wait for others.
    pub overflowed: u64,
    /// Times that a receiver asked its sender to pause.
    pub pauses: u64,
    /// How long senders obeyed, in nanoseconds.
    pub paused_ns: u64,
    /// Times that copies which a sender keeps went through its switch again; of the prototype only.
    pub tx_passes: u64,
    /// The same of frames that wait at a receiver.
    pub rx_passes: u64,
    /// How long frames were missed until they came. Of the hardened profile the times are rounded up, by at most an eighth.
    pub delays: Delays,
    /// Most bytes that any sender kept.
    pub tx_buffer_bytes_max: u64,
    /// Most bytes that waited at any receiver.
    pub rx_buffer_bytes_max: u64,
}

/// How long frames were missed until they came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Delays {
    /// The longest.
    pub max_ns: u64,
    /// Frames by how long it took: less than [`Self::STEP_NS`], less than twice as long, and so on; the last step has no end.
    pub steps: [u64; 32],
}

impl Delays {
    /// The width of a step.
    pub const STEP_NS: u64 = 250;

    /// One more.
    pub fn add(&mut self, ns: u64) {
        self.add_many(ns, 1);
    }

    /// So many more.
    pub fn add_many(&mut self, ns: u64, count: u64) {
        let last = self.steps.len() - 1;
        self.max_ns = self.max_ns.max(ns);
        self.steps[usize::try_from(ns / Self::STEP_NS).unwrap_or(last).min(last)] += count;
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.steps.iter().sum()
    }
}

impl AddAssign for Delays {
    fn add_assign(&mut self, other: Self) {
        self.max_ns = self.max_ns.max(other.max_ns);
        for (mine, theirs) in self.steps.iter_mut().zip(other.steps) {
            *mine += theirs;
        }
    }
}

impl Protection {
    /// Bytes that protection put on links.
    pub const fn bytes(&self) -> u64 {
        self.header_bytes + self.resent.bytes + self.own.bytes
    }
}

add_counters!(
    Protection;
    sum protected, header_bytes, resent, own, handed_on, notifications, missed, recovered, lost, duplicates,
    unkept, refused, overflowed, pauses, paused_ns, tx_passes, rx_passes, delays;
    max tx_buffer_bytes_max, rx_buffer_bytes_max
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_fall_into_steps_and_the_last_has_no_end() {
        let mut delays = Delays::default();
        for ns in [0, 249, 250, 5_500, 1_000_000] {
            delays.add(ns);
        }
        assert_eq!((delays.steps[0], delays.steps[1], delays.steps[22], delays.steps[31]), (2, 1, 1, 1));
        let mut sum = delays;
        sum += delays;
        assert_eq!((sum.count(), sum.max_ns), (10, 1_000_000));
    }
}
