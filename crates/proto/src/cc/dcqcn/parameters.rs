//! Parameters of DCQCN, and two published sets of values.

use wiremend_units::{Bytes, Rate, Span};

/// Parameters of both ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// Minimum time between two notifications of the receiver for a queue pair.
    pub cnp_interval: Span,
    /// g: the weight of the newest sample in the congestion estimate α.
    pub gain: Gain,
    /// Time without a notification after which α decreases.
    pub alpha_timer: Span,
    /// Zero: each notification acts on arrival, raises α and restarts the α timer, as in the paper. Otherwise
    /// the sender checks for notifications once in this time, and α changes with its own timer.
    pub decrease_interval: Span,
    /// Whether the rate before a decrease becomes the target even if no increase happened since the last one.
    pub clamp_target: bool,
    /// Whether a NAK reduces the rate like a notification.
    pub nak_decreases: bool,
    /// Time between two increases of the rate.
    pub increase_timer: Span,
    /// Bytes between two increases of the rate; `None`: increases by the timer only.
    pub byte_counter: Option<Bytes>,
    /// F: in earlier stages the rate moves halfway to its target, and the target does not change.
    pub fast_recovery: u32,
    /// Increase of the target in a stage of additive increase.
    pub additive_increase: Rate,
    /// Increase of the target when both timer and byte counter are beyond F.
    pub hyper_increase: Rate,
    /// Minimum rate.
    pub min_rate: Rate,
}

/// g, in units of 1/65 536.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gain(u32);

impl Gain {
    /// Units in 1.
    pub const PARTS: u32 = 1 << 16;

    /// Creates a gain of this many units; `None` for 0 and above 1.
    pub const fn from_parts(parts: u32) -> Option<Self> {
        if parts == 0 || parts > Self::PARTS { None } else { Some(Self(parts)) }
    }

    /// Multiplies a number by the gain, rounded down.
    pub(super) const fn scale(self, number: u64) -> u64 {
        ((number as u128 * self.0 as u128) >> 16) as u64
    }
}

impl Parameters {
    /// Values that Zhu et al. deployed (§3, §5.2, Fig. 14). They give no hyper increase; here it is ten times
    /// the additive one, and the minimum rate is 100 Mb/s, both as in their simulator.
    pub const PAPER: Self = Self {
        cnp_interval: Span::from_us(50),
        gain: Gain(Gain::PARTS / 256),
        alpha_timer: Span::from_us(55),
        decrease_interval: Span::ZERO,
        clamp_target: true,
        nak_decreases: false,
        increase_timer: Span::from_us(55),
        byte_counter: Some(Bytes::new(10_000_000)),
        fast_recovery: 5,
        additive_increase: Rate::from_bits_per_s(40_000_000),
        hyper_increase: Rate::from_bits_per_s(400_000_000),
        min_rate: Rate::from_bits_per_s(100_000_000),
    };

    /// Values of the simulator published with HPCC (Li et al., SIGCOMM 2019) and its descendants. There each
    /// ACK of a marked packet is a notification, and the sender checks every 4 µs; one notification in that
    /// time has the same effect. That simulator counts stages from 0, so its fast recovery of one stage is F
    /// = 2 here.
    pub const HPCC_SIMULATOR: Self = Self {
        cnp_interval: Span::from_us(4),
        gain: Gain(Gain::PARTS / 256),
        alpha_timer: Span::from_us(1),
        decrease_interval: Span::from_us(4),
        clamp_target: false,
        nak_decreases: false,
        increase_timer: Span::from_us(900),
        byte_counter: None,
        fast_recovery: 2,
        additive_increase: Rate::from_bits_per_s(50_000_000),
        hyper_increase: Rate::from_bits_per_s(100_000_000),
        min_rate: Rate::from_bits_per_s(100_000_000),
    };
}
