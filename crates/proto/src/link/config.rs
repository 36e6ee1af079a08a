//! Configuration of an end of a protected link. Times and sizes that are not set follow from the link's rate,
//! its longest frame and its round trip.

use std::fmt;

use wiremend_units::{Bytes, CopyCount, LossRate, Rate, Span};

use super::timing::Timing;

/// Configuration of an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Rate of the link.
    pub rate: Rate,
    /// Longest frame, from MAC header to FCS.
    pub frame_bytes_max: Bytes,
    /// Target loss rate with protection.
    pub target: LossRate,
    /// Copies per retransmission.
    pub copies: CopyCount,
    /// Dummies after the last frame: one more than the longest loss burst to detect without a timer.
    pub dummies: u8,
    /// Copies of each notification and of each change of pause, for links that corrupt both directions.
    pub control_copies: u8,
    /// Size of the TX buffer, which keeps unacknowledged frames.
    pub tx_bytes_max: Bytes,
    /// Size of the reordering buffer.
    pub rx_bytes_max: Bytes,
    /// Round trip; measured if not set.
    pub rtt: Option<Span>,
    /// Lower bound of the round trip, however short a measurement was: a process sometimes answers late.
    pub rtt_min: Span,
    /// Lower bound of the agreed round trip. When to notify again follows the answers during the handshake, and
    /// later the recoveries, not earlier than `rtt_min` requires. 0: `rtt_min` applies from the
    /// start.
    pub rtt_initial: Span,
    /// Round-trip measurements before a start. The shortest counts.
    pub rtt_samples: u8,
    /// `ackNoTimeout`: how long the receiver waits for a missing frame. Follows from the round trip if not
    /// set.
    pub give_up: Option<Span>,
    /// The other end counts as gone when it has been silent for this long after a probe, but not before the
    /// receiver gives up a frame. If not set: after six probes with doubling intervals.
    pub silence_max: Option<Span>,
    /// Bytes in the reordering buffer at which the receiver pauses the sender.
    pub pause_at: Option<Bytes>,
    /// Bytes in the reordering buffer at which it resumes the sender.
    pub resume_at: Option<Bytes>,
    /// Backpressure. Off only to show its effect (LG §4.2).
    pub backpressure: bool,
    /// Maximum share of the link's rate for retransmissions, in percent.
    pub resend_share_percent: u8,
    /// How many numbers a frame may skip without a second one that confirms it. Set: longer jumps than the rate
    /// allows are ignored too. Not set: every jump counts, as on a wire that nobody can insert frames into.
    pub unconfirmed_jump_max: Option<u32>,
}

impl Config {
    /// Configuration for a link of this rate and round trip, with buffers to match and a target of 10⁻⁸.
    pub fn for_link(rate: Rate, frame_bytes_max: Bytes, rtt: Span) -> Self {
        let mut config = Self {
            rate,
            frame_bytes_max,
            target: LossRate::from_parts_per_trillion(10_000),
            copies: CopyCount::Measured(LossRate::from_parts_per_trillion(1_000_000_000)),
            dummies: 3,
            control_copies: 2,
            tx_bytes_max: Bytes::ZERO,
            rx_bytes_max: Bytes::ZERO,
            rtt: None,
            rtt_min: Span::ZERO,
            rtt_initial: Span::ZERO,
            rtt_samples: 1,
            give_up: None,
            silence_max: None,
            pause_at: None,
            resume_at: None,
            backpressure: true,
            resend_share_percent: 25,
            unconfirmed_jump_max: None,
        };
        config.tx_bytes_max = config.tx_bytes_min(rtt) * 2;
        config.rx_bytes_max = config.rx_bytes_min(rtt);
        config
    }

    /// Checks the configuration. Buffer sizes are checked only if the round trip is set.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_copies()?;
        within("dummies", self.dummies, 1, DUMMIES_MAX)?;
        within("control_copies", self.control_copies, 1, CONTROL_COPIES_MAX)?;
        within("resend_share_percent", self.resend_share_percent, 1, 100)?;
        within("rtt_samples", self.rtt_samples, 1, RTT_SAMPLES_MAX)?;
        if let (Some(pause_at), Some(resume_at)) = (self.pause_at, self.resume_at)
            && resume_at >= pause_at
        {
            return Err(ConfigError::Thresholds { pause_at, resume_at });
        }
        if let Some(pause_at) = self.pause_at
            && pause_at > self.rx_bytes_max
        {
            return Err(ConfigError::PauseTooLate { pause_at, rx_bytes_max: self.rx_bytes_max });
        }
        match self.rtt {
            Some(rtt) => self.check_buffers(rtt),
            None => Ok(()),
        }
    }

    /// Checks that the buffers are large enough for a round trip.
    pub fn check_buffers(&self, rtt: Span) -> Result<(), ConfigError> {
        let enough = |setting, value: Bytes, min: Bytes| {
            if value < min { Err(ConfigError::BufferTooSmall { setting, value, min }) } else { Ok(()) }
        };
        enough("tx_bytes_max", self.tx_bytes_max, self.tx_bytes_min(rtt))?;
        if !self.backpressure {
            return Ok(());
        }
        enough("rx_bytes_max", self.rx_bytes_max, self.rx_bytes_min(rtt))
    }

    /// Minimum TX buffer: the bytes sent in a round trip and until the next ACK.
    fn tx_bytes_min(&self, rtt: Span) -> Bytes {
        let timing = Timing::new(self, rtt);
        self.rate.bytes_in(rtt) + Bytes::new(timing.ack_bytes) + self.frame_bytes_max * FRAMES_SPARE
    }

    /// Minimum reordering buffer: the pause threshold plus the bytes that arrive until a pause takes effect.
    fn rx_bytes_min(&self, rtt: Span) -> Bytes {
        let pause_at = self.pause_at.unwrap_or_else(|| Timing::default_pause_at(self, rtt));
        pause_at + self.rate.bytes_in(rtt) + self.frame_bytes_max * FRAMES_SPARE
    }

    pub(super) fn resend_rate(&self) -> Rate {
        let bits = u128::from(self.rate.bits_per_s()) * u128::from(self.resend_share_percent) / 100;
        Rate::from_bits_per_s((bits as u64).max(1))
    }

    fn check_copies(&self) -> Result<(), ConfigError> {
        match self.copies {
            CopyCount::Fixed(copies) => within("copies", copies, 1, CopyCount::MAX),
            CopyCount::Measured(loss) if self.target >= loss => {
                Err(ConfigError::TargetNotBelowLoss { target: self.target, loss })
            }
            CopyCount::Measured(_) => Ok(()),
        }
    }
}

/// Frames that may be in transmission or reception at both ends when a signal leaves.
const FRAMES_SPARE: u64 = 4;
const DUMMIES_MAX: u8 = 32;
const CONTROL_COPIES_MAX: u8 = 8;
const RTT_SAMPLES_MAX: u8 = 32;

fn within(setting: &'static str, value: u8, min: u8, max: u8) -> Result<(), ConfigError> {
    if (min..=max).contains(&value) {
        Ok(())
    } else {
        Err(ConfigError::OutOfRange { setting, value, min, max })
    }
}

/// Error of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// A count outside its bounds.
    OutOfRange {
        /// Name of the setting.
        setting: &'static str,
        /// Its value.
        value: u8,
        /// Minimum.
        min: u8,
        /// Maximum.
        max: u8,
    },
    /// The link is already better than the target.
    TargetNotBelowLoss {
        /// Target loss rate.
        target: LossRate,
        /// Loss rate without protection.
        loss: LossRate,
    },
    /// A buffer is too small for rate and round trip.
    BufferTooSmall {
        /// Name of the setting.
        setting: &'static str,
        /// Its value.
        value: Bytes,
        /// Minimum size.
        min: Bytes,
    },
    /// The resume threshold is not below the pause threshold.
    Thresholds {
        /// Pause threshold.
        pause_at: Bytes,
        /// Resume threshold.
        resume_at: Bytes,
    },
    /// The pause threshold is above the size of the buffer.
    PauseTooLate {
        /// Pause threshold.
        pause_at: Bytes,
        /// Size of the buffer.
        rx_bytes_max: Bytes,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { setting, value, min, max } => {
                write!(f, "{setting} is {value}; it must be from {min} to {max}")
            }
            Self::TargetNotBelowLoss { target, loss } => write!(
                f,
                "the target loss of {} in 10^12 is not below the loss of {} in 10^12 that the link has: there is nothing to mend",
                target.as_parts_per_trillion(),
                loss.as_parts_per_trillion()
            ),
            Self::BufferTooSmall { setting, value, min } => {
                write!(f, "{setting} of {value} is too small for rate and round trip; at least {min} works")
            }
            Self::Thresholds { pause_at, resume_at } => {
                write!(f, "resume_at of {resume_at} must be below pause_at of {pause_at}")
            }
            Self::PauseTooLate { pause_at, rx_bytes_max } => {
                write!(f, "pause_at of {pause_at} must not be above rx_bytes_max of {rx_bytes_max}")
            }
        }
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        Config::for_link(Rate::gbps(100), Bytes::new(1518), Span::from_us(5))
    }

    fn refusal(change: impl FnOnce(&mut Config)) -> String {
        let mut config = Config { rtt: Some(Span::from_us(5)), ..config() };
        change(&mut config);
        config.check().unwrap_err().to_string()
    }

    #[test]
    fn default_configurations_are_valid() {
        for rtt in [Span::from_us(2), Span::from_us(500)] {
            for gbps in [10, 25, 100, 400] {
                let config = Config::for_link(Rate::gbps(gbps), Bytes::new(9216), rtt);
                assert_eq!(Config { rtt: Some(rtt), ..config }.check(), Ok(()));
            }
        }
    }

    #[test]
    fn errors_name_the_valid_range() {
        let message = refusal(|config| config.copies = CopyCount::Measured(config.target));
        assert!(message.contains("nothing to mend"), "{message}");
        let wrong_way = refusal(|config| {
            (config.pause_at, config.resume_at) = (Some(Bytes::new(2000)), Some(Bytes::new(3000)));
        });
        assert!(wrong_way.contains("below pause_at"), "{wrong_way}");
        assert!(refusal(|config| config.copies = CopyCount::Fixed(5)).contains("from 1 to 4"));
        assert!(refusal(|config| config.dummies = 0).contains("dummies is 0"));
        assert!(refusal(|config| config.pause_at = Some(Bytes::kib(9999))).contains("rx_bytes_max"));
    }

    #[test]
    fn minimum_buffer_sizes_of_errors_are_valid() {
        let mut config = Config { rtt: Some(Span::from_us(5)), ..config() };
        (config.tx_bytes_max, config.rx_bytes_max) = (Bytes::ZERO, Bytes::ZERO);
        while let Err(ConfigError::BufferTooSmall { setting, min, .. }) = config.check() {
            let room =
                if setting == "tx_bytes_max" { &mut config.tx_bytes_max } else { &mut config.rx_bytes_max };
            assert!(*room < min);
            *room = min;
        }
        assert_eq!(config.check(), Ok(()));
    }
}
