//! DCTCP (RFC 8257): the window shrinks in proportion to the share of marked bytes.

use wiremend_units::Time;

use super::reno::Reno;
use super::{AckEvent, Controller, Window};

/// DCTCP state.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    reno: Reno,
    alpha: u32,
    acked: u64,
    marked: u64,
    /// The observation window ends when this byte is acknowledged.
    window_end: u64,
}

impl Default for Dctcp {
    /// α starts at 1 (RFC 8257 §3.3, §4.2).
    fn default() -> Self {
        Self { reno: Reno::default(), alpha: Self::ONE, acked: 0, marked: 0, window_end: 0 }
    }
}

impl Dctcp {
    /// α = 1.
    pub const ONE: u32 = 1 << 10;
    /// g = 1/16 (RFC 8257 §4.2).
    const GAIN_SHIFT: u32 = 4;

    /// Congestion estimate α in units of 1/[`Self::ONE`].
    pub fn alpha(&self) -> u32 {
        self.alpha
    }

    /// Once per window: α = (1 − g) α + g M (RFC 8257 §3.3).
    fn update_alpha(&mut self, ack: &AckEvent) {
        self.acked += ack.bytes;
        self.marked += if ack.marked { ack.bytes } else { 0 };
        if ack.una <= self.window_end {
            return;
        }
        let share = (self.marked * Self::ONE as u64).checked_div(self.acked).unwrap_or(0) as u32;
        // A remainder too small to shift falls by 1, as in Linux.
        let fall = (self.alpha >> Self::GAIN_SHIFT).max(self.alpha.min(1));
        self.alpha = (self.alpha - fall + (share >> Self::GAIN_SHIFT)).min(Self::ONE);
        (self.acked, self.marked, self.window_end) = (0, 0, ack.nxt);
    }
}

impl Controller for Dctcp {
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.update_alpha(ack);
        self.reno.on_ack(window, ack);
    }

    /// A mark reduces the window by α/2 (RFC 8257 §3.3), a loss as in Reno (§3.5).
    fn on_congestion(&mut self, now: Time, window: &Window, marked: bool) -> u64 {
        if !marked {
            return self.reno.on_congestion(now, window, false);
        }
        let cut = window.bytes * self.alpha as u64 / (2 * Self::ONE as u64);
        (window.bytes - cut).max(2 * window.mss)
    }
}
