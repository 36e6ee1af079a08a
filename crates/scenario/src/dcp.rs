//! Transports over switches that cut payloads off.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Span;

use crate::pattern::Misfit;
use crate::quantity::Within;
use crate::recovery::{Family, Recovery, idle_field};
use crate::transport::{Operation, Transport};
use crate::value::{self, Place, Shown};

/// Parameters of the schemes whose packets carry their own place, and whose headers come back when a switch has cut their payload off:
/// `dcp`, `ndp` and `cp`. They want switches that do so: see [switch.trim](#switchtrim).
///
/// A packet takes more bytes than usual: 4 B in the first packet of a WRITE, 20 B in later ones, 12 B in those of a SEND, 8 B more in the
/// last one; an acknowledgement 12 B. These schemes have a timer of their own, so that `transport.timeout` means nothing to them;
/// `transport.retry` does. `transport.window`, if it is not given, is the product of bandwidth and delay on the longest path of the
/// empty network.
///
/// Plain DCP has no answer to corruption: a corrupted packet leaves no header. `allowance` and `probe` are two, which work together.
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
    /// How a receiver knows what has come. If left out: `sums` for `dcp`, `bitmap` for `ndp` and `cp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracking: Option<DcpTracking>,
    /// Packets beyond the first missing one that a receiver with a bitmap or chunks can remember; the sender keeps to it. If left
    /// out: twice the window, and 65536 for `ndp` and `cp`, which are software.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracked: Option<Within<u32, 1, 4_194_304>>,
    /// Messages, or units of them, that may be under way. Only for `dcp`.
    pub units: Within<u32, 1, 4_194_304>,
    /// Packets that are counted together and, after a timeout, sent anew together: a message is cut into units of so many. If left
    /// out, messages are not cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Within<u32, 1, 4_194_304>>,
    /// The timer of the last resort: when nothing of the oldest unit was sent, or none of its packets arrived, for so long, all of it is
    /// sent anew. If left out, `8ms`, or four round trips of the longest path of the empty network if these are more.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Span>")]
    pub timeout: Option<Span>,
    /// A read of host memory over `PCIe`. What is sent again takes two: the list of such packets is there, and so are the work
    /// requests. Only for `dcp`.
    #[serde(with = "value")]
    #[schemars(with = "Shown<Span>")]
    pub pcie: Span,
    /// Packets to be sent again whose entries are read together. Only for `dcp`.
    pub batch: Within<u32, 1, 65_536>,
    /// How long the software of `cp` takes from a header that came back to the packet.
    #[serde(with = "value")]
    #[schemars(with = "Shown<Span>")]
    pub latency: Span,
    /// Packets that a sender of `ndp` sends before it is pulled. If left out, the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Within<u32, 1, 8_388_607>>,
    /// The receiver names packets that later ones have passed by more than so many numbers, and that did not come back as headers. If
    /// left out, it names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowance: Option<Within<u32, 0, 4_194_304>>,
    /// The sender asks what is missing when nothing of the oldest unit was sent and nothing was heard of it for so long. If left out,
    /// it does not ask.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Span>")]
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
            latency: Span::from_us(10),
            burst: None,
            allowance: None,
            probe: None,
        }
    }
}

/// How a receiver knows what has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DcpTracking {
    /// A count of packets for each unit, as published: a packet that the network doubles stands in for one that is missing.
    Counter,
    /// The count and three sums of packet numbers, which tell doubles and name up to two missing packets.
    Sums,
    /// A bit for each packet: one step.
    Bitmap,
    /// Bits in chunks that are linked as disorder grows: a step for each chunk.
    LinkedChunks,
}

/// Whether the rest of the transport fits.
pub(crate) fn check(transport: &Transport) -> Result<(), Misfit> {
    let scheme = &transport.recovery.value;
    if scheme.family() != Family::Trimming {
        return match &transport.dcp {
            Some(table) => {
                let why = "parameters of transports that can be trimmed, which no queue pair follows; set recovery = \"dcp\", \
                           \"ndp\" or \"cp\"";
                Err((table.place, why.to_owned()))
            }
            None => Ok(()),
        };
    }
    if transport.operation == Operation::Read {
        let why = format!(
            "recovery \"{}\" is about data that travel with their requests, and those of a READ are answers; use write or send, \
             or recovery = \"go-back-n\"",
            scheme.name()
        );
        return Err((Place(None), why));
    }
    let Some(table) = &transport.dcp else { return Ok(()) };
    idle_field(&table.idle(scheme)).map_err(|why| (table.place, why))
}

impl Dcp {
    /// Fields, whether they were given and do nothing with this scheme, and what they are meant for.
    fn idle(&self, scheme: &Recovery) -> [(&'static str, bool, &'static str); 6] {
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
            ("latency", self.latency != usual.latency && !cp, "recovery = \"cp\""),
            ("burst", self.burst.is_some() && !ndp, "recovery = \"ndp\""),
            ("tracked", self.tracked.is_some() && !bits, "tracking = \"bitmap\" or \"linked-chunks\""),
        ]
    }
}
