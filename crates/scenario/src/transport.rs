//! The reliable connection of every queue pair.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Span;

use crate::acceleration::Acceleration;
use crate::congestion::{Congestion, Dcqcn, Swift};
use crate::dcp::Dcp;
use crate::quantity::{Limit, Pace, Within};
use crate::recovery::{Recovery, SelectiveRepeat};
use crate::tcp::{Protocol, Tcp};
use crate::value::{self, Placed, Refusal, Scalar, Shown, Value, as_value};

/// The reliable connection: the same for all queue pairs of the network.
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
    /// What connections speak, but for workloads that have a `protocol` of their own.
    pub protocol: Protocol,
    /// What is sent again after a loss.
    pub recovery: Placed<Recovery>,
    /// Which operation moves the data.
    pub operation: Operation,
    /// Largest payload of a packet, in bytes.
    pub mtu: Mtu,
    /// Timeout code t of the retransmission timer, which expires after 4.096 µs · 2^t (IBA 9.7.6.1.3): 8 is about
    /// 1 ms, 14 is 67 ms, 16 is 268 ms. 0 means that there is no timer.
    pub timeout: Within<u8, 0, 31>,
    /// How many times the timer may expire without progress; the next time, the queue pair fails.
    pub retry: Within<u8, 0, 7>,
    /// How many times a receiver may be not ready; 7 means without end. Receivers in a simulation are always ready.
    pub rnr_retry: Within<u8, 0, 7>,
    /// From what shows a loss until the first packet is sent again: a NIC fetches it from its host's memory. A second
    /// NAK for the same packet changes nothing meanwhile; later, it makes the NIC send all again once more.
    #[serde(with = "value")]
    #[schemars(with = "Shown<Span>")]
    pub resend_delay: Span,
    /// Packets that may be unacknowledged.
    pub window: Limit<Within<u32, 1, 8_388_607>>,
    /// An acknowledgement is asked for on the last packet of a message, on the one that fills the window, and at least
    /// on one of so many packets.
    pub ack_every: Within<u32, 1, 8_388_607>,
    /// Whether an acknowledgement that still waits for the port is replaced by a newer one.
    pub ack_coalescing: bool,
    /// How flows share queue pairs.
    pub qp: QueuePairs,
    /// How fast each queue pair sends its requests. Answers to a READ leave at the rate of the link.
    pub rate: Pace,
    /// Parameters of schemes that take packets in any order: see [transport.selective-repeat](#transportselective-repeat).
    #[serde(rename = "selective-repeat", skip_serializing_if = "Option::is_none")]
    pub selective_repeat: Option<Placed<SelectiveRepeat>>,
    /// Parameters of schemes whose packets may be trimmed: see [transport.dcp](#transportdcp).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dcp: Option<Placed<Dcp>>,
    /// Parameters of TCP connections: see [transport.tcp](#transporttcp).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<Placed<Tcp>>,
    /// What a NIC does beyond the specification after a loss: see [transport.acceleration](#transportacceleration).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceleration: Option<Placed<Acceleration>>,
    /// How queue pairs answer congestion; not for READ, whose data are answers.
    pub congestion: Placed<Congestion>,
    /// Parameters of DCQCN: see [transport.dcqcn](#transportdcqcn).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dcqcn: Option<Placed<Dcqcn>>,
    /// Parameters of Swift: see [transport.swift](#transportswift).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swift: Option<Placed<Swift>>,
    /// Traffic class of all packets, but for workloads that have their own.
    pub class: Within<u8, 0, 7>,
    /// Traffic class of congestion notifications; if left out, that of the packet that was marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cnp_class: Option<Within<u8, 0, 7>>,
    /// Time to live of all packets; each switch takes one off.
    pub ttl: Within<u8, 1, 255>,
    /// Sequence number of the first packet of every queue pair; it wraps after 16777215.
    pub first_psn: Within<u32, 0, 0xff_ffff>,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            protocol: Protocol::Rdma,
            recovery: Placed::nowhere(Recovery::GoBackN),
            operation: Operation::Write,
            mtu: Mtu(1024),
            timeout: Within::fixed(14),
            retry: Within::fixed(7),
            rnr_retry: Within::fixed(7),
            resend_delay: Span::ZERO,
            window: Limit::Unlimited,
            ack_every: Within::fixed(1),
            ack_coalescing: false,
            qp: QueuePairs::PerFlow,
            rate: Pace::Line,
            selective_repeat: None,
            dcp: None,
            tcp: None,
            acceleration: None,
            congestion: Placed::nowhere(Congestion::None),
            dcqcn: None,
            swift: None,
            class: Within::fixed(0),
            cnp_class: None,
            ttl: Within::fixed(64),
            first_psn: Within::fixed(0),
        }
    }
}

impl Transport {
    /// The time after which the retransmission timer expires, if there is one.
    pub fn timeout(&self) -> Option<Span> {
        Span::from_timeout_code(self.timeout.get())
    }
}

/// Which operation moves the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// RDMA WRITE by the source.
    Write,
    /// SEND by the source.
    Send,
    /// RDMA READ by the source: it asks, and the data come from the destination.
    Read,
}

/// How flows share queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueuePairs {
    /// Each flow has a queue pair of its own.
    PerFlow,
    /// One queue pair for each source and destination; flows follow one another in the order they are posted.
    PerPair,
}

/// Largest payload of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mtu(u16);

impl Mtu {
    /// Bytes.
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
                Err(format!("no path has an mtu of {mtu}; expected {}", Self::expected()).into())
            }
            _ => Err(Refusal::Type),
        }
    }

    fn write(&self) -> Scalar {
        Scalar::Integer(self.0.into())
    }
}

as_value!(Mtu);
