//! Transport settings: recovery, window, timeout, congestion control.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Span;

use crate::acceleration::Acceleration;
use crate::congestion::{Congestion, Dcqcn, Swift};
use crate::dcp::Dcp;
use crate::host_delay::HostDelay;
use crate::quantity::{Pace, Within};
use crate::recovery::{Recovery, RecoveryFamily, SelectiveRepeat};
use crate::tcp::{Protocol, Tcp};
use crate::value::{self, Placed, Refusal, Scalar, SchemaOf, Value, as_value};
use crate::window::Window;

/// The transport of all queue pairs.
///
/// ```toml
/// [transport]
/// recovery = "go-back-n"
/// operation = "write"
/// timeout = 14
/// qp = "per-pair"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Transport {
    /// Protocol of connections; a workload can override it.
    pub protocol: Protocol,
    /// Recovery scheme: which packets are retransmitted after a loss.
    pub recovery: Placed<Recovery>,
    /// RDMA operation that moves the data.
    pub operation: Operation,
    /// Largest payload of a packet, in bytes.
    pub mtu: Mtu,
    /// Timeout code t of the retransmission timer, which expires after 4.096 µs · 2^t (IBA 9.7.6.1.3): 8 is
    /// about 1 ms, 14 is 67 ms, 16 is 268 ms. 0 disables the timer.
    pub timeout: Within<u8, 0, 31>,
    /// Number of timeouts without progress that a queue pair tolerates; after one more it fails.
    pub retry: Within<u8, 0, 7>,
    /// Number of receiver-not-ready retries; 7 is unlimited. Simulated receivers are always ready.
    #[schemars(extend("x-advanced" = true))]
    pub rnr_retry: Within<u8, 0, 7>,
    /// Delay from the detection of a loss to the first retransmission: the NIC fetches the packet from host
    /// memory. A second NAK for the same packet is ignored during the delay; later it starts another
    /// retransmission.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Span>")]
    #[schemars(extend("x-advanced" = true))]
    pub resend_delay: Span,
    /// Number of packets that may be unacknowledged. `bdp`, for all recovery schemes alike: as many as the sender's
    /// link carries in one round trip of the longest path of the empty network, so that a connection alone fills
    /// its link and a scheme does not win by a larger window. Only a READ, which takes as many numbers as its response
    /// has packets, is then unlimited. `paper`: what the paper of the scheme uses, unlimited for `go-back-n`,
    /// `go-back-0` and `mp-rdma` (which adapts it, from a `bdp` on), and `bdp` for all others.
    pub window: Window,
    /// The sender requests an acknowledgement with the last packet of a message, with the packet that fills
    /// the window, and with at least one packet in this number.
    #[schemars(extend("x-advanced" = true))]
    pub ack_every: Within<u32, 1, 8_388_607>,
    /// Whether a newer acknowledgement replaces one that is still queued at the port.
    #[schemars(extend("x-advanced" = true))]
    pub ack_coalescing: bool,
    /// Mapping of flows to queue pairs.
    pub qp: QueuePairs,
    /// Number of queue pairs per source and destination if `qp` is `per-pair`; each flow takes one of them at random.
    #[schemars(extend("x-advanced" = true))]
    pub queue_pairs: Within<u16, 1, 4096>,
    /// Sending rate of the requests of each queue pair. Responses to a READ leave at the rate of the link.
    pub rate: Pace,
    /// Measured behaviour of a NIC: `soft-roce`, the RoCE of Linux, or a path relative to the scenario file, ending in
    /// `.toml`, as `wiremend peer probe` writes it. It sets timer, window, requests for acknowledgements and reactions
    /// to losses; `timeout` and `retry` remain what the NIC is asked for. Needs `go-back-n`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub profile: Option<Placed<String>>,
    /// Parameters of schemes that accept packets in any order: see
    /// [transport.selective-repeat](#transportselective-repeat).
    #[serde(rename = "selective-repeat", skip_serializing_if = "Option::is_none")]
    pub selective_repeat: Option<Placed<SelectiveRepeat>>,
    /// Parameters of schemes for trimming switches: see [transport.dcp](#transportdcp).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dcp: Option<Placed<Dcp>>,
    /// Parameters of TCP connections: see [transport.tcp](#transporttcp).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<Placed<Tcp>>,
    /// Loss recovery features of NICs beyond the specification: see
    /// [transport.acceleration](#transportacceleration).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-advanced" = true))]
    pub acceleration: Option<Placed<Acceleration>>,
    /// Time until the processors of hosts react: see [transport.host-delay](#transporthost-delay). Default: none.
    #[serde(rename = "host-delay", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-advanced" = true))]
    pub host_delay: Option<Placed<HostDelay>>,
    /// Congestion control of queue pairs; not for READ, whose data are responses.
    pub congestion: Placed<Congestion>,
    /// Parameters of DCQCN: see [transport.dcqcn](#transportdcqcn).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dcqcn: Option<Placed<Dcqcn>>,
    /// Parameters of Swift: see [transport.swift](#transportswift).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swift: Option<Placed<Swift>>,
    /// Traffic class of all packets; a workload can override it.
    pub class: Within<u8, 0, 7>,
    /// Traffic class of congestion notifications. Default: the class of the marked packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-advanced" = true))]
    pub cnp_class: Option<Within<u8, 0, 7>>,
    /// Initial TTL of all packets; each switch decrements it.
    #[schemars(extend("x-advanced" = true))]
    pub ttl: Within<u8, 1, 255>,
    /// Sequence number of the first packet of every queue pair, or `random` for another one each; numbers wrap after
    /// 16777215.
    #[schemars(extend("x-advanced" = true))]
    pub first_psn: FirstPsn,
    /// Sizes of RDMA frames. Captures always contain real frames.
    #[schemars(extend("x-advanced" = true))]
    pub frames: FrameSizes,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            protocol: Protocol::Rdma,
            recovery: Placed::without_place(Recovery::GoBackN),
            operation: Operation::Write,
            mtu: Mtu(1024),
            timeout: Within::fixed(14),
            retry: Within::fixed(7),
            rnr_retry: Within::fixed(7),
            resend_delay: Span::ZERO,
            window: Window::Bdp,
            ack_every: Within::fixed(1),
            ack_coalescing: false,
            qp: QueuePairs::PerFlow,
            queue_pairs: Within::fixed(1),
            rate: Pace::Line,
            profile: None,
            selective_repeat: None,
            dcp: None,
            tcp: None,
            acceleration: None,
            host_delay: None,
            congestion: Placed::without_place(Congestion::None),
            dcqcn: None,
            swift: None,
            class: Within::fixed(0),
            cnp_class: None,
            ttl: Within::fixed(64),
            first_psn: FirstPsn::Number(Within::fixed(0)),
            frames: FrameSizes::Wire,
        }
    }
}

impl Transport {
    /// Returns the retransmission timeout, unless the timer is disabled.
    pub fn timeout(&self) -> Option<Span> {
        Span::from_timeout_code(self.timeout.get())
    }
}

/// Checks that what only some transports have belongs to one of them.
pub(crate) fn check(transport: &Transport) -> Result<(), String> {
    if transport.queue_pairs.get() > 1 && transport.qp == QueuePairs::PerFlow {
        return Err("`queue_pairs` has no effect where each flow has one; set `qp = \"per-pair\"`".to_owned());
    }
    if transport.frames == FrameSizes::Paper && transport.recovery.family() != RecoveryFamily::GoBack {
        let name = transport.recovery.name();
        return Err(format!(
            "`frames = \"paper\"` needs go-back-n or go-back-0, and not \"{name}\"; leave it out"
        ));
    }
    Ok(())
}

/// RDMA operation that moves the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// RDMA WRITE by the source.
    Write,
    /// SEND by the source.
    Send,
    /// RDMA READ by the source: it sends requests, and the data come from the destination.
    Read,
}

/// Mapping of flows to queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueuePairs {
    /// One queue pair per flow.
    PerFlow,
    /// One queue pair per source and destination; its flows are sent in the order in which they are posted.
    PerPair,
}

/// Sizes of RDMA frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FrameSizes {
    /// Real sizes: a WRITE has a RETH, and no frame has less than 64 bytes.
    Wire,
    /// 62 bytes and the payload, and 68 bytes for ACK and NAK, as in JCST 37(4), 2022 (claim J1).
    Paper,
}

/// First sequence number of queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstPsn {
    /// The same for all.
    Number(Within<u32, 0, 0xff_ffff>),
    /// `"random"`: another one for each.
    Random,
}

impl Value for FirstPsn {
    fn expected() -> String {
        format!("\"random\" or {}", Within::<u32, 0, 0xff_ffff>::expected())
    }

    fn types() -> &'static [&'static str] {
        &["integer", "string"]
    }

    fn names() -> &'static [&'static str] {
        &["random"]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        match scalar {
            Scalar::Text(text) if text == "random" => Ok(Self::Random),
            Scalar::Text(_) => Err(Refusal::Type),
            scalar => Within::read(scalar).map(Self::Number),
        }
    }

    fn write(&self) -> Scalar {
        match self {
            Self::Number(number) => number.write(),
            Self::Random => Scalar::Text("random".to_owned()),
        }
    }
}

as_value!(FirstPsn);

/// Largest payload of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mtu(u16);

impl Mtu {
    /// Returns the number of bytes.
    pub fn get(self) -> u16 {
        self.0
    }
}

impl Value for Mtu {
    fn expected() -> String {
        "256, 512, 1024, 2048 or 4096".to_owned()
    }

    fn types() -> &'static [&'static str] {
        &["integer"]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        match scalar {
            Scalar::Integer(mtu @ (256 | 512 | 1024 | 2048 | 4096)) => Ok(Self(*mtu as u16)),
            Scalar::Integer(mtu) => {
                Err(format!("invalid mtu of {mtu}; expected {}", Self::expected()).into())
            }
            _ => Err(Refusal::Type),
        }
    }

    fn write(&self) -> Scalar {
        Scalar::Integer(self.0.into())
    }
}

as_value!(Mtu);
