//! Configurations of the published experiments.

use std::fmt;

use wiremend_units::{Rate, Span};

/// Buffer cell of the switch, the unit of queue depths.
pub const CELL_BYTES: u64 = 80;
/// Interval of the packet generator's packets at the receiver, the unit of its timers.
pub const TICK: Span = Span::from_ns(100);

/// Compile-time and install-time parameters of the prototype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Rate of the link, which pause quanta depend on.
    pub rate: Rate,
    /// Blocking mode: frames are delivered in order. Otherwise `LinkGuardianNB`.
    pub ordered: bool,
    /// Copies per retransmission.
    pub copies: u8,
    /// Dummies after the last frame.
    pub dummies_max: u8,
    /// Maximum frames that carry the same ACK.
    pub acks_max: u8,
    /// Whether ACKs also leave in frames of their own, from a queue that refills itself (§3.1).
    pub ack_queue: bool,
    /// `ackNoTimeout`, in [`TICK`]s.
    pub timeout_ticks: u16,
    /// Depth of the reordering buffer in cells at which the sender is paused.
    pub pause_cells: u32,
    /// Depth at which it is resumed.
    pub resume_cells: u32,
}

/// Error of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// 0 copies.
    NoCopies,
    /// A timeout of 0 ticks.
    NoTimeout,
    /// The resume threshold is not below the pause threshold.
    Thresholds {
        /// Pause threshold.
        pause_cells: u32,
        /// Resume threshold.
        resume_cells: u32,
    },
}

impl Config {
    /// Experiments at 100G (LG §4, artifact).
    pub const GBPS_100: Self = Self::published(Rate::gbps(100), 70, 500);
    /// Experiments at 25G.
    pub const GBPS_25: Self = Self::published(Rate::gbps(25), 75, 537);
    /// Experiments at 10G.
    pub const GBPS_10: Self = Self::published(Rate::gbps(10), 135, 662);

    /// Published configuration for a rate, if any.
    pub fn for_rate(rate: Rate) -> Option<Self> {
        [Self::GBPS_100, Self::GBPS_25, Self::GBPS_10].into_iter().find(|config| config.rate == rate)
    }

    /// Non-blocking mode: `LinkGuardianNB`.
    #[must_use]
    pub const fn non_blocking(self) -> Self {
        Self { ordered: false, ..self }
    }

    /// Sets the copies. The experiments use one, and two at a loss rate of 10⁻³.
    #[must_use]
    pub const fn with_copies(self, copies: u8) -> Self {
        Self { copies, ..self }
    }

    /// Checks the configuration.
    pub const fn check(&self) -> Result<(), ConfigError> {
        let Self { pause_cells, resume_cells, .. } = *self;
        if self.copies == 0 {
            Err(ConfigError::NoCopies)
        } else if self.timeout_ticks == 0 {
            Err(ConfigError::NoTimeout)
        } else if resume_cells >= pause_cells {
            Err(ConfigError::Thresholds { pause_cells, resume_cells })
        } else {
            Ok(())
        }
    }

    /// The pause threshold is 40 cells, two frames of 1518 bytes, above the resume threshold.
    const fn published(rate: Rate, timeout_ticks: u16, pause_cells: u32) -> Self {
        let resume_cells = pause_cells - 40;
        Self {
            rate,
            ordered: true,
            copies: 1,
            dummies_max: 3,
            acks_max: 2,
            ack_queue: true,
            timeout_ticks,
            pause_cells,
            resume_cells,
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCopies => f.write_str("copies is 0; it must be at least 1"),
            Self::NoTimeout => f.write_str("timeout_ticks is 0; it must be at least 1"),
            Self::Thresholds { pause_cells, resume_cells } => {
                write!(f, "resume at {resume_cells} cells must be below pause at {pause_cells}")
            }
        }
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values() {
        let all = [(100, 70, 460, 500), (25, 75, 497, 537), (10, 135, 622, 662)];
        for (gbps, ticks, resume, pause) in all {
            let config = Config::for_rate(Rate::gbps(gbps)).unwrap();
            assert_eq!(
                (config.timeout_ticks, config.resume_cells, config.pause_cells),
                (ticks, resume, pause)
            );
            assert_eq!(config.check(), Ok(()));
        }
        assert_eq!(Config::for_rate(Rate::gbps(40)), None);
    }

    #[test]
    fn invalid_configurations_are_refused() {
        let good = Config::GBPS_100;
        assert_eq!(good.with_copies(0).check(), Err(ConfigError::NoCopies));
        assert_eq!(Config { timeout_ticks: 0, ..good }.check(), Err(ConfigError::NoTimeout));
        let equal = Config { resume_cells: 500, ..good }.check().unwrap_err();
        assert_eq!(equal.to_string(), "resume at 500 cells must be below pause at 500");
    }
}
