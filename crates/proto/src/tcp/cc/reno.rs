//! Reno (RFC 5681): a segment more in a round trip, half after a loss.

use wiremend_units::Time;

use super::{Controller, Delivered, Window};

/// Reno.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno {
    /// Bytes that have arrived since the window grew.
    counted: u64,
}

impl Reno {
    /// Congestion avoidance (RFC 5681 §3.1, by bytes as in RFC 3465): a segment for each window that arrives.
    #[inline]
    pub(super) fn avoid(&mut self, window: &mut Window, arrived: u64) {
        self.counted += arrived;
        if self.counted >= window.bytes {
            self.counted -= window.bytes;
            window.bytes += window.mss;
        }
    }
}

impl Controller for Reno {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Delivered) {
        if !ack.limited {
            return;
        }
        let left = window.slow_start(ack.bytes);
        if left > 0 {
            self.avoid(window, left);
        }
    }

    fn on_congestion(&mut self, _now: Time, window: &Window, _marked: bool) -> u64 {
        self.counted = 0;
        (window.bytes / 2).max(2 * window.mss)
    }
}
