//! How fast a sender slows down and recovers, and two sets of it that papers use.

use wiremend_units::{Bytes, Rate, Span};

/// Parameters of both ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// The receiver sends a notification for a queue pair at most once in this time.
    pub cnp_interval: Span,
    /// g: the weight of the newest sign in the estimate α of congestion.
    pub gain: Gain,
    /// α falls once in this time without a notification.
    pub alpha_timer: Span,
    /// Zero: each notification acts when it comes, raises α and starts the α timer anew, as the paper has it. Else the
    /// sender looks for notifications once in this time, and α rises or falls with its own timer.
    pub decrease_interval: Span,
    /// Whether the rate before a decrease becomes the target even if no increase came since the last one.
    pub clamp_target: bool,
    /// The rate rises once in this time.
    pub increase_timer: Span,
    /// And once after so many bytes; none: by the timer alone.
    pub byte_counter: Option<Bytes>,
    /// F: in stages below it the rate recovers half of the way to its target, and the target stays.
    pub fast_recovery: u32,
    /// What the target gains in a stage of additive increase.
    pub additive_increase: Rate,
    /// And once timer and byte counter are beyond F.
    pub hyper_increase: Rate,
    /// The least rate.
    pub min_rate: Rate,
}

/// g, in parts of 65 536.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gain(u32);

impl Gain {
    /// The whole.
    pub const PARTS: u32 = 1 << 16;

    /// So many parts, if that is above nothing and at most the whole.
    pub const fn from_parts(parts: u32) -> Option<Self> {
        if parts == 0 || parts > Self::PARTS { None } else { Some(Self(parts)) }
    }

    /// The share of a number, rounded down.
    pub(super) const fn of(self, number: u64) -> u64 {
        ((number as u128 * self.0 as u128) >> 16) as u64
    }
}

impl Parameters {
    /// As Zhu et al. deployed it (§3, §5.2, Fig. 14). They name no hyper increase; it is ten times the additive one here, as
    /// in their simulator, and the least rate is that of the same.
    pub const PAPER: Self = Self {
        cnp_interval: Span::from_us(50),
        gain: Gain(Gain::PARTS / 256),
        alpha_timer: Span::from_us(55),
        decrease_interval: Span::ZERO,
        clamp_target: true,
        increase_timer: Span::from_us(55),
        byte_counter: Some(Bytes::new(10_000_000)),
        fast_recovery: 5,
        additive_increase: Rate::from_bits_per_s(40_000_000),
        hyper_increase: Rate::from_bits_per_s(400_000_000),
        min_rate: Rate::from_bits_per_s(100_000_000),
    };

    /// As in the simulator that came with HPCC (Li et al., SIGCOMM 2019) and its many descendants. There each ACK of a marked
    /// packet notifies, and the sender looks every 4 µs; a notification in that time is worth as much. It counts
    /// stages from 0, so that its fast recovery of one stage is F = 2 here.
    pub const HPCC_LINEAGE: Self = Self {
        cnp_interval: Span::from_us(4),
        gain: Gain(Gain::PARTS / 256),
        alpha_timer: Span::from_us(1),
        decrease_interval: Span::from_us(4),
        clamp_target: false,
        increase_timer: Span::from_us(900),
        byte_counter: None,
        fast_recovery: 2,
        additive_increase: Rate::from_bits_per_s(50_000_000),
        hyper_increase: Rate::from_bits_per_s(100_000_000),
        min_rate: Rate::from_bits_per_s(100_000_000),
    };
}
