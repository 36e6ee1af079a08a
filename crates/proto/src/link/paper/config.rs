//! The numbers of the published experiments.

use std::fmt;

use wiremend_units::{Rate, Span};

/// What a switch counts its queues in.
pub const CELL_BYTES: u64 = 80;
/// A packet generator's packet passes the receiver so often; all its times are counted in these.
pub const TICK: Span = Span::from_ns(100);

/// What is fixed when the prototype is compiled and installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Of the link; pause times follow from it.
    pub rate: Rate,
    /// Blocking: frames are handed on in order. Otherwise `LinkGuardianNB`.
    pub ordered: bool,
    /// Of what is sent again.
    pub copies: u8,
    /// Dummies behind the last frame before a silence.
    pub dummies_max: u8,
    /// Frames that carry the same ACK at most.
    pub acks_max: u8,
    /// `ackNoTimeout`, in [`TICK`]s.
    pub timeout_ticks: u16,
    /// The reordering buffer's depth in cells at which the sender is paused.
    pub pause_cells: u32,
    /// The depth at which it is resumed.
    pub resume_cells: u32,
}

/// Why a configuration cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// No copy would ever be sent.
    NoCopies,
    /// Everything would be given up at once.
    NoTimeout,
    /// One depth would both pause and resume.
    Thresholds {
        /// As set.
        pause_cells: u32,
        /// As set.
        resume_cells: u32,
    },
}

impl Config {
    /// As in the experiments over 100G (LG §4, artifact).
    pub const GBPS_100: Self = Self::published(Rate::gbps(100), 70, 500);
    /// As in the experiments over 25G.
    pub const GBPS_25: Self = Self::published(Rate::gbps(25), 75, 537);
    /// As in the experiments over 10G.
    pub const GBPS_10: Self = Self::published(Rate::gbps(10), 135, 662);

    /// What was published for a link of that rate, if anything was.
    pub fn at(rate: Rate) -> Option<Self> {
        [Self::GBPS_100, Self::GBPS_25, Self::GBPS_10].into_iter().find(|config| config.rate == rate)
    }

    /// Without order: `LinkGuardianNB`.
    #[must_use]
    pub const fn non_blocking(self) -> Self {
        Self { ordered: false, ..self }
    }

    /// The experiments send one copy, and two where a thousandth of all frames is lost.
    #[must_use]
    pub const fn with_copies(self, copies: u8) -> Self {
        Self { copies, ..self }
    }

    /// Whether this can work.
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

    /// Pause is two frames of 1518 bytes, 40 cells, above resume everywhere.
    const fn published(rate: Rate, timeout_ticks: u16, pause_cells: u32) -> Self {
        let resume_cells = pause_cells - 40;
        Self {
            rate,
            ordered: true,
            copies: 1,
            dummies_max: 3,
            acks_max: 2,
            timeout_ticks,
            pause_cells,
            resume_cells,
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCopies => f.write_str("0 copies recover nothing: at least 1"),
            Self::NoTimeout => f.write_str("a time-out of 0 ticks gives up everything: at least 1"),
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
    fn published_numbers() {
        let all = [(100, 70, 460, 500), (25, 75, 497, 537), (10, 135, 622, 662)];
        for (gbps, ticks, resume, pause) in all {
            let config = Config::at(Rate::gbps(gbps)).unwrap();
            assert_eq!(
                (config.timeout_ticks, config.resume_cells, config.pause_cells),
                (ticks, resume, pause)
            );
            assert_eq!(config.check(), Ok(()));
        }
        assert_eq!(Config::at(Rate::gbps(40)), None);
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let good = Config::GBPS_100;
        assert_eq!(good.with_copies(0).check(), Err(ConfigError::NoCopies));
        assert_eq!(Config { timeout_ticks: 0, ..good }.check(), Err(ConfigError::NoTimeout));
        let equal = Config { resume_cells: 500, ..good }.check().unwrap_err();
        assert_eq!(equal.to_string(), "resume at 500 cells must be below pause at 500");
    }
}
