//! Accelerations that `RoCE` NICs offer for lossy fabrics beside go-back-N (JCST §7.1).
//!
//! A vendor's registers and counters name three of them; the vendor describes only one. This module
//! implements:
//!
//! - **Adaptive retransmission.** The timer starts short and doubles after a number of expiries without
//!   progress, up to the timeout of the queue pair; progress makes it short again. This follows the vendor's
//!   page on profiles of adaptive retransmission, with one range of timeouts and without the random start.
//!   All these expiries together cost one retry, as measured on a `ConnectX`-6.
//! - **Limited send window.** This is [`Config::window`], a limit on outstanding packets with or without
//!   losses.
//! - **Slow restart.** After a loss one packet may be outstanding, and one more for each acknowledged packet.
//!   The window therefore doubles each round trip until it exceeds [`Config::window`]. The vendor's counters
//!   mention congestion notifications caused by slow restart, so the NIC reduces the rate. Without rate
//!   control, a window has a similar effect.
//!
//! A loss is a NAK, an implied NAK or an expiry. A switch that repeats NAKs therefore repeats the restart
//! (JCST §7.1).

use wiremend_units::Span;

use super::config::Config;

/// Accelerations of a queue pair. The default has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Acceleration {
    /// Adaptive retransmission.
    pub adaptive: Option<AdaptiveTimeout>,
    /// Slow restart.
    pub slow_restart: bool,
}

/// Growth of the retransmission timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdaptiveTimeout {
    /// The shortest timeout.
    pub shortest: Span,
    /// Expiries of one timeout before it doubles; at least 1.
    pub expiries_per_doubling: u8,
}

/// State of the accelerations of one queue pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccelerationState {
    /// Expiries of shortened timeouts since the last progress.
    expiries: u8,
    /// Packets that may be outstanding after a loss; [`UNBOUNDED`]: no additional limit.
    window: u16,
}

const UNBOUNDED: u16 = u16::MAX;

impl Default for AccelerationState {
    fn default() -> Self {
        Self { expiries: 0, window: UNBOUNDED }
    }
}

impl AccelerationState {
    /// Returns the next timeout.
    #[inline]
    pub(super) fn timeout(self, config: &Config) -> Option<Span> {
        if config.acceleration.adaptive.is_none() { config.timeout } else { self.adaptive_timeout(config) }
    }

    #[cold]
    fn adaptive_timeout(self, config: &Config) -> Option<Span> {
        let (adaptive, timeout) = (config.acceleration.adaptive?, config.timeout?);
        let doublings = self.expiries / adaptive.expiries_per_doubling.max(1);
        let ps =
            adaptive.shortest.as_ps().checked_mul(1_u64.checked_shl(doublings.into()).unwrap_or(u64::MAX));
        Some(ps.map_or(timeout, |ps| Span::from_ps(ps).min(timeout)))
    }

    /// Handles an expiry. Returns whether the timeout was shortened and therefore costs no retry of its own.
    pub(super) fn on_expiry(&mut self, config: &Config) -> bool {
        let short = self.timeout(config) < config.timeout;
        self.expiries = self.expiries.saturating_add(u8::from(short));
        short
    }

    /// Handles a loss.
    pub(super) fn on_loss(&mut self, config: &Config) {
        if config.acceleration.slow_restart {
            self.window = 1;
        }
    }

    /// Handles the acknowledgement of `packets` packets.
    #[inline]
    pub(super) fn on_progress(&mut self, config: &Config, packets: u64) {
        if config.acceleration != Acceleration::default() {
            self.recover(config, packets);
        }
    }

    #[cold]
    fn recover(&mut self, config: &Config, packets: u64) {
        self.expiries = 0;
        let window = self.window.saturating_add(u16::try_from(packets).unwrap_or(UNBOUNDED));
        self.window = if u32::from(window) >= config.window { UNBOUNDED } else { window };
    }

    /// Packets that may be outstanding because of slow restart.
    #[inline]
    pub(super) const fn window(self) -> u32 {
        if self.window == UNBOUNDED { u32::MAX } else { self.window as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeout_doubles_up_to_the_limit_and_progress_resets_it() {
        let adaptive = AdaptiveTimeout { shortest: Span::from_us(4), expiries_per_doubling: 2 };
        let config = Config {
            timeout: Some(Span::from_us(20)),
            acceleration: Acceleration { adaptive: Some(adaptive), slow_restart: false },
            ..Config::default()
        };
        let mut state = AccelerationState::default();
        let mut seen = Vec::new();
        for _ in 0..8 {
            seen.push(state.timeout(&config).unwrap());
            state.on_expiry(&config);
        }
        assert_eq!(seen, [4, 4, 8, 8, 16, 16, 20, 20].map(Span::from_us));
        assert!(!state.on_expiry(&config), "the timeout itself costs a retry");
        state.on_progress(&config, 1);
        assert_eq!(state.timeout(&config), Some(Span::from_us(4)));
    }

    #[test]
    fn window_grows_with_acknowledgements_until_slow_restart_ends() {
        let acceleration = Acceleration { adaptive: None, slow_restart: true };
        let config = Config { window: 6, acceleration, ..Config::default() };
        let mut state = AccelerationState::default();
        state.on_progress(&config, 3);
        assert_eq!(state.window(), u32::MAX, "nothing was lost");
        state.on_loss(&config);
        let windows = [1, 2].map(|packets| {
            state.on_progress(&config, packets);
            state.window()
        });
        assert_eq!(windows, [2, 4]);
        state.on_progress(&config, 4);
        assert_eq!((state.window(), state.timeout(&config)), (u32::MAX, config.timeout));
    }
}
