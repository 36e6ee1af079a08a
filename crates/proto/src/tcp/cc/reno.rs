//! Reno (RFC 5681): adds one segment per round trip and halves the window after a loss.

use wiremend_units::Time;

use super::{AckEvent, Controller, Window};

/// Reno state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno {
    /// Bytes acknowledged since the window grew.
    counted: u64,
}

impl Reno {
    /// Congestion avoidance (RFC 5681 §3.1, in bytes as in RFC 3465): one segment per acknowledged window.
    #[inline]
    pub(super) fn congestion_avoidance(&mut self, window: &mut Window, arrived: u64) {
        self.counted += arrived;
        if self.counted >= window.bytes {
            self.counted -= window.bytes;
            window.bytes += window.mss;
        }
    }
}

impl Controller for Reno {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        if !ack.cwnd_limited {
            return;
        }
        let left = window.slow_start(ack.bytes);
        if left > 0 {
            self.congestion_avoidance(window, left);
        }
    }

    fn on_congestion(&mut self, _now: Time, window: &Window, _marked: bool) -> u64 {
        self.counted = 0;
        (window.bytes / 2).max(2 * window.mss)
    }
}
