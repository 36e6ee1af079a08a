//! DCTCP (RFC 8257): the window shrinks with the share of bytes that were marked.

use wiremend_units::Time;

use super::reno::Reno;
use super::{Controller, Delivered, Window};

/// DCTCP.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    reno: Reno,
    /// The estimate of congestion, in parts of [`Self::ONE`].
    alpha: u32,
    acked: u64,
    marked: u64,
    /// The observation window ends when this byte is acknowledged.
    window_end: u64,
}

impl Default for Dctcp {
    /// Everything counts as marked at first (RFC 8257 §3.3, §4.2).
    fn default() -> Self {
        Self { reno: Reno::default(), alpha: Self::ONE, acked: 0, marked: 0, window_end: 0 }
    }
}

impl Dctcp {
    /// α = 1.
    pub const ONE: u32 = 1 << 10;
    /// g = 1/16 (RFC 8257 §4.2).
    const GAIN_SHIFT: u32 = 4;

    /// The estimate of congestion, in parts of [`Self::ONE`].
    pub fn alpha(&self) -> u32 {
        self.alpha
    }

    /// α = (1 − g) α + g M once in a window (RFC 8257 §3.3).
    fn observe(&mut self, ack: &Delivered) {
        self.acked += ack.bytes;
        self.marked += if ack.marked { ack.bytes } else { 0 };
        if ack.una <= self.window_end {
            return;
        }
        let share = (self.marked * Self::ONE as u64).checked_div(self.acked).unwrap_or(0) as u32;
        // What is too small to shrink goes as a whole, as in Linux.
        let fall = (self.alpha >> Self::GAIN_SHIFT).max(self.alpha.min(1));
        self.alpha = (self.alpha - fall + (share >> Self::GAIN_SHIFT)).min(Self::ONE);
        (self.acked, self.marked, self.window_end) = (0, 0, ack.nxt);
    }
}

impl Controller for Dctcp {
    fn on_ack(&mut self, window: &mut Window, ack: &Delivered) {
        self.observe(ack);
        self.reno.on_ack(window, ack);
    }

    /// RFC 8257 §3.3 for marks; a loss is answered as ever (§3.5).
    fn on_congestion(&mut self, now: Time, window: &Window, marked: bool) -> u64 {
        if !marked {
            return self.reno.on_congestion(now, window, false);
        }
        let cut = window.bytes * self.alpha as u64 / (2 * Self::ONE as u64);
        (window.bytes - cut).max(2 * window.mss)
    }
}
