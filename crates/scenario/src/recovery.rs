//! Recovery schemes and their parameters.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wiremend_units::Span;

use crate::pattern::CheckError;
use crate::quantity::Within;
use crate::registered::Registered;
use crate::transport::{Operation, Transport};
use crate::value::{self, Place, SchemaOf};

/// Which packets are retransmitted after a loss. A program can register other schemes that accept packets in
/// any order with `wiremend-runner`.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
pub enum Recovery {
    /// All packets from the lost one on, as the InfiniBand specification defines.
    #[serde(rename = "go-back-n")]
    GoBackN,
    /// The whole message, as the NICs in Guo et al. (SIGCOMM 2016).
    #[serde(rename = "go-back-0")]
    GoBack0,
    /// The missing packets, when a packet arrives out of order, as IRN (Mittal et al., SIGCOMM 2018).
    #[serde(rename = "selective-repeat")]
    SelectiveRepeat,
    /// The missing packets, when the timer expires.
    #[serde(rename = "timeout-only")]
    TimeoutOnly,
    /// Packets that were sent some time before one that has arrived (RFC 8985).
    #[serde(rename = "rack-tlp")]
    RackTlp,
    /// All packets from the lost one on, when packets over many paths arrive too far apart (MP-RDMA: Lu et
    /// al., NSDI 2018).
    #[serde(rename = "mp-rdma")]
    MpRdma,
    /// Each packet whose header returns because a switch has trimmed it (DCP: Li et al., SIGCOMM 2025).
    #[serde(rename = "dcp")]
    Dcp,
    /// Each trimmed packet, when the receiver pulls it (NDP: Handley et al., SIGCOMM 2017).
    #[serde(rename = "ndp")]
    Ndp,
    /// Each trimmed packet, by software (CP: Cheng et al., NSDI 2014).
    #[serde(rename = "cp")]
    Cp,
    /// A scheme that a program registered.
    #[schemars(skip)]
    Registered(Registered),
}

impl Serialize for Recovery {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Registered(registered) => registered.serialize(sink),
            known => known.name().serialize(sink),
        }
    }
}

impl<'de> Deserialize<'de> for Recovery {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let known = Self::ALL.map(|scheme| (scheme.description()[0], scheme));
        Registered::deserialize(source)?.or_known(&known, Self::Registered)
    }
}

/// Engine of a recovery scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryFamily {
    /// The responder accepts packets in order.
    GoBack,
    /// The responder accepts packets in any order.
    SelectiveRepeat,
    /// The responder accepts packets in any order and returns the headers of trimmed ones.
    Trimming,
}

impl Recovery {
    /// All built-in schemes, in the order of lists.
    pub const ALL: [Self; 9] = [
        Self::GoBackN,
        Self::GoBack0,
        Self::SelectiveRepeat,
        Self::TimeoutOnly,
        Self::RackTlp,
        Self::MpRdma,
        Self::Dcp,
        Self::Ndp,
        Self::Cp,
    ];

    /// Returns the name, the behaviour, and the conditions under which the scheme is best.
    pub const fn description(&self) -> [&'static str; 3] {
        match self {
            Self::GoBackN => [
                "go-back-n",
                "retransmits all packets from the lost one on",
                "losses are rare or recovered by links, and packets stay in order",
            ],
            Self::GoBack0 => [
                "go-back-0",
                "retransmits the whole message, as early RDMA NICs did",
                "a livelock is to be demonstrated",
            ],
            Self::SelectiveRepeat => [
                "selective-repeat",
                "retransmits missing packets when a packet arrives out of order (IRN)",
                "losses are common and each connection uses one path",
            ],
            Self::TimeoutOnly => [
                "timeout-only",
                "retransmits missing packets when the timer expires",
                "packets are sprayed over unequal paths and losses are very rare",
            ],
            Self::RackTlp => [
                "rack-tlp",
                "retransmits packets that were sent some time before one that arrived (RFC 8985)",
                "there are losses and reordering, and the NIC can store a time per packet",
            ],
            Self::MpRdma => [
                "mp-rdma",
                "uses one window over many paths; retransmits all packets from a gap that is too wide",
                "the fabric is lossless with several paths, and flows are long",
            ],
            Self::Dcp => [
                "dcp",
                "retransmits each packet whose trimmed header returns",
                "switches trim, packets are sprayed, and links do not corrupt (or allowance and probe are set)",
            ],
            Self::Ndp => [
                "ndp",
                "as dcp, but the sender sends one packet per pull of the receiver",
                "switches trim and incasts are common",
            ],
            Self::Cp => ["cp", "as dcp, in software at the ends", "switches trim and NICs cannot be changed"],
            Self::Registered(_) => ["", "registered by a program", "unknown"],
        }
    }

    /// Returns the name in scenarios.
    pub fn name(&self) -> &str {
        if let Self::Registered(registered) = self { registered.0.name() } else { self.description()[0] }
    }

    /// Returns the error if the name is neither built in nor registered.
    pub(crate) fn unknown(&self, names: &[String]) -> Option<String> {
        let Self::Registered(registered) = self else { return None };
        registered.unknown(&Self::ALL.map(|scheme| scheme.description()[0]), names)
    }

    /// Returns the engine of the scheme.
    pub const fn family(&self) -> RecoveryFamily {
        match self {
            Self::GoBackN | Self::GoBack0 => RecoveryFamily::GoBack,
            Self::SelectiveRepeat
            | Self::TimeoutOnly
            | Self::RackTlp
            | Self::MpRdma
            | Self::Registered(_) => RecoveryFamily::SelectiveRepeat,
            Self::Dcp | Self::Ndp | Self::Cp => RecoveryFamily::Trimming,
        }
    }
}

/// Parameters of the schemes that accept packets in any order: `selective-repeat`, `timeout-only`, `rack-tlp`
/// and `mp-rdma`.
///
/// Every packet carries its offset, which takes 16 B more in the middle and last packets of a WRITE and 8 B
/// more in those of a SEND. Every packet is acknowledged separately, by an acknowledgement that is 4 B longer
/// than usual. These schemes have their own timers and ignore `transport.timeout`; they use
/// `transport.retry`.
///
/// ```toml
/// [transport]
/// recovery = "selective-repeat"
///
/// [transport.selective-repeat]
/// rto_low = "100us"
/// rto_high = "320us"
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SelectiveRepeat {
    /// Timeout while at most `rto_low_packets` are outstanding; for `rack-tlp`, the minimum timeout. Default:
    /// `100us`, but at least 4 round trips of the longest path. `timeout-only` uses `rto_high`, `mp-rdma` 8
    /// ms.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub rto_low: Option<Span>,
    /// Timeout otherwise; for `rack-tlp`, before the first round trip is measured. Default: `320us`, but at
    /// least 13 round trips; for `mp-rdma` 8 ms.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub rto_high: Option<Span>,
    /// Number of outstanding packets up to which `rto_low` applies. Default: `3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto_low_packets: Option<Within<u32, 0, 1_000>>,
    /// Whether each timeout without progress doubles the next one. Default: true for `rack-tlp`, false for
    /// others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<bool>,
    /// How the receiver tracks packets that arrive out of order. Default: `bitmap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracking: Option<Tracking>,
    /// Number of packets beyond the first missing one that a receiver can track; packets further ahead are
    /// dropped and answered with a NAK. Default: the window, and 64 for `mp-rdma`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracked: Option<Within<u32, 1, 4_194_303>>,
    /// `mp-rdma`: how far an acknowledged packet may lag behind the newest before its path is abandoned.
    /// Default: `32`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag: Option<Within<u32, 1, 1_000_000>>,
    /// `mp-rdma`: number of virtual paths, each a UDP source port. Default: `128`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Within<u16, 1, 4_096>>,
}

/// How the receiver tracks packets that arrive out of order. Both track the same packets; they differ in
/// memory and in lookups per packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tracking {
    /// A bitmap of fixed size; one lookup.
    Bitmap,
    /// A list of chunks that grows with disorder; one lookup per chunk.
    LinkedChunks,
}

/// Checks that the rest of the transport fits the scheme.
pub(crate) fn check(transport: &Transport) -> Result<(), CheckError> {
    let at = |place, why: &str| Err((place, why.to_owned()));
    let scheme = &transport.recovery.value;
    let selective = scheme.family() == RecoveryFamily::SelectiveRepeat;
    if !selective {
        return match &transport.selective_repeat {
            Some(table) => at(
                table.place,
                "no queue pair uses selective repeat; set recovery = \"selective-repeat\", \
                 \"timeout-only\", \"rack-tlp\" or \"mp-rdma\"",
            ),
            None => Ok(()),
        };
    }
    let without_place = Place(None);
    if transport.operation == Operation::Read {
        return Err((
            without_place,
            format!(
                "recovery \"{}\" needs data in requests, and the data of a READ are responses; use \
                 write or send, or recovery = \"go-back-n\"",
                scheme.name()
            ),
        ));
    }
    if transport.ack_every.get() != 1 {
        return Err((
            without_place,
            format!("recovery \"{}\" acknowledges every packet; remove `ack_every`", scheme.name()),
        ));
    }
    if *scheme == Recovery::MpRdma && transport.ack_coalescing {
        return at(without_place, "mp-rdma counts acknowledgements; remove `ack_coalescing`");
    }
    let Some(table) = &transport.selective_repeat else { return Ok(()) };
    let [irn, mp] = [Recovery::SelectiveRepeat, Recovery::MpRdma].map(|meant| *scheme == meant);
    let both = "recovery = \"selective-repeat\" or \"mp-rdma\"";
    field_without_effect(&[
        ("lag", table.lag.is_some() && !mp, "recovery = \"mp-rdma\""),
        ("paths", table.paths.is_some() && !mp, "recovery = \"mp-rdma\""),
        ("rto_low_packets", table.rto_low_packets.is_some() && !irn && !mp, both),
    ])
    .map_err(|why| (table.place, why))?;
    if let (Some(low), Some(high)) = (table.rto_low, table.rto_high)
        && low > high
    {
        return Err((
            table.place,
            format!("`rto_low` of {low} is above `rto_high` of {high}; give at most that"),
        ));
    }
    Ok(())
}

/// Refuses the first field that was given without effect: its name, whether it is without effect, and where
/// it has one.
pub(crate) fn field_without_effect(fields: &[(&str, bool, &str)]) -> Result<(), String> {
    match fields.iter().find(|(_, is_without_effect, _)| *is_without_effect) {
        Some((field, _, meant)) => Err(format!("`{field}` needs {meant}; remove it, or set {meant}")),
        None => Ok(()),
    }
}
