//! What hosts and their switches do against timeouts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Span;

use crate::quantity::Within;
use crate::value::{self, Shown};

/// What keeps losses from ending in timeouts (Gao et al., JCST 2023): dummies and repeats. Without this table,
/// nothing does.
///
/// A lost tail packet, a lost tail ACK, a lost NAK, and a packet that is lost again when it is sent again: these four
/// leave a requester waiting for its timer. Dummies help against the first two, copies of NAKs against the third,
/// copies of retransmissions against the fourth. The copies are made by the hosts' switches.
///
/// ```toml
/// [mend]
/// preset = "all"
/// dummies = 3
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mend {
    /// What holds for `dummies`, `nak_copies` and `retransmission_copies` where they are left out.
    pub preset: Preset,
    /// Empty packets behind the last one that was posted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dummies: Option<Count>,
    /// When dummies are due.
    pub dummies_when: DummiesWhen,
    /// The time T that `dummies_when` speaks of.
    #[serde(with = "value")]
    #[schemars(with = "Shown<Span>")]
    pub dummies_after: Span,
    /// Copies of each NAK, made by the switch of the host that sends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nak_copies: Option<Count>,
    /// Copies of the first packet that is sent again after a NAK, made by the switch of the host that sends it. The
    /// switch knows it by its sequence number alone, and may take another connection's for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmission_copies: Option<Count>,
    /// Sequence numbers that a switch can remember for `retransmission_copies`. A number has one place in that table,
    /// and a later one may drive it out.
    pub registers: Within<u32, 1, 0x100_0000>,
    /// Copies of the last packet that was posted: the older and dearer way to protect a tail. Not for READ.
    pub tail_copies: Count,
    /// Copies of every packet. One copy is "sending twice" of Wang et al. (ICCCN 2019). Not for READ.
    pub packet_copies: Count,
    /// Whether a responder asks again when it sees that what was sent again was lost again: our reading of "checking
    /// ePSN" of Wang et al. (ICCCN 2019).
    pub check_epsn: bool,
}

/// A number of dummies or copies.
pub(crate) type Count = Within<u8, 0, 16>;

impl Default for Mend {
    fn default() -> Self {
        Self {
            preset: Preset::None,
            dummies: None,
            dummies_when: DummiesWhen::Deferred,
            dummies_after: Span::ZERO,
            nak_copies: None,
            retransmission_copies: None,
            registers: Within::fixed(4096),
            tail_copies: Within::fixed(0),
            packet_copies: Within::fixed(0),
            check_epsn: false,
        }
    }
}

impl Mend {
    /// Dummies behind a tail.
    pub fn dummies(&self) -> u8 {
        self.dummies.map_or(self.preset.counts().0, Within::get)
    }

    /// Copies of each NAK.
    pub fn nak_copies(&self) -> u8 {
        self.nak_copies.map_or(self.preset.counts().1, Within::get)
    }

    /// Copies of each packet that is sent again after a NAK.
    pub fn retransmission_copies(&self) -> u8 {
        self.retransmission_copies.map_or(self.preset.counts().2, Within::get)
    }
}

/// Dummies, copies of NAKs and copies of retransmissions that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// 0, 0, 0.
    None,
    /// 2, 1, 3: "All" of the paper.
    All,
    /// 3, 2, 4: "All Optimized" of the paper.
    AllOptimized,
}

impl Preset {
    const fn counts(self) -> (u8, u8, u8) {
        match self {
            Self::None => (0, 0, 0),
            Self::All => (2, 1, 3),
            Self::AllOptimized => (3, 2, 4),
        }
    }
}

/// When dummies are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DummiesWhen {
    /// Everything posted was sent, nothing was posted for T, and something is not acknowledged.
    Deferred,
    /// Right behind each message that is posted more than T after the one before it (§5.2 of the paper). Of a batch, that
    /// protects the first message and not the last.
    AtPost,
}
