//! Impairments of a link.
//!
//! A lane (one direction of a link) has a stack of [`Impairments`]. Each frame on the lane is passed to every
//! impairment whose [`Window`] is open. The frame is corrupt if at least one of them corrupts it; the
//! receiver drops a corrupt frame because its FCS is wrong. All impairments advance with every frame, so that
//! the draws of one do not depend on others.
//!
//! | model | a frame is corrupt when |
//! |---|---|
//! | [`BitErrors`] | at least one of its bits is flipped, each independently |
//! | [`FrameLoss`] | a random draw says so, with the same probability for all lengths |
//! | [`GilbertElliott`] | a random draw says so, with a probability that depends on a good or bad state: burst losses |
//! | [`EveryNth`] | it is the n-th frame since the last |
//! | [`IpId`] | masked bits of its IP identification have a given value |
//! | [`Script`] | a list of rules names it: "the second transmission of PSN 7" |
//! | [`Replay`] | a [`FaultList`] contains it: a loss recorded on a protected link |
//! | [`TiltedLoss`] | a random draw says so, with a raised probability for rare outcomes and a weight that corrects for it |
//!
//! The random models draw the number of clean bits or frames until the next error instead of one draw per bit
//! or frame. The distribution is the same, and a clean frame costs a comparison and a subtraction.
//!
//! Everything is deterministic: each impairment has the seed of its own random stream, and the logarithm does
//! not come from the platform.
//!
//! ```
//! use wiremend_impair::{BitErrors, Fate, FrameFacts, Impairment, Impairments};
//! use wiremend_units::Time;
//!
//! let mut lane = Impairments::default();
//! lane.push(Impairment::always(BitErrors::new(1e-6, 42)?));
//! let frames = (0..100_000).filter(|_| lane.fate(Time::ZERO, &FrameFacts::bare(1086)) == Fate::Corrupt);
//! assert!((800..940).contains(&frames.count())); // 1 − (1 − 10⁻⁶)^8688 is 0.87 %
//! # Ok::<(), wiremend_impair::BadImpairment>(())
//! ```

mod burst;
mod faults;
mod gaps;
mod pattern;
mod random;
mod script;
mod stack;
mod tilt;

pub use burst::{Channel, GilbertElliott};
pub use faults::{BadFaultList, Direction, FaultList, LinkFault, Replay, TransmissionCounter};
pub use pattern::{EveryNth, IpId};
pub use random::{BitErrors, FrameLoss};
pub use script::{Match, Rule, Script};
pub use stack::{
    CorruptionModel, Fate, FrameFacts, FrameKind, Impairment, Impairments, LinkFacts, LinkKind, Model, Window,
};
pub use tilt::{EpisodeStart, FinishedEpisode, TiltSettings, TiltedLoss};

use std::fmt;

/// Error of an invalid impairment.
#[derive(Clone, PartialEq, Debug)]
pub enum BadImpairment {
    /// A probability is outside 0 to 1.
    Probability {
        /// Name of the probability.
        what: &'static str,
        /// Given value.
        value: f64,
    },
    /// A mean burst is shorter than one frame, or infinite.
    Burst(f64),
    /// The loss is not reachable with bursts this short: at least one good frame follows each.
    LossOfBursts {
        /// Requested mean loss.
        loss: f64,
        /// Requested mean burst.
        burst_frames: f64,
    },
    /// `n` is 0 in "every n-th frame".
    EveryZeroth,
    /// The value has bits outside its mask and never matches.
    OutsideMask {
        /// Compared bits.
        mask: u16,
        /// Required value.
        value: u16,
    },
    /// A rule matches nothing: it starts at match 0, or counts no match.
    Rule {
        /// Position in the script, from 1.
        number: usize,
    },
    /// A window closes before it opens.
    Window(Window),
    /// A raised probability makes a possible outcome impossible.
    Tilt {
        /// True probability.
        loss: f64,
        /// Raised probability.
        raised: f64,
    },
    /// Episodes need a frame before them and a quiet frame to end them.
    NoEpisode,
}

impl fmt::Display for BadImpairment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Probability { what, value } => write!(f, "{what} {value} is not between 0 and 1"),
            Self::Burst(frames) => {
                write!(f, "a mean burst of {frames} frames is invalid; it must be finite and at least 1")
            }
            Self::LossOfBursts { loss, burst_frames } => write!(
                f,
                "bursts of {burst_frames} frames cannot have a mean loss of {loss}; at most {:.4}",
                burst_frames / (burst_frames + 1.0)
            ),
            Self::EveryZeroth => f.write_str("`n` is 0 in every n-th frame; it must be at least 1"),
            Self::OutsideMask { mask, value } => {
                write!(f, "value {value:#06x} has bits outside mask {mask:#06x} and never matches")
            }
            Self::Rule { number } => {
                write!(f, "rule {number} matches no frame; `nth` and `count` must be at least 1")
            }
            Self::Window(window) => {
                write!(
                    f,
                    "a window from {} to {} never opens; its stop must be after its start",
                    window.start, window.stop
                )
            }
            Self::Tilt { loss, raised } => write!(
                f,
                "a loss of {loss} cannot be raised to {raised}; the raised loss must be above 0 and below 1"
            ),
            Self::NoEpisode => f.write_str(
                "an episode needs at least one frame before it and at least one quiet frame after it",
            ),
        }
    }
}

impl std::error::Error for BadImpairment {}

/// Returns `value` if it is a probability.
fn probability(what: &'static str, value: f64) -> Result<f64, BadImpairment> {
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err(BadImpairment::Probability { what, value }) }
}
