//! What a link does to a frame.
//!
//! A lane (one direction of a link) carries a stack of [`Impairments`]. Each frame that crosses the lane is shown
//! to every impairment whose [`Window`] is open; the frame is corrupt as soon as one of them says so, and a corrupt
//! frame is dropped by the receiving end, whose frame check fails. All others advance nevertheless: the luck of one
//! impairment never depends on the presence of another.
//!
//! | model | a frame is corrupt when |
//! |---|---|
//! | [`BitErrors`] | at least one of its bits is flipped, each independently |
//! | [`FrameLoss`] | a coin says so, the same for long and short frames |
//! | [`GilbertElliott`] | a coin says so, whose bias follows a good and a bad state: losses come in bursts |
//! | [`EveryNth`] | it is the n-th since the last |
//! | [`IpId`] | masked bits of its IP identification have a given value |
//! | [`Script`] | a list of rules names it: "the second transmission of PSN 7" |
//! | [`Replay`] | a [`FaultList`] names it: what was hit on a protected link before, here or elsewhere |
//! | [`TiltedLoss`] | a coin says so, biased where rare outcomes are decided; the bias is known as a weight |
//!
//! The random models draw *how many* bits or frames stay clean until the next error instead of asking for each
//! one. The result has exactly the same distribution, and a clean frame costs a comparison and a subtraction.
//!
//! Everything is deterministic: an impairment is made with the seed of its own random stream, and the one
//! function of real numbers that is needed, the logarithm, does not come from the platform.
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
pub use faults::{BadFaultList, FaultList, LinkFault, Replay, Tally, Way};
pub use pattern::{EveryNth, IpId};
pub use random::{BitErrors, FrameLoss};
pub use script::{Match, Rule, Script};
pub use stack::{
    CorruptionModel, Fate, FrameFacts, FrameKind, Impairment, Impairments, LinkFacts, LinkKind, Model, Window,
};
pub use tilt::{Begin, Settled, TiltedLoss, Tilting};

use std::fmt;

/// Why an impairment cannot be made.
#[derive(Clone, PartialEq, Debug)]
pub enum BadImpairment {
    /// A probability lies outside the unit interval.
    Probability {
        /// Which one.
        what: &'static str,
        /// What was given.
        value: f64,
    },
    /// A mean burst is shorter than one frame, or endless.
    Burst(f64),
    /// Bursts this short cannot add up to this loss: each is followed by at least one good frame.
    LossOfBursts {
        /// The mean loss asked for.
        loss: f64,
        /// The mean burst asked for.
        burst_frames: f64,
    },
    /// "Every 0-th frame".
    EveryZeroth,
    /// A value with bits outside its mask never matches.
    OutsideMask {
        /// The bits that are compared.
        mask: u16,
        /// What they should be.
        value: u16,
    },
    /// A rule names the 0-th match, or no match at all.
    Rule {
        /// The position in the script, from 1.
        number: usize,
    },
    /// A window closes before it opens.
    Window(Window),
    /// A tilt makes impossible what can happen.
    Tilt {
        /// The true probability.
        loss: f64,
        /// What it was to be raised to.
        raised: f64,
    },
    /// Episodes without a frame before them or in them.
    NoEpisode,
}

impl fmt::Display for BadImpairment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Probability { what, value } => write!(f, "{what} {value} does not lie between 0 and 1"),
            Self::Burst(frames) => {
                write!(f, "a mean burst of {frames} frames is not a finite number of at least 1")
            }
            Self::LossOfBursts { loss, burst_frames } => write!(
                f,
                "a mean loss of {loss} is out of reach of bursts of {burst_frames} frames: at most {:.4}",
                burst_frames / (burst_frames + 1.0)
            ),
            Self::EveryZeroth => f.write_str("every 0-th frame is no frame: n is at least 1"),
            Self::OutsideMask { mask, value } => {
                write!(f, "value {value:#06x} has bits outside mask {mask:#06x} and never matches")
            }
            Self::Rule { number } => {
                write!(f, "rule {number} names no frame: matches count from 1, and at least one is hit")
            }
            Self::Window(window) => {
                write!(
                    f,
                    "a window from {} to {} never opens: it ends after it starts",
                    window.start, window.stop
                )
            }
            Self::Tilt { loss, raised } => write!(
                f,
                "a loss of {loss} raised to {raised} hides what can happen: it lies above 0 and below 1"
            ),
            Self::NoEpisode => f.write_str(
                "an episode needs at least one frame before it and at least one frame of quiet behind",
            ),
        }
    }
}

impl std::error::Error for BadImpairment {}

/// `value`, if it is a probability.
fn probability(what: &'static str, value: f64) -> Result<f64, BadImpairment> {
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err(BadImpairment::Probability { what, value }) }
}
