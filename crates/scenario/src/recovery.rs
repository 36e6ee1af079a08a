//! What is sent again after a loss: the schemes, and what fits them.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wiremend_units::Span;

use crate::pattern::Misfit;
use crate::quantity::Within;
use crate::registered::Registered;
use crate::transport::{Operation, Transport};
use crate::value::{self, Place, Shown};

/// What is sent again after a loss. A program can register other schemes that take packets in any order with `wiremend-runner`.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
pub enum Recovery {
    /// Everything from the lost packet on, as the InfiniBand specification says.
    #[serde(rename = "go-back-n")]
    GoBackN,
    /// The whole message, as the NICs did in Guo et al. (SIGCOMM 2016).
    #[serde(rename = "go-back-0")]
    GoBack0,
    /// What is missing when a packet comes out of order, as IRN does (Mittal et al., SIGCOMM 2018).
    #[serde(rename = "selective-repeat")]
    SelectiveRepeat,
    /// What is missing when the timer expires.
    #[serde(rename = "timeout-only")]
    TimeoutOnly,
    /// What was sent some time before something that has arrived (RFC 8985).
    #[serde(rename = "rack-tlp")]
    RackTlp,
    /// Everything from the lost packet on, when packets over many paths are too far apart (MP-RDMA: Lu et al., NSDI 2018).
    #[serde(rename = "mp-rdma")]
    MpRdma,
    /// Each packet whose header comes back because a switch has cut its payload off (DCP: Li et al., SIGCOMM 2025).
    #[serde(rename = "dcp")]
    Dcp,
    /// The same, when the receiver pulls it (NDP: Handley et al., SIGCOMM 2017).
    #[serde(rename = "ndp")]
    Ndp,
    /// The same, by software (CP: Cheng et al., NSDI 2014).
    #[serde(rename = "cp")]
    Cp,
    /// One that a program has registered.
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
        let known = Self::ALL.map(|scheme| (scheme.told()[0], scheme));
        Registered::deserialize(source)?.or_known(&known, Self::Registered)
    }
}

/// The engine that a scheme is built on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// The responder takes packets in order.
    GoBack,
    /// The responder takes packets in any order.
    SelectiveRepeat,
    /// The responder takes packets in any order and sends the headers of cut ones back.
    Trimming,
}

impl Recovery {
    /// Every scheme, in the order in which they are told.
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

    /// The name, what it does, and when it wins.
    pub const fn told(&self) -> [&'static str; 3] {
        match self {
            Self::GoBackN => [
                "go-back-n",
                "everything from the lost packet on is sent again",
                "losses are rare or mended below it, and packets keep their order",
            ],
            Self::GoBack0 => [
                "go-back-0",
                "the whole message is sent again, as early RDMA NICs did",
                "a livelock has to be shown",
            ],
            Self::SelectiveRepeat => [
                "selective-repeat",
                "what is missing when a packet comes out of order is sent again (IRN)",
                "losses are common and each connection keeps to one path",
            ],
            Self::TimeoutOnly => [
                "timeout-only",
                "what is missing when the timer expires is sent again",
                "packets are sprayed over unequal paths and almost none is lost",
            ],
            Self::RackTlp => [
                "rack-tlp",
                "what was sent some time before something that arrived is sent again (RFC 8985)",
                "losses and disorder come together, and the NIC can afford a time per packet",
            ],
            Self::MpRdma => [
                "mp-rdma",
                "one window over many paths; everything from a gap too wide on is sent again",
                "a lossless fabric has several paths and flows are long",
            ],
            Self::Dcp => [
                "dcp",
                "each packet whose header comes back from a switch that cut it is sent again",
                "switches trim, packets are sprayed, and links do not corrupt or hints are on",
            ],
            Self::Ndp => [
                "ndp",
                "as dcp, but a sender sends one packet for each pull of the receiver",
                "switches trim and many send to one",
            ],
            Self::Cp => ["cp", "as dcp, by software at the ends", "switches trim and NICs cannot be changed"],
            Self::Registered(_) => ["", "what a program has registered", "it says so itself"],
        }
    }

    /// The name in scenarios.
    pub fn name(&self) -> &str {
        if let Self::Registered(registered) = self { registered.0.name() } else { self.told()[0] }
    }

    /// Why nobody knows it, if nobody does.
    pub(crate) fn unknown(&self, names: &[String]) -> Option<String> {
        let Self::Registered(registered) = self else { return None };
        registered.unknown(&Self::ALL.map(|scheme| scheme.told()[0]), names)
    }

    /// Which engine it is built on.
    pub const fn family(&self) -> Family {
        match self {
            Self::GoBackN | Self::GoBack0 => Family::GoBack,
            Self::SelectiveRepeat
            | Self::TimeoutOnly
            | Self::RackTlp
            | Self::MpRdma
            | Self::Registered(_) => Family::SelectiveRepeat,
            Self::Dcp | Self::Ndp | Self::Cp => Family::Trimming,
        }
    }
}

/// Parameters of the schemes that take packets in any order: `selective-repeat`, `timeout-only`, `rack-tlp` and `mp-rdma`.
///
/// Every packet carries its place, which takes 16 B more in the middle and last packets of a WRITE and 8 B in those of a SEND, and is
/// acknowledged on its own, with 4 B more than usual. These schemes have timers of their own, so that `transport.timeout` means nothing to
/// them; `transport.retry` does. `transport.window`, if it is not given, is the product of bandwidth and delay on the longest path of
/// the empty network, for `mp-rdma` only at first.
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
    /// The timeout while at most `rto_low_packets` are outstanding; for `rack-tlp`, the least. If left out: `100us`, but at least 4 round
    /// trips of the longest path. `timeout-only` uses `rto_high`, `mp-rdma` 8 ms.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Span>")]
    pub rto_low: Option<Span>,
    /// The timeout otherwise; for `rack-tlp`, before the first round trip is measured. If left out: `320us`, but at least 13 round
    /// trips; for `mp-rdma` 8 ms.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Span>")]
    pub rto_high: Option<Span>,
    /// Packets that are few: `3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto_low_packets: Option<Within<u32, 0, 1_000>>,
    /// Whether each expiry without progress doubles the timeout: for `rack-tlp` it does, for others not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<bool>,
    /// How a receiver remembers what came out of order: `bitmap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracking: Option<Tracking>,
    /// Packets beyond the first missing one that a receiver can remember; what lies further is dropped and answered with a NAK. If left
    /// out: the window, and 64 for `mp-rdma`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracked: Option<Within<u32, 1, 4_194_303>>,
    /// `mp-rdma`: how far an acknowledged packet may lag behind the newest before its path is left: `32`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag: Option<Within<u32, 1, 1_000_000>>,
    /// `mp-rdma`: virtual paths to choose from, each a UDP source port: `128`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Within<u16, 1, 4_096>>,
}

/// How a receiver remembers what came out of order. Both remember the same; they differ in memory and in steps for each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tracking {
    /// A bitmap of fixed size: one step.
    Bitmap,
    /// A list of chunks that grows with disorder: a step for each chunk.
    LinkedChunks,
}

/// Whether the rest of the transport fits its scheme.
pub(crate) fn check(transport: &Transport) -> Result<(), Misfit> {
    let at = |place, why: &str| Err((place, why.to_owned()));
    let scheme = &transport.recovery.value;
    let selective = scheme.family() == Family::SelectiveRepeat;
    if !selective {
        return match &transport.selective_repeat {
            Some(table) => at(
                table.place,
                "parameters of selective repeat, which no queue pair follows; set recovery = \"selective-repeat\", \
                 \"timeout-only\", \"rack-tlp\" or \"mp-rdma\"",
            ),
            None => Ok(()),
        };
    }
    let nowhere = Place(None);
    if transport.operation == Operation::Read {
        return Err((
            nowhere,
            format!(
                "recovery \"{}\" is about data that travel with their requests, and those of a READ are answers; use \
                 write or send, or recovery = \"go-back-n\"",
                scheme.name()
            ),
        ));
    }
    if transport.ack_every.get() != 1 {
        return Err((
            nowhere,
            format!("recovery \"{}\" acknowledges every packet; leave out `ack_every`", scheme.name()),
        ));
    }
    if *scheme == Recovery::MpRdma && transport.ack_coalescing {
        return at(nowhere, "mp-rdma counts acknowledgements; leave out `ack_coalescing`");
    }
    let Some(table) = &transport.selective_repeat else { return Ok(()) };
    let [irn, mp] = [Recovery::SelectiveRepeat, Recovery::MpRdma].map(|meant| *scheme == meant);
    let both = "recovery = \"selective-repeat\" or \"mp-rdma\"";
    idle_field(&[
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

/// Refuses the first field that was given and does nothing: its name, whether it is such a one, and what it is meant for.
pub(crate) fn idle_field(fields: &[(&str, bool, &str)]) -> Result<(), String> {
    match fields.iter().find(|(_, idle, _)| *idle) {
        Some((field, _, meant)) => {
            Err(format!("`{field}` is for {meant} alone; leave it out, or set {meant}"))
        }
        None => Ok(()),
    }
}
