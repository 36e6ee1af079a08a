//! Dummies and copies against timeouts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Span;

use crate::quantity::Within;
use crate::recovery::RecoveryFamily;
use crate::transport::{Operation, Transport};
use crate::value::{self, SchemaOf};

/// Dummies and copies that prevent timeouts after losses (Gao et al., JCST 2022). Without this table there
/// are none.
///
/// Four losses leave a requester waiting for its timer: a lost tail packet, a lost tail ACK, a lost NAK, and
/// a retransmission that is lost again. Dummies recover the first two, copies of NAKs the third, copies of
/// retransmissions the fourth. The switches of the hosts make the copies.
///
/// ```toml
/// [mend]
/// preset = "all"
/// dummies = 3
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mend {
    /// Default of `dummies`, `nak_copies` and `retransmission_copies`.
    pub preset: Preset,
    /// Number of empty packets after the last posted packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dummies: Option<Count>,
    /// When dummies are sent.
    #[schemars(extend("x-advanced" = true))]
    pub dummies_when: DummiesWhen,
    /// Time T of `dummies_when`.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Span>")]
    #[schemars(extend("x-advanced" = true))]
    pub dummies_after: Span,
    /// Timer of the tail alone, in place of dummies, as QUIC has it: if nothing has acknowledged the last posted packet
    /// for this time after it was sent, a copy of it follows; another one after twice the time, and so on. Not for READ,
    /// and only with `go-back-n` and `go-back-0`.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    #[schemars(extend("x-advanced" = true))]
    pub tail_timeout: Option<Span>,
    /// Copies of each NAK, made by the switch of the host that sends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nak_copies: Option<Count>,
    /// Copies of the first packet that is retransmitted after a NAK, made by the switch of the host that
    /// sends it. The switch recognizes it by its sequence number only, and may mistake another connection's
    /// packet for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmission_copies: Option<Count>,
    /// Number of sequence numbers that a switch can store for `retransmission_copies`. Each number has one
    /// slot in the table, and a later one may overwrite it.
    #[schemars(extend("x-advanced" = true))]
    pub registers: Within<u32, 1, 0x100_0000>,
    /// Copies of the last posted packet: an older and costlier protection of tails. Not for READ.
    #[schemars(extend("x-advanced" = true))]
    pub tail_copies: Count,
    /// Copies of every packet. One copy is "sending twice" of Wang et al. (ICCCN 2019). Not for READ.
    #[schemars(extend("x-advanced" = true))]
    pub packet_copies: Count,
    /// Whether a responder sends another NAK when it sees that a retransmission was lost: our interpretation
    /// of "checking ePSN" of Wang et al. (ICCCN 2019).
    #[schemars(extend("x-advanced" = true))]
    pub check_epsn: bool,
}

/// Number of dummies or copies.
pub(crate) type Count = Within<u8, 0, 16>;

impl Default for Mend {
    fn default() -> Self {
        Self {
            preset: Preset::None,
            dummies: None,
            dummies_when: DummiesWhen::Deferred,
            dummies_after: Span::ZERO,
            tail_timeout: None,
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
    /// Returns the number of dummies after a tail.
    pub fn dummies(&self) -> u8 {
        self.dummies.map_or(self.preset.counts().0, Within::get)
    }

    /// Returns the number of copies of each NAK.
    pub fn nak_copies(&self) -> u8 {
        self.nak_copies.map_or(self.preset.counts().1, Within::get)
    }

    /// Returns the number of copies of each packet that is retransmitted after a NAK.
    pub fn retransmission_copies(&self) -> u8 {
        self.retransmission_copies.map_or(self.preset.counts().2, Within::get)
    }
}

/// Checks that the remedies fit the transport. A repeated request of a READ would make the responder start over while
/// it still responds.
pub(crate) fn check(mend: &Mend, transport: &Transport) -> Result<(), String> {
    let recovery = &transport.recovery;
    let copies = mend.tail_copies.get() + mend.packet_copies.get() + u8::from(mend.tail_timeout.is_some());
    if copies > 0 && transport.operation == Operation::Read {
        return Err("packets of a READ cannot be copied; use dummies, or another operation".to_owned());
    }
    if mend.tail_timeout.is_some() && mend.dummies() > 0 {
        return Err(
            "`tail_timeout` takes the place of dummies; set `dummies = 0`, or leave it out".to_owned()
        );
    }
    if mend.tail_timeout.is_some() && recovery.family() != RecoveryFamily::GoBack {
        let name = recovery.name();
        return Err(format!("`tail_timeout` needs go-back-n or go-back-0, and not \"{name}\"; leave it out"));
    }
    Ok(())
}

/// Numbers of dummies, NAK copies and retransmission copies.
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

/// When dummies are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DummiesWhen {
    /// When all posted packets have been sent, nothing was posted for T, and a packet is unacknowledged.
    Deferred,
    /// Directly after each message that is posted more than T after the previous one (§5.2 of the paper). In
    /// a batch this protects the first message, not the last.
    AtPost,
}
