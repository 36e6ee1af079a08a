//! What an end of a protected link goes by. All times and sizes follow from the link's rate, its longest frame and its round
//! trip, unless they are set.

use std::fmt;

use wiremend_units::{Bytes, CopyCount, LossRate, Rate, Span};

use super::timing::Timing;

/// What an end goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Of the link.
    pub rate: Rate,
    /// The longest frame, from MAC header to FCS.
    pub frame_bytes_max: Bytes,
    /// The loss that may remain.
    pub target: LossRate,
    /// How many copies of what is asked for.
    pub copies: CopyCount,
    /// Dummies behind a tail: one more than the longest burst that is to be noticed without a timer.
    pub dummies: u8,
    /// Times that a notification and a change of pause are sent, for links that corrupt in both directions.
    pub control_copies: u8,
    /// Room for frames that are not acknowledged.
    pub tx_bytes_max: Bytes,
    /// Room for frames that wait for an earlier one.
    pub rx_bytes_max: Bytes,
    /// The round trip, if it is not to be measured.
    pub rtt: Option<Span>,
    /// The round trip is taken to be at least this, however short a measurement was: answers that come from a process come late at
    /// times.
    pub rtt_min: Span,
    /// The round trip is taken to be at least this until recoveries have shown how long they take; from then on what is missing is asked for
    /// again as soon as that says, and no earlier than `rtt_min`. Nothing: `rtt_min` holds throughout.
    pub rtt_at_first: Span,
    /// Measurements of the round trip before a start, of which the shortest counts.
    pub rtt_samples: u8,
    /// `ackNoTimeout`: how long a frame is waited for; by default it follows from the round trip.
    pub give_up: Option<Span>,
    /// The other end is taken for gone when it has been silent for so long after it was asked, but not before a frame is given up; by
    /// default after six questions, ever further apart.
    pub silence_max: Option<Span>,
    /// The sender is paused when so much waits in the reordering buffer, and resumed at so much.
    pub pause_at: Option<Bytes>,
    /// See `pause_at`.
    pub resume_at: Option<Bytes>,
    /// No backpressure at all, to show what it is for (LG §4.2).
    pub backpressure: bool,
    /// Retransmissions may take this share of the link's rate; in percent.
    pub resend_share_percent: u8,
}

impl Config {
    /// What suits a link of this rate and round trip: as much room as it takes, a target of 10⁻⁸.
    pub fn for_link(rate: Rate, frame_bytes_max: Bytes, rtt: Span) -> Self {
        let mut config = Self {
            rate,
            frame_bytes_max,
            target: LossRate::parts_per_trillion(10_000),
            copies: CopyCount::Measured(LossRate::parts_per_trillion(1_000_000_000)),
            dummies: 3,
            control_copies: 2,
            tx_bytes_max: Bytes::ZERO,
            rx_bytes_max: Bytes::ZERO,
            rtt: None,
            rtt_min: Span::ZERO,
            rtt_at_first: Span::ZERO,
            rtt_samples: 1,
            give_up: None,
            silence_max: None,
            pause_at: None,
            resume_at: None,
            backpressure: true,
            resend_share_percent: 25,
        };
        config.tx_bytes_max = config.tx_bytes_least(rtt) * 2;
        config.rx_bytes_max = config.rx_bytes_least(rtt);
        config
    }

    /// Whether it can work. What depends on the round trip is checked only if that is set.
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
            Some(rtt) => self.check_room(rtt),
            None => Ok(()),
        }
    }

    /// Whether there is room enough for a link with this round trip.
    pub fn check_room(&self, rtt: Span) -> Result<(), ConfigError> {
        let enough = |what, is: Bytes, least: Bytes| {
            if is < least { Err(ConfigError::Room { what, is, least }) } else { Ok(()) }
        };
        enough("tx_bytes_max", self.tx_bytes_max, self.tx_bytes_least(rtt))?;
        if !self.backpressure {
            return Ok(());
        }
        enough("rx_bytes_max", self.rx_bytes_max, self.rx_bytes_least(rtt))
    }

    /// The least room for frames that are not acknowledged: what is sent in a round trip, and until the next ACK.
    fn tx_bytes_least(&self, rtt: Span) -> Bytes {
        let timing = Timing::of(self, rtt);
        self.rate.bytes_in(rtt) + Bytes::new(timing.ack_bytes) + self.frame_bytes_max * FRAMES_SPARE
    }

    /// The least room for frames that wait: what still comes when a pause is asked for.
    fn rx_bytes_least(&self, rtt: Span) -> Bytes {
        let pause_at = self.pause_at.unwrap_or_else(|| Timing::default_pause_at(self, rtt));
        pause_at + self.rate.bytes_in(rtt) + self.frame_bytes_max * FRAMES_SPARE
    }

    /// What copies may take of the link.
    pub(super) fn resend_rate(&self) -> Rate {
        let bits = u128::from(self.rate.bits_per_s()) * u128::from(self.resend_share_percent) / 100;
        Rate::from_bits_per_s((bits as u64).max(1))
    }

    fn check_copies(&self) -> Result<(), ConfigError> {
        match self.copies {
            CopyCount::Fixed(copies) => within("copies", copies, 1, CopyCount::MAX),
            CopyCount::Measured(loss) if self.target >= loss => {
                Err(ConfigError::Target { target: self.target, loss })
            }
            CopyCount::Measured(_) => Ok(()),
        }
    }
}

/// Frames that may be on their way into or out of the wire at both ends when something is said.
const FRAMES_SPARE: u64 = 4;
const DUMMIES_MAX: u8 = 32;
const CONTROL_COPIES_MAX: u8 = 8;
const RTT_SAMPLES_MAX: u8 = 32;

fn within(what: &'static str, is: u8, least: u8, most: u8) -> Result<(), ConfigError> {
    if (least..=most).contains(&is) { Ok(()) } else { Err(ConfigError::Count { what, is, least, most }) }
}

/// Why a configuration cannot work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// A number outside its bounds.
    Count {
        /// The name of the setting.
        what: &'static str,
        /// Its value.
        is: u8,
        /// The least that is allowed.
        least: u8,
        /// The most that is allowed.
        most: u8,
    },
    /// There is nothing to mend.
    Target {
        /// What may remain.
        target: LossRate,
        /// What is lost without protection.
        loss: LossRate,
    },
    /// A buffer too small for rate and round trip.
    Room {
        /// The name of the setting.
        what: &'static str,
        /// Its value.
        is: Bytes,
        /// The least that works.
        least: Bytes,
    },
    /// The sender would be resumed before it is paused.
    Thresholds {
        /// Where it is paused.
        pause_at: Bytes,
        /// Where it is resumed.
        resume_at: Bytes,
    },
    /// The buffer would overflow before the sender is paused.
    PauseTooLate {
        /// Where it is paused.
        pause_at: Bytes,
        /// What the buffer holds.
        rx_bytes_max: Bytes,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { what, is, least, most } => {
                write!(f, "{what} is {is}; it must be from {least} to {most}")
            }
            Self::Target { target, loss } => write!(
                f,
                "the target loss of {} in 10^12 is not below the loss of {} in 10^12 that the link has: there is nothing to mend",
                target.as_parts_per_trillion(),
                loss.as_parts_per_trillion()
            ),
            Self::Room { what, is, least } => {
                write!(f, "{what} of {is} is too small for rate and round trip; at least {least} works")
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
    fn what_suits_a_link_works() {
        for rtt in [Span::from_us(2), Span::from_us(500)] {
            for gbps in [10, 25, 100, 400] {
                let config = Config::for_link(Rate::gbps(gbps), Bytes::new(9216), rtt);
                assert_eq!(Config { rtt: Some(rtt), ..config }.check(), Ok(()));
            }
        }
    }

    #[test]
    fn what_cannot_work_is_refused_with_the_remedy() {
        let nothing_to_mend = refusal(|config| config.copies = CopyCount::Measured(config.target));
        assert!(nothing_to_mend.contains("nothing to mend"), "{nothing_to_mend}");
        let wrong_way = refusal(|config| {
            (config.pause_at, config.resume_at) = (Some(Bytes::new(2000)), Some(Bytes::new(3000)));
        });
        assert!(wrong_way.contains("below pause_at"), "{wrong_way}");
        assert!(refusal(|config| config.copies = CopyCount::Fixed(5)).contains("from 1 to 4"));
        assert!(refusal(|config| config.dummies = 0).contains("dummies is 0"));
        assert!(refusal(|config| config.pause_at = Some(Bytes::kib(9999))).contains("rx_bytes_max"));
    }

    #[test]
    fn the_least_room_that_is_named_works() {
        let mut config = Config { rtt: Some(Span::from_us(5)), ..config() };
        (config.tx_bytes_max, config.rx_bytes_max) = (Bytes::ZERO, Bytes::ZERO);
        while let Err(ConfigError::Room { what, least, .. }) = config.check() {
            let room =
                if what == "tx_bytes_max" { &mut config.tx_bytes_max } else { &mut config.rx_bytes_max };
            assert!(*room < least);
            *room = least;
        }
        assert_eq!(config.check(), Ok(()));
    }
}
