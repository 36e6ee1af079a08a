//! TCP connections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::{Bytes, Span};

use crate::congestion::Congestion;
use crate::pattern::CheckError;
use crate::quantity::Within;
use crate::scenario::Scenario;
use crate::transport::Transport;
use crate::value::{self, Place, SchemaOf};
use crate::workload::{App, Workload};

/// Protocol of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// `RoCEv2`, with `recovery` and the other fields of this table.
    #[default]
    Rdma,
    /// TCP, with the parameters of [transport.tcp](#transporttcp).
    Tcp,
}

/// Parameters of TCP connections. Workloads use TCP by `transport.protocol = "tcp"` or by their own
/// `protocol`, so that RDMA and TCP can share links. From `[transport]`, TCP also uses `class`, `ttl` and
/// `qp`.
///
/// Losses are detected by time and probes (RACK-TLP, RFC 8985), or without `sack` by duplicate
/// acknowledgements (RFC 6582). An acknowledgement carries three SACK blocks, or two with subflows. Segments
/// take 70 B beside their payload: Ethernet, IPv4, TCP and timestamps. Connections are not closed; a flow
/// ends when its last byte is acknowledged.
///
/// With `subflows` a connection is a Multipath TCP connection (RFC 8684). Each subflow has its own port, so
/// that ECMP may send it over another path. New data go to the subflow with the shortest round trip that has
/// room, and data of a subflow whose timer expires are sent again over the others. Segments take 20 B more
/// (an option with a data sequence number of 8 B), acknowledgements 8 B. `lia` couples the windows of
/// subflows; with other algorithms they are independent. Slowdown is relative to the path of the first
/// subflow. Where hosts have only one path to each other, connections have one subflow.
///
/// ```toml
/// [transport]
/// protocol = "tcp"
///
/// [transport.tcp]
/// congestion = "dctcp"
/// rto_min = "5ms"
/// stack_latency = "7us"
///
/// [switch.ecn]
/// kmin = "100kB"
/// kmax = "100kB"
/// pmax = 1.0
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Tcp {
    /// Congestion control.
    pub congestion: TcpCongestion,
    /// Number of subflows of a connection.
    pub subflows: Within<u8, 1, 8>,
    /// Largest IP packet, in bytes.
    pub mtu: Within<u16, 256, 9_216>,
    /// Payload of a full segment, in bytes. Default and maximum: `mtu` minus 52 bytes of headers, or minus 72
    /// with `subflows`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-advanced" = true))]
    pub mss: Option<Within<u16, 64, 9_164>>,
    /// Minimum retransmission timeout.
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Span>")]
    pub rto_min: Span,
    /// Retransmission timeout before a round trip was measured.
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Span>")]
    #[schemars(extend("x-advanced" = true))]
    pub rto_first: Span,
    /// Number of timeouts without progress that a connection tolerates; after one more it fails.
    #[schemars(extend("x-advanced" = true))]
    pub retries: Within<u8, 1, 30>,
    /// Maximum delay of the acknowledgement of a single segment; `0ns` acknowledges each segment.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Span>")]
    #[schemars(extend("x-advanced" = true))]
    pub delayed_ack: Span,
    /// Maximum number of segments per acknowledgement; more than 2 where receivers' NICs merge segments.
    #[schemars(extend("x-advanced" = true))]
    pub ack_every: Within<u32, 1, 64>,
    /// Number of segments at the start of a connection that are acknowledged at once.
    #[schemars(extend("x-advanced" = true))]
    pub quick_acks: Within<u32, 0, 1_000_000>,
    /// Initial congestion window, in segments.
    #[schemars(extend("x-advanced" = true))]
    pub first_window: Within<u32, 1, 1_000>,
    /// Bytes beyond the first missing one that a receiver accepts: at least two segments, at most 8388607
    /// bytes.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Bytes>")]
    #[schemars(extend("x-advanced" = true))]
    pub receive_window: Bytes,
    /// Whether receivers send selective acknowledgements.
    pub sack: bool,
    /// Tolerance of reordering before a segment counts as lost. Needs `sack`; without it, three duplicate
    /// acknowledgements indicate a loss.
    #[schemars(extend("x-advanced" = true))]
    pub reordering: TcpReordering,
    /// Whether the sender probes for tail losses.
    #[schemars(extend("x-advanced" = true))]
    pub tail_probe: bool,
    /// Tick of the hosts' clock: timers expire at a tick, never early; a probe and the wait for reordered
    /// segments take 2 ms more; and `cubic` updates its curve once a tick. Linux has `1ms` or `4ms`. With `0ns`
    /// timers are exact.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Span>")]
    #[schemars(extend("x-advanced" = true))]
    pub tick: Span,
    /// ECN mode. Default: `dctcp` for `dctcp`, `off` for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<TcpEcn>,
    /// Whether the sender paces the window over the round trip. `bbr` always does.
    pub pacing: bool,
    /// Maximum number of bytes that a paced connection sends at once: the unit of segmentation offload.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Bytes>")]
    #[schemars(extend("x-advanced" = true))]
    pub burst: Bytes,
    /// Whether a flow starts with a handshake. If not, its connection exists already and has measured the
    /// round trip of the longest path of the empty network.
    #[schemars(extend("x-advanced" = true))]
    pub handshake: bool,
    /// Target delay of `congestion = "swift"`: of a round trip with its queues and both stacks.
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Span>")]
    #[schemars(extend("x-advanced" = true))]
    pub delay_target: Span,
    /// Latency of the host's stack from the arrival of a frame to its processing, at both ends.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Span>")]
    #[schemars(extend("x-advanced" = true))]
    pub stack_latency: Span,
}

/// Twice the base target of Swift for queue pairs, whose hosts answer in hardware.
const DELAY_TARGET: Span = Span::from_us(50);
/// Bytes of the headers of IPv4 and TCP with timestamps.
const HEADER_BYTES: u16 = 52;
/// Bytes of the option of Multipath TCP.
const SIGNAL_BYTES: u16 = 20;
/// Maximum receive window.
const WINDOW_MAX: Bytes = Bytes::new((1 << 23) - 1);

impl Default for Tcp {
    fn default() -> Self {
        Self {
            congestion: TcpCongestion::Cubic,
            subflows: Within::fixed(1),
            mtu: Within::fixed(1_500),
            mss: None,
            rto_min: Span::from_ms(200),
            rto_first: Span::from_ms(1_000),
            retries: Within::fixed(15),
            delayed_ack: Span::from_ms(40),
            ack_every: Within::fixed(2),
            quick_acks: Within::fixed(16),
            first_window: Within::fixed(10),
            receive_window: Bytes::kib(6 * 1_024),
            sack: true,
            reordering: TcpReordering::Adaptive,
            tail_probe: true,
            tick: Span::ZERO,
            ecn: None,
            pacing: false,
            burst: Bytes::kib(64),
            handshake: false,
            delay_target: DELAY_TARGET,
            stack_latency: Span::ZERO,
        }
    }
}

impl Tcp {
    /// Returns the payload of a full segment of a connection with one subflow.
    pub fn mss(&self) -> u16 {
        self.mss_of(1)
    }

    /// Returns the payload of a full segment of a connection with this number of subflows.
    pub fn mss_of(&self, subflows: u8) -> u16 {
        self.mss.map_or(self.mtu.get() - header_bytes(subflows), Within::get)
    }

    /// Returns the ECN mode.
    pub fn ecn(&self) -> TcpEcn {
        let usual = if self.congestion == TcpCongestion::Dctcp { TcpEcn::Dctcp } else { TcpEcn::Off };
        self.ecn.unwrap_or(usual)
    }
}

const fn header_bytes(subflows: u8) -> u16 {
    HEADER_BYTES + if subflows > 1 { SIGNAL_BYTES } else { 0 }
}

/// Congestion control of TCP connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpCongestion {
    /// CUBIC (RFC 9438), with `HyStart++` (RFC 9406).
    #[default]
    Cubic,
    /// DCTCP (RFC 8257): a reduction in proportion to the fraction of marked bytes; needs
    /// [switch.ecn](#switchecn).
    Dctcp,
    /// BBR version 1: a model of the path's rate and round trip.
    Bbr,
    /// Reno (RFC 5681): half the window after a loss, one segment more per round trip.
    Reno,
    /// Reno with an increase that subflows share (RFC 6356); needs `subflows`.
    Lia,
    /// Swift (Kumar et al., SIGCOMM 2020): a window that follows `delay_target`.
    Swift,
    /// TIMELY (Mittal et al., SIGCOMM 2015): a rate that follows the gradient of the round trip, whatever is lost.
    Timely,
}

/// Criterion for the loss of a segment that later ones have overtaken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpReordering {
    /// Time: a quarter of the minimum round trip, or zero while no reordering was ever seen and three
    /// segments have overtaken; increased after each round trip with a duplicate segment (RFC 8985).
    #[default]
    Adaptive,
    /// As `adaptive`, but never more than a quarter of the minimum round trip.
    Fixed,
    /// As `adaptive`, but from the first gap on, whatever the number of segments that have overtaken; Linux
    /// with a `tcp_recovery` of 5.
    Time,
    /// Three segments have overtaken (RFC 6675).
    Segments,
}

/// ECN mode of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpEcn {
    /// Segments are not ECN-capable.
    Off,
    /// The receiver echoes a mark until the sender has reacted (RFC 3168).
    Classic,
    /// The echo tells which bytes were marked (RFC 8257).
    Dctcp,
}

impl Transport {
    /// Returns the parameters of TCP connections.
    pub fn tcp(&self) -> Tcp {
        self.tcp.as_ref().map(|table| table.value).unwrap_or_default()
    }
}

impl Workload {
    /// Returns the protocol of the workload's connections.
    pub fn protocol_in(&self, transport: &Transport) -> Protocol {
        self.protocol.unwrap_or(transport.protocol)
    }
}

impl Workload {
    /// Returns the number of subflows of the workload's connections; 1 for RDMA.
    pub fn subflows_in(&self, transport: &Transport) -> u8 {
        match self.protocol_in(transport) {
            Protocol::Rdma => 1,
            Protocol::Tcp => self.subflows.as_ref().map_or(transport.tcp().subflows, |own| own.value).get(),
        }
    }
}

impl Scenario {
    /// Returns the largest number of subflows of a connection.
    pub fn subflows_max(&self) -> u8 {
        let workloads = self.workloads.iter().filter(|workload| !matches!(workload.app, App::Cbr(_)));
        workloads.map(|workload| workload.subflows_in(&self.transport)).max().unwrap_or(1)
    }

    /// Returns whether a workload has connections of this protocol.
    pub fn uses_protocol(&self, protocol: Protocol) -> bool {
        let connects = |workload: &Workload| !matches!(workload.app, App::Cbr(_));
        let mut workloads = self.workloads.iter().filter(|workload| connects(workload));
        workloads.any(|workload| workload.protocol_in(&self.transport) == protocol)
    }
}

/// Checks that the parameters fit each other and the rest of the scenario.
pub(crate) fn check(scenario: &Scenario) -> Result<(), CheckError> {
    let transport = &scenario.transport;
    let place = transport.tcp.as_ref().map_or(Place(None), |table| table.place);
    let inconsistent = |why: String| Err((place, why));
    check_subflows(scenario)?;
    if !scenario.uses_protocol(Protocol::Tcp) {
        return if transport.tcp.is_some() {
            inconsistent(
                "no workload uses TCP; set transport.protocol = \"tcp\", or `protocol` of a workload".into(),
            )
        } else {
            Ok(())
        };
    }
    let tcp = transport.tcp();
    if transport.congestion.value != Congestion::None && !scenario.uses_protocol(Protocol::Rdma) {
        let why = "`transport.congestion` applies to queue pairs, and all workloads use TCP; use `transport.tcp.congestion`";
        return Err((transport.congestion.place, why.to_owned()));
    }
    let headers = header_bytes(scenario.subflows_max());
    let most = tcp.mtu.get() - headers;
    if let Some(mss) = tcp.mss.map(Within::get).filter(|mss| *mss > most) {
        return inconsistent(format!(
            "an `mss` of {mss} does not fit the `mtu` of {} with its headers of {headers}; at most {most}",
            tcp.mtu.get()
        ));
    }
    if tcp.rto_min > scenario.stop.after {
        return inconsistent(format!(
            "a `rto_min` of {} is above the {} of `stop.after`, so no timeout ever expires; decrease `rto_min`, or increase `stop.after`",
            tcp.rto_min, scenario.stop.after
        ));
    }
    check_values(&tcp).or_else(inconsistent)?;
    if !tcp.sack && tcp.reordering != TcpReordering::Adaptive {
        return inconsistent(
            "`reordering` needs selective acknowledgements; remove it, or set sack = true".into(),
        );
    }
    if tcp.congestion == TcpCongestion::Dctcp && scenario.switch.ecn.is_none() {
        return inconsistent("DCTCP needs ECN marks; add [switch.ecn]".into());
    }
    if tcp.congestion == TcpCongestion::Dctcp && tcp.ecn() != TcpEcn::Dctcp {
        return inconsistent("DCTCP needs ecn = \"dctcp\"; remove `ecn`".into());
    }
    if tcp.congestion != TcpCongestion::Swift && tcp.delay_target != DELAY_TARGET {
        return inconsistent(
            "only Swift has a `delay_target`; set congestion = \"swift\", or remove it".into(),
        );
    }
    if tcp.congestion == TcpCongestion::Lia && scenario.subflows_max() == 1 {
        return inconsistent(
            "LIA couples the windows of subflows, and connections have one; set `subflows`, or use \"reno\""
                .into(),
        );
    }
    Ok(())
}

/// Checks that only TCP workloads have subflows.
fn check_subflows(scenario: &Scenario) -> Result<(), CheckError> {
    for workload in &scenario.workloads {
        if let Some(subflows) = &workload.subflows
            && (workload.protocol_in(&scenario.transport) == Protocol::Rdma
                || matches!(workload.app, App::Cbr(_)))
        {
            let why = "`subflows` needs TCP connections; set protocol = \"tcp\", or remove `subflows`";
            return Err((subflows.place, why.to_owned()));
        }
    }
    Ok(())
}

fn check_values(tcp: &Tcp) -> Result<(), String> {
    const RTO_MAX: Span = Span::from_ms(120_000);
    const DELAY_MAX: Span = Span::from_ms(500);
    const LATENCY_MAX: Span = Span::from_ms(1_000);
    let window_min = Bytes::new(2 * u64::from(tcp.mss()));
    if tcp.receive_window < window_min || tcp.receive_window > WINDOW_MAX {
        return Err(format!(
            "a `receive_window` of {} is out of range; {window_min} to {}B",
            tcp.receive_window,
            WINDOW_MAX.get()
        ));
    }
    if tcp.burst < Bytes::new(u64::from(tcp.mss())) || tcp.burst > Bytes::kib(1_024) {
        return Err(format!("a `burst` of {} is out of range; a segment to 1MiB", tcp.burst));
    }
    for (name, span, most) in [
        ("rto_min", tcp.rto_min, RTO_MAX),
        ("rto_first", tcp.rto_first, RTO_MAX),
        ("delayed_ack", tcp.delayed_ack, DELAY_MAX),
        ("tick", tcp.tick, DELAY_MAX),
        ("stack_latency", tcp.stack_latency, LATENCY_MAX),
    ] {
        if span > most {
            return Err(format!("a `{name}` of {span} is too long; at most {most}"));
        }
    }
    Ok(())
}
