//! Accelerations for fabrics that lose packets, as `RoCE` NICs offer them beside go-back-N (JCST §7.1).
//!
//! Three switches are known by their names in a vendor's registers and counters, and one of them by a description.
//! What they do here:
//!
//! - **Adaptive retransmission.** The timer starts short and doubles after so many expiries without progress, until it
//!   has reached the timeout of the queue pair; progress makes it short again. That is what the vendor's page on
//!   the profiles of adaptive retransmission says, with one range of timeouts and without the random start. All
//!   these expiries together cost one retry, as was measured on a `ConnectX`-6.
//! - **Limited send window.** That is [`Config::window`]: a bound on what may be outstanding, loss or not.
//! - **Slow restart.** After a loss one packet may be outstanding, and one more for each that is acknowledged, so that
//!   the window doubles with each round trip until it bounds nothing. The vendor's counters tell of notifications
//!   that slow restart makes, so there it is the rate that falls; a window acts alike without rate control.
//!
//! A loss is a NAK, an implied NAK or an expiry: whoever repeats NAKs repeats the restart (JCST §7.1).

use wiremend_units::Span;

use super::config::Config;

/// What a queue pair does beyond the specification. By default nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Acceleration {
    /// Adaptive retransmission.
    pub adaptive: Option<Adaptive>,
    /// Slow restart.
    pub slow_restart: bool,
}

/// How the timer of a queue pair grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Adaptive {
    /// The shortest timeout.
    pub first: Span,
    /// How often a timeout is used before it doubles; at least 1.
    pub tries: u8,
}

/// How far a queue pair is in either.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Expiries without progress that were adaptive.
    expiries: u8,
    /// Packets that may be outstanding after a loss; [`UNBOUNDED`]: as many as else.
    window: u16,
}

const UNBOUNDED: u16 = u16::MAX;

impl Default for Pace {
    fn default() -> Self {
        Self { expiries: 0, window: UNBOUNDED }
    }
}

impl Pace {
    /// The timeout that is next.
    #[inline]
    pub(super) fn timeout(self, config: &Config) -> Option<Span> {
        if config.acceleration.adaptive.is_none() { config.timeout } else { self.adapted(config) }
    }

    #[cold]
    fn adapted(self, config: &Config) -> Option<Span> {
        let (adaptive, timeout) = (config.acceleration.adaptive?, config.timeout?);
        let doublings = self.expiries / adaptive.tries.max(1);
        let ps = adaptive.first.as_ps().checked_mul(1_u64.checked_shl(doublings.into()).unwrap_or(u64::MAX));
        Some(ps.map_or(timeout, |ps| Span::from_ps(ps).min(timeout)))
    }

    /// The timer has expired. Says whether it was a short one, which costs no retry of its own.
    pub(super) fn on_expiry(&mut self, config: &Config) -> bool {
        let short = self.timeout(config) < config.timeout;
        self.expiries = self.expiries.saturating_add(u8::from(short));
        short
    }

    /// Something was lost.
    pub(super) fn on_loss(&mut self, config: &Config) {
        if config.acceleration.slow_restart {
            self.window = 1;
        }
    }

    /// So many packets were acknowledged.
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

    /// Packets that may be outstanding, as far as this goes.
    #[inline]
    pub(super) const fn window(self) -> u32 {
        if self.window == UNBOUNDED { u32::MAX } else { self.window as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timer_doubles_up_to_the_timeout_and_progress_makes_it_short() {
        let adaptive = Adaptive { first: Span::from_us(4), tries: 2 };
        let config = Config {
            timeout: Some(Span::from_us(20)),
            acceleration: Acceleration { adaptive: Some(adaptive), slow_restart: false },
            ..Config::default()
        };
        let mut pace = Pace::default();
        let mut seen = Vec::new();
        for _ in 0..8 {
            seen.push(pace.timeout(&config).unwrap());
            pace.on_expiry(&config);
        }
        assert_eq!(seen, [4, 4, 8, 8, 16, 16, 20, 20].map(Span::from_us));
        assert!(!pace.on_expiry(&config), "the timeout itself costs a retry");
        pace.on_progress(&config, 1);
        assert_eq!(pace.timeout(&config), Some(Span::from_us(4)));
    }

    #[test]
    fn a_window_grows_with_what_is_acknowledged_until_it_bounds_nothing() {
        let acceleration = Acceleration { adaptive: None, slow_restart: true };
        let config = Config { window: 6, acceleration, ..Config::default() };
        let mut pace = Pace::default();
        pace.on_progress(&config, 3);
        assert_eq!(pace.window(), u32::MAX, "nothing was lost");
        pace.on_loss(&config);
        let windows = [1, 2].map(|packets| {
            pace.on_progress(&config, packets);
            pace.window()
        });
        assert_eq!(windows, [2, 4]);
        pace.on_progress(&config, 4);
        assert_eq!((pace.window(), pace.timeout(&config)), (u32::MAX, config.timeout));
    }
}
