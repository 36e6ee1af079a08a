//! Transports for trimming switches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Span;

use crate::pattern::CheckError;
use crate::quantity::Within;
use crate::recovery::{Recovery, RecoveryFamily, field_without_effect};
use crate::transport::{Operation, Transport};
use crate::value::{self, Place, SchemaOf};

/// Parameters of `dcp`, `ndp` and `cp`: schemes whose packets carry their own offset, and whose headers
/// return to the sender when a switch has trimmed their payload. They need trimming switches: see
/// [switch.trim](#switchtrim).
///
/// Packets are longer than usual: by 4 B in the first packet of a WRITE, 20 B in later ones, 12 B in packets
/// of a SEND, 8 B more in the last packet, and 12 B in an acknowledgement. These schemes have their own timer
/// and ignore `transport.timeout`; they use `transport.retry`.
///
/// Plain DCP cannot detect corruption, because a corrupted packet leaves no header. `allowance` and `probe`
/// add two ways to detect it, which work together.
///
/// ```toml
/// [transport]
/// recovery = "dcp"
///
/// [transport.dcp]
/// tracking = "bitmap"
/// allowance = 64
/// probe = "50us"
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dcp {
    /// How the receiver tracks arrived packets. Default: `sums` for `dcp`, `bitmap` for `ndp` and `cp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracking: Option<DcpTracking>,
    /// Number of packets beyond the first missing one that a receiver with a bitmap or chunks can track; the
    /// sender respects it. Default: twice the window, and 65536 for `ndp` and `cp`, which are software.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-advanced" = true))]
    pub tracked: Option<Within<u32, 1, 4_194_304>>,
    /// Number of messages, or units of messages, that may be outstanding. Only for `dcp`.
    #[schemars(extend("x-advanced" = true))]
    pub units: Within<u32, 1, 4_194_304>,
    /// Number of packets that are counted together and, after a timeout, retransmitted together: messages are
    /// split into units of this size. Default: messages are not split.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-advanced" = true))]
    pub unit: Option<Within<u32, 1, 4_194_304>>,
    /// Retransmission timeout. It expires when no packet of the oldest unit was sent or no packet of it
    /// arrived for this time; then the whole unit is retransmitted. Default: `8ms`, or four round trips of
    /// the longest path of the empty network if that is more.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub timeout: Option<Span>,
    /// Latency of a read of host memory over `PCIe`. A retransmission takes two reads: the list of packets to
    /// retransmit and the work request. Only for `dcp`.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Span>")]
    #[schemars(extend("x-advanced" = true))]
    pub pcie: Span,
    /// Number of entries of the retransmission list that are read together. Only for `dcp`.
    #[schemars(extend("x-advanced" = true))]
    pub batch: Within<u32, 1, 65_536>,
    /// What sends a trimmed packet again. Only for `dcp`.
    pub retransmit: DcpRetransmit,
    /// Latency of the software of `cp` from a returned header to the retransmission.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Span>")]
    #[schemars(extend("x-advanced" = true))]
    pub latency: Span,
    /// Number of packets that a sender of `ndp` sends before the first pull. Default: the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-advanced" = true))]
    pub burst: Option<Within<u32, 1, 8_388_607>>,
    /// The receiver reports a packet as missing when later packets are ahead of it by more than this number
    /// and its header did not return. Default: it reports none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowance: Option<Within<u32, 0, 4_194_304>>,
    /// The sender asks for missing packets when it has sent nothing of the oldest unit and received nothing
    /// about it for this time. Default: it does not ask.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub probe: Option<Span>,
}

impl Default for Dcp {
    fn default() -> Self {
        Self {
            tracking: None,
            tracked: None,
            units: Within::fixed(64),
            unit: None,
            timeout: None,
            pcie: Span::from_us(1),
            batch: Within::fixed(16),
            retransmit: DcpRetransmit::Queue,
            latency: Span::from_us(10),
            burst: None,
            allowance: None,
            probe: None,
        }
    }
}

/// What sends a trimmed packet again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DcpRetransmit {
    /// The list of packets to retransmit, at the rate and in the window of congestion control.
    Queue,
    /// Each returned header, as soon as the entry is read and the port is free: at the rate at which headers return,
    /// whatever congestion control says.
    PerHeader,
}

/// How the receiver tracks arrived packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DcpTracking {
    /// One packet count per unit, as published: a packet that the network duplicates is counted in place of a
    /// missing one.
    Counter,
    /// The count and three sums of packet numbers, which detect duplicates and identify up to two missing
    /// packets.
    Sums,
    /// One bit per packet; one lookup.
    Bitmap,
    /// Bits in linked chunks, whose number grows with disorder; one lookup per chunk.
    LinkedChunks,
}

/// Checks that the rest of the transport fits the scheme.
pub(crate) fn check(transport: &Transport) -> Result<(), CheckError> {
    let scheme = &transport.recovery.value;
    if scheme.family() != RecoveryFamily::Trimming {
        return match &transport.dcp {
            Some(table) => {
                let why = "no queue pair uses a transport for trimming; set recovery = \"dcp\", \
                           \"ndp\" or \"cp\"";
                Err((table.place, why.to_owned()))
            }
            None => Ok(()),
        };
    }
    if transport.operation == Operation::Read && *scheme != Recovery::Dcp {
        let why =
            format!("recovery \"{}\" has no READ; use write or send, or recovery = \"dcp\"", scheme.name());
        return Err((Place(None), why));
    }
    let Some(table) = &transport.dcp else { return Ok(()) };
    field_without_effect(&table.fields_without_effect(scheme)).map_err(|why| (table.place, why))
}

impl Dcp {
    /// Returns the fields, whether each was given without effect under this scheme, and where it has an
    /// effect.
    fn fields_without_effect(&self, scheme: &Recovery) -> [(&'static str, bool, &'static str); 7] {
        let usual = Self::default();
        let [dcp, ndp, cp] = [Recovery::Dcp, Recovery::Ndp, Recovery::Cp].map(|meant| *scheme == meant);
        let bits = match self.tracking {
            Some(tracking) => matches!(tracking, DcpTracking::Bitmap | DcpTracking::LinkedChunks),
            None => !dcp,
        };
        [
            ("units", self.units != usual.units && !dcp, "recovery = \"dcp\""),
            ("pcie", self.pcie != usual.pcie && !dcp, "recovery = \"dcp\""),
            ("batch", self.batch != usual.batch && !dcp, "recovery = \"dcp\""),
            ("retransmit", self.retransmit != usual.retransmit && !dcp, "recovery = \"dcp\""),
            ("latency", self.latency != usual.latency && !cp, "recovery = \"cp\""),
            ("burst", self.burst.is_some() && !ndp, "recovery = \"ndp\""),
            ("tracked", self.tracked.is_some() && !bits, "tracking = \"bitmap\" or \"linked-chunks\""),
        ]
    }
}
